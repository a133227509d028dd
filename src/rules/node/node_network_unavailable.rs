use crate::kubernetes::CloudController;
use crate::rules::AWS;
use crate::rules::network_plugin::encapsulation;
use crate::rules::prelude::*;

use super::{NETWORK_GRACE, on_network};

pub(super) const RULE: Rule = Rule {
    id: "node-network-unavailable",
    title: "a Node whose network is not available",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Node],
    condition: "A Node older than ten minutes has the taint `node.kubernetes.io/network-unavailable`, or the condition `NetworkUnavailable` that leads to it. The route controller of the cloud controller sets the condition until it has created the route to the Pods of the Node (`NoRouteCreated`), or the network plugin does.",
    impact: "no Pod is scheduled on the Node, except those that tolerate the taint",
    fix: "With cloud routes, look for `CreateRoute` in the log of the cloud controller: permissions, a full route table, no or several tagged ones. With an overlay network, start the cloud controller with `--configure-cloud-routes=false`.",
    sources: &[
        "kubernetes/cloud-provider controllers/route/route_controller.go#updateNetworkingCondition",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_routes.go#CreateRoute",
    ],
    example: "Node ip-10-0-1-10.ec2.internal has the taint node.kubernetes.io/network-unavailable: the cloud controller writes routes, and has not created the one to its Pods",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.aws_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let evidence = context.evidence;
    let writes_routes = |one: &CloudController| {
        one.knows_flags && one.is_on("configure-cloud-routes", true) && one.runs(&["node-route-controller", "route"])
    };
    let controllers: Vec<&CloudController> = evidence.aws_controllers().filter(|one| one.knows_flags).collect();
    let overlay = encapsulation(evidence);
    let (cause, fix) = if controllers.is_empty() {
        (
            String::new(),
            "with cloud routes, see the log of the cloud controller for `CreateRoute`; otherwise start it with `--configure-cloud-routes=false` and see the network plugin",
        )
    } else if !controllers.iter().any(|one| writes_routes(one)) {
        (
            ": the cloud controller writes no routes, so the network plugin has to remove it".to_owned(),
            "see the log of the network plugin on the Node",
        )
    } else if let Some(overlay) = overlay {
        (
            format!(": the cloud controller writes routes, and {overlay}"),
            "start the cloud controller with `--configure-cloud-routes=false`, and see the network plugin",
        )
    } else {
        (
            ": the cloud controller writes routes, and has not created the one to its Pods".to_owned(),
            "see the log of the cloud controller for `CreateRoute`",
        )
    };
    let now = evidence.known_time();
    let tainted =
        nodes.iter().filter(|node| node.is_network_unavailable() && !node.is_younger_than(NETWORK_GRACE, now));
    let found = tainted.map(|node| {
        let message = format!("Node {} has {}{cause}", text::printable(&node.name), on_network(node));
        let fix = Fix::none(fix);
        Violation::new(Severity::Warning, ResourceRef::bare(ResourceKind::Node, &node.name), message, fix)
    });
    CheckResult::counted(nodes.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: ip-10-0-1-10.ec2.internal
spec:
  providerID: aws:///us-east-1a/i-0a
  taints:
  - key: node.kubernetes.io/network-unavailable
    effect: NoSchedule
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "network-unavailable", "memory-pressure");
        let young = "spec:\n  providerID: aws:///us-east-1a/i-0b\n---\nkind: Node\nmetadata:\n  name: b\n  creationTimestamp: \"2026-01-05T07:00:00Z\"\nspec:";
        lint::silent(&RULE, DEFECT, "spec:", young);
    }
}
