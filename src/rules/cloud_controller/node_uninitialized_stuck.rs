use jiff::SignedDuration;

use crate::kubernetes::UNINITIALIZED;
use crate::nodes::KubernetesNode;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "node-uninitialized-stuck",
    title: "a Node is still waiting for the cloud controller",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "A Node has the taint `node.cloudprovider.kubernetes.io/uninitialized` more than five minutes after it was created. The current time is inferred from leases and the newest object.",
    impact: "ordinary pods are not scheduled there, and no load balancer gets the node: the cloud controller logs `failed to get instance metadata` or `instance not found`, or does not run",
    fix: "Read the log of the cloud controller. Other findings may give the reason: no controller, none on a node, a name that no instance has, missing tags or permissions.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
        "https://github.com/rancher/rancher/issues/43175",
    ],
    example: "Node worker-3 has waited for the cloud controller for 2 hours",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Grace period; a working controller needs seconds.
const WAIT: SignedDuration = SignedDuration::from_mins(5);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(nodes) = &context.evidence.nodes else {
        return CheckResult::not_applicable(NODES_NOT_GIVEN);
    };
    let now = context.evidence.known_time();
    let stuck = |node: &KubernetesNode| {
        let taint = node.taints.iter().find(|taint| taint.key == UNINITIALIZED)?;
        let age = now?.duration_since(taint.added_at.or(node.created_at)?);
        if age <= WAIT {
            return None;
        }
        let waited = text::lasted(age);
        let message = format!("Node {} has waited for the cloud controller for {waited}", text::printable(&node.name));
        let fix = Fix::none("read the log of the cloud controller: it names what it did not find");
        Some(Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Node, &node.name), message, fix))
    };
    CheckResult::counted(nodes.len(), nodes.iter().filter_map(stuck))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: stuck
  creationTimestamp: '2026-01-05T08:00:00Z'
spec:
  taints:
  - key: node.cloudprovider.kubernetes.io/uninitialized
---
kind: Node
metadata:
  name: young
  creationTimestamp: '2026-01-05T09:57:00Z'
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "'2026-01-05T08:00:00Z'", "'2026-01-05T09:56:00Z'");
    }
}
