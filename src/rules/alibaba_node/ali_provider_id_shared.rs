use std::collections::BTreeMap;

use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-provider-id-shared",
    title: "several Nodes have one providerID",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "Two or more Nodes name the same region and instance in their providerID.",
    impact: "the controller gives all of them the addresses of that one instance: traffic for the others goes to the wrong machine, and so do the routes to their pods",
    fix: "Delete the Nodes that are not that instance, and let their kubelets register with their own `--provider-id`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/node_controller.go#syncECSNodes",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/278",
    ],
    example: "2 Nodes have the providerID `cn-hangzhou.i-bp1`: worker-1, worker-2",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.alibaba_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let mut by_instance: BTreeMap<(&str, &str), Vec<&KubernetesNode>> = BTreeMap::new();
    let mut checked = 0;
    for node in super::cared_for(nodes) {
        if let Some((region, id, _)) = super::named(node) {
            checked += 1;
            by_instance.entry((region, id)).or_default().push(node);
        }
    }
    let mut found = Vec::new();
    for ((region, id), mut twins) in by_instance.into_iter().filter(|(_, nodes)| nodes.len() > 1) {
        twins.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<&str> = twins.iter().map(|node| node.name.as_str()).collect();
        let number = text::count(names.len(), "Node");
        let (region, id) = (text::printable(region), text::printable(id));
        let message = format!("{number} have the providerID `{region}.{id}`: {}", text::list(&names, 6));
        let fix = Fix::none("delete the Nodes that are not that instance, and let their kubelets register again");
        let Some(first) = twins.first() else { continue };
        let others = twins.iter().skip(1).map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
        found.push(Violation::new(Severity::Error, super::resource(first), message, fix).related(others));
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: cn-hangzhou.worker-3
spec:
  providerID: cn-hangzhou.i-bp2
---
kind: Node
metadata:
  name: cn-hangzhou.worker-4
spec:
  providerID: cn-hangzhou.i-bp2
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "worker-4\nspec:\n  providerID: cn-hangzhou.i-bp2",
            "worker-4\nspec:\n  providerID: cn-beijing.i-bp2",
        );
    }
}
