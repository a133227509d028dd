use crate::nodes::{KubernetesNode, NodeNetwork};
use crate::rules::ALIBABA;
use crate::rules::node::{NETWORK_GRACE, on_network};
use crate::rules::prelude::*;

use super::{is_excluded, is_left_alone, named, resource};

pub(super) const RULE: Rule = Rule {
    id: "ali-network-unavailable",
    title: "a Node whose network is not available",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error if the condition is `NoRouteCreated`"),
    resources: &[ResourceKind::Node],
    condition: "A Node older than ten minutes has the condition `NetworkUnavailable`, or the taint `node.kubernetes.io/network-unavailable` that follows from it. The controller sets the condition on each Node that it initialises while it writes routes (`NoRouteCreated`), and removes it once the route exists. A Node that does not answer, or that is being deleted, does not count; one without `podCIDR` is reported by `ali-pod-cidr-missing`.",
    impact: "no Pod is scheduled on the Node, except those that tolerate the taint",
    fix: "With routes, look for the event `CreateRouteFailed` of the Node and for `SyncRouteFailed`: permissions, several route tables without `routeTableIDs`, the quota of route entries, another route with the same range. With an overlay network, start the controller with `--configure-cloud-routes=false`, and remove the condition: no controller does.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/manager.go#setNetworkUnavailable",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/route_controller.go#updateNetworkingCondition",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#needSyncRoute",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/121",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/329",
    ],
    example: "Node `worker-1` has the taint node.kubernetes.io/network-unavailable: the controller has not created the route to its Pods",
    ..Rule::evidence(ALIBABA, check)
};

/// Reason that the network of a Node stays unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// No controller was given, or the reason of the condition is not known.
    Unknown,
    /// Something else than a route controller set the condition.
    Plugin,
    NoRoute,
    /// A label excludes the Node from routes.
    Excluded,
    NoProviderId,
    RoutesOff,
}

impl Cause {
    fn describe(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Plugin => ": not a route controller but the network plugin set it",
            Self::NoRoute => ": the controller has not created the route to its Pods",
            Self::Excluded => ": a label excludes it, and the controller writes routes to no such Node",
            Self::NoProviderId => {
                ": it has no providerID that names an instance, and the controller writes no route to it"
            }
            Self::RoutesOff => ": the controller writes no routes, and does not remove what it set when it did",
        }
    }

    fn fix(self) -> &'static str {
        match self {
            Self::Plugin => "see the log of the network plugin on the Node",
            Self::Unknown => "see the events of the Node, and whether the controller writes routes",
            Self::NoRoute => {
                "see the events `CreateRouteFailed` and `SyncRouteFailed`, and the other findings on routes"
            }
            Self::Excluded => "remove the label that excludes the Node, or the condition",
            Self::NoProviderId => "register the Node with its providerID",
            Self::RoutesOff => {
                "let the network plugin set the condition `NetworkUnavailable` to `False`, or patch the status of the Node"
            }
        }
    }
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.alibaba_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let now = context.evidence.known_time();
    let running = context.evidence.alibaba_running();
    let cause = |node: &KubernetesNode| match &running {
        // The controller writes no other reason.
        _ if node.network == NodeNetwork::OfPlugin => Cause::Plugin,
        _ if node.network != NodeNetwork::NoRoute => Cause::Unknown,
        None if !context.alibaba_routes => Cause::Unknown,
        Some(_) if !context.alibaba_routes => Cause::RoutesOff,
        _ if is_excluded(node) => Cause::Excluded,
        _ if named(node).is_none() => Cause::NoProviderId,
        _ => Cause::NoRoute,
    };
    // Excluded Nodes count: the controller set the condition before a label excluded them.
    let managed = nodes.iter().filter(|node| is_excluded(node) || !is_left_alone(node));
    let waiting = managed.filter(|node| {
        let is_skipped = node.is_readiness_unknown || node.is_being_deleted;
        let is_new = now.zip(node.network_changed_at).is_some_and(|(now, at)| now.duration_since(at) < NETWORK_GRACE);
        node.is_network_unavailable() && !is_skipped && !is_new && !node.is_younger_than(NETWORK_GRACE, now)
    });
    let reported = waiting.map(|node| (node, cause(node)));
    // Those without a range are reported together.
    let reported = reported.filter(|(node, cause)| *cause != Cause::NoRoute || !node.pod_cidrs.is_empty());
    let found = reported.map(|(node, cause)| {
        let name = text::printable(&node.name);
        let message = format!("Node `{name}` has {}{}", on_network(node), cause.describe());
        let severity = if node.network == NodeNetwork::NoRoute { Severity::Error } else { Severity::Warning };
        Violation::new(severity, resource(node), message, Fix::none(cause.fix()))
    });
    CheckResult::counted(nodes.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    /// A Node for which the controller has not created the route.
    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-1
  labels:
    team: shop
spec:
  providerID: cn-hangzhou.i-bp1
  podCIDR: 172.16.1.0/24
  taints:
  - key: node.kubernetes.io/network-unavailable
    effect: NoSchedule
status:
  conditions:
  - type: NetworkUnavailable
    status: \"True\"
    reason: NoRouteCreated
  - type: Ready
    status: \"True\"
---
kind: DaemonSet
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
        command:
        - --cluster-cidr=172.16.0.0/16
";

    fn message(from: &str, to: &str) -> String {
        let (findings, _) = lint::outcome(&RULE, &DEFECT.replace(from, to));
        assert_eq!(findings.len(), 1, "{to}");
        findings[0].message.clone()
    }

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let untainted = DEFECT.replace("node.kubernetes.io/network-unavailable", "example.com/other");
        lint::fires(&RULE, &untainted);
    }

    /// A report of a condition shows how long a Node has existed, also where all Nodes were created together.
    #[test]
    fn the_time_of_the_evidence_comes_from_conditions() {
        let created =
            DEFECT.replace("  name: worker-1\n", "  name: worker-1\n  creationTimestamp: 2026-11-01T10:00:00Z\n");
        lint::silent(&RULE, &created, "team: shop", "team: shop");
        let heard = "type: Ready\n    lastHeartbeatTime: 2026-11-01T10:30:00Z";
        let old = created.replace("type: Ready", heard);
        lint::fires(&RULE, &old);
        let just_set = "reason: NoRouteCreated\n    lastTransitionTime: 2026-11-01T10:29:00Z";
        lint::silent(&RULE, &old, "reason: NoRouteCreated", just_set);
    }

    #[test]
    fn states_the_cause() {
        assert!(message("team: shop", "team: shop").contains("has not created the route"));
        let off = message("--cluster-cidr=172.16.0.0/16", "--configure-cloud-routes=false");
        assert!(off.contains("writes no routes"), "{off}");
        let excluded = message("team: shop", "service.beta.kubernetes.io/exclude-node: 'true'");
        assert!(excluded.contains("a label excludes it"), "{excluded}");
        let unknown = message("    reason: NoRouteCreated\n", "");
        assert!(unknown.ends_with("network-unavailable"), "{unknown}");
        let plugin = message("NoRouteCreated", "CalicoIsDown");
        assert!(plugin.contains("network plugin"), "{plugin}");
        let elsewhere = message("providerID: cn-hangzhou.i-bp1", "providerID: baremetal://one");
        assert!(elsewhere.contains("no providerID"), "{elsewhere}");
    }

    #[test]
    fn silent() {
        let untainted = DEFECT.replace("node.kubernetes.io/network-unavailable", "example.com/other");
        lint::silent(&RULE, &untainted, "status: \"True\"\n    reason", "status: \"False\"\n    reason");
        // The controller creates no route to a Node that does not answer, whatever else is wrong.
        lint::silent(&RULE, DEFECT, "Ready\n    status: \"True\"", "Ready\n    status: Unknown");
        // Reported by `ali-pod-cidr-missing`.
        lint::silent(&RULE, DEFECT, "  podCIDR: 172.16.1.0/24\n", "");
    }
}
