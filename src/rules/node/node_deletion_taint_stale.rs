use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{NODE, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-deletion-taint-stale",
    title: "a Node keeps the deletion taint of the cluster autoscaler",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NODE,
    condition: "A Node has had the taint `ToBeDeletedByClusterAutoscaler` for more than an hour: its value is the time at which the autoscaler set it. Not reported if the time of the evidence is not known.",
    impact: "no pod is scheduled there, and the cloud controller excludes the Node from load balancers",
    fix: "Remove the taint, unless the autoscaler is about to delete the Node; it removes the taint itself when it starts.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/utils/taints/taints.go#AddTaints",
        "kubernetes/cloud-provider controllers/service/controller.go#nodeIncludedPredicate",
    ],
    example: "Node `worker-1` has had the taint `ToBeDeletedByClusterAutoscaler` since 2026-11-14T22:13:20Z",
    ..Rule::nodes(check)
};

const TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// Longest time that a deletion takes: the autoscaler gives up after fifteen minutes of draining.
const LONGEST: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let collected = context.view.inventory.collected_at.as_deref().and_then(|time| time.parse().ok());
    let Some(now) = context.kubernetes.known_time().max(collected) else {
        return CheckResult::not_applicable("the time at which the Nodes were read is not known");
    };
    let since = |node: &KubernetesNode| {
        let taint = node.taints.iter().find(|taint| taint.key == TAINT)?;
        jiff::Timestamp::from_second(taint.value.parse().ok()?).ok()
    };
    let stale = nodes.iter().filter_map(|node| Some((node, since(node)?)));
    stale
        .filter(|(_, since)| now.duration_since(*since) > LONGEST)
        .map(|(node, since)| {
            let message = format!("Node `{}` has had the taint `{TAINT}` since {since}", text::printable(&node.name));
            let fix = Fix::none("remove the taint, unless the autoscaler is about to delete the Node");
            Violation::new(Severity::Warning, resource(node), message, fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["taints"] =
                json!([{"key": "ToBeDeletedByClusterAutoscaler", "value": "1700000000", "effect": "NoSchedule"}]);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["taints"] =
                json!([{"key": "ToBeDeletedByClusterAutoscaler", "value": "4000000000", "effect": "NoSchedule"}]);
        });
    }
}
