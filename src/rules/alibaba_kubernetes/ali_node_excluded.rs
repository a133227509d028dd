use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-node-excluded",
    title: "the cloud controller ignores a Node",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Node],
    condition: "A Node has the label `service.alibabacloud.com/exclude-node` or `service.beta.kubernetes.io/exclude-node`.",
    impact: "the cloud controller does not initialise it, creates no routes to it, and adds it to no load balancer; a new Node keeps the taint of uninitialised nodes",
    fix: "Remove the label if it is not intended.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go"],
    example: "Node `worker-1` has the label `service.alibabacloud.com/exclude-node`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(nodes) = &context.evidence.nodes else {
        return CheckResult::not_applicable("the Nodes are not known: give them with --nodes or --kubernetes");
    };
    const LABELS: [&str; 2] = ["service.alibabacloud.com/exclude-node", "service.beta.kubernetes.io/exclude-node"];
    let found = nodes.iter().filter_map(|node| {
        let held: Vec<&str> = LABELS.into_iter().filter(|label| node.labels.contains_key(*label)).collect();
        let label = held.first()?;
        let message = format!("Node `{}` has the label `{label}`", text::printable(&node.name));
        let resource = ResourceRef::bare(ResourceKind::Node, &node.name);
        let removed: Vec<String> = held.iter().map(|label| format!("{label}-")).collect();
        let words = ["kubectl", "label", "node", &node.name].into_iter().chain(removed.iter().map(String::as_str));
        let command = words.map(text::shell_quote).collect::<Vec<_>>().join(" ");
        let fix = Fix::none("remove the label if it is not intended").untried(text::printable(&command));
        Some(Violation::new(Severity::Info, resource, message, fix))
    });
    CheckResult::counted(nodes.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Node
metadata:
  name: worker-1
  labels:
    service.alibabacloud.com/exclude-node: "true"
spec:
  providerID: cn-hangzhou.i-bp1
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "service.alibabacloud.com/exclude-node", "service.alibabacloud.com/node");
    }
}
