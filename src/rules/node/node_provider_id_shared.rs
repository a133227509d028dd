use std::collections::BTreeMap;

use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NODE, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-provider-id-shared",
    title: "two Nodes name the same instance",
    severity: RuleSeverity::always(Severity::Error),
    resources: NODE,
    condition: "The providerIDs of two Nodes name the same instance.",
    impact: "the cloud controller treats both as that instance: traffic for one goes to the other, and the instance's state changes apply to both Nodes",
    fix: "Delete the Node that does not run on the instance, and register its machine again without a fixed `provider-id`.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID"],
    example: "Nodes `worker-1`, `worker-2` both name instance `i-0a`",
    migration: Some(Prerequisite::Instances),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.aws_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let mut of_instances: BTreeMap<&str, Vec<&KubernetesNode>> = BTreeMap::new();
    for node in nodes {
        if let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) {
            of_instances.entry(id).or_default().push(node);
        }
    }
    let shared = of_instances.into_iter().filter(|(_, nodes)| nodes.len() > 1);
    let found = shared.filter_map(|(id, nodes)| {
        let (first, others) = nodes.split_first()?;
        let names: Vec<String> = nodes.iter().map(|node| format!("`{}`", node.name)).collect();
        let both = if nodes.len() == 2 { "both" } else { "all" };
        let message = format!("Nodes {} {both} name instance `{}`", text::list(&names, 4), text::printable(id));
        let fix = Fix::none("delete the Node that does not run on the instance, and register its machine again");
        let related = others.iter().map(|node| resource(node)).chain([ResourceRef::bare(ResourceKind::Instance, id)]);
        Some(Violation::new(Severity::Error, resource(first), message, fix).related(related).with_respect_to(id))
    });
    CheckResult::counted(nodes.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-3
spec:
  providerID: aws:///us-east-1a/i-0123456789abcdef0
---
kind: Node
metadata:
  name: worker-4
spec:
  providerID: aws:///us-east-1a/i-0123456789abcdef0
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
            "worker-4\nspec:\n  providerID: aws:///us-east-1a/i-0123456789abcdef0",
            "worker-4\nspec:\n  providerID: aws:///us-east-1a/i-0fedcba9876543210",
        );
    }
}
