use crate::nodes::{EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "node-excluded-worker",
    title: "a worker is excluded from load balancers",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Node],
    condition: "A Node that runs no control plane has the label `node.kubernetes.io/exclude-from-external-load-balancers`. kubeadm and kOps set it on control planes. `node-exclude-label-false` reports the effect of the value `false`.",
    impact: "load balancers send it no traffic; its pods are reached through other Nodes, and not at all with `externalTrafficPolicy: Local`",
    fix: "Remove the label, unless it is intended.",
    sources: &["kubernetes/cloud-provider controllers/service/controller.go#nodeIncludedPredicate"],
    example: "1 worker has the label `node.kubernetes.io/exclude-from-external-load-balancers`: worker-1",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(nodes) = &context.evidence.nodes else { return CheckResult::not_applicable(NODES_NOT_GIVEN) };
    let is_left_out = |node: &&KubernetesNode| {
        let label = node.labels.get(EXCLUDED_FROM_LOAD_BALANCERS);
        label.is_some_and(|value| value != "false") && !node.has_control_plane_label()
    };
    let left_out: Vec<&KubernetesNode> = nodes.iter().filter(is_left_out).collect();
    let Some(first) = left_out.first() else { return CheckResult::counted(nodes.len(), []) };
    let names: Vec<&str> = left_out.iter().map(|node| node.name.as_str()).collect();
    let have = if names.len() == 1 { "has" } else { "have" };
    let message = format!(
        "{} {have} the label `{EXCLUDED_FROM_LOAD_BALANCERS}`: {}",
        text::count(names.len(), "worker"),
        text::printable(&text::list(&names, 3))
    );
    let fix = Fix::none("remove the label, unless it is intended");
    let resource = ResourceRef::bare(ResourceKind::Node, &first.name);
    let others = left_out.iter().skip(1).map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
    CheckResult::counted(nodes.len(), [Violation::new(Severity::Info, resource, message, fix).related(others)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-1
  labels:
    node.kubernetes.io/exclude-from-external-load-balancers: ''
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "  labels:\n", "  labels:\n    node-role.kubernetes.io/control-plane: \"\"\n");
    }
}
