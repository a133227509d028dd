use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{resource, routed};

pub(super) const RULE: Rule = Rule {
    id: "ali-pod-cidr-missing",
    title: "a Node has no pod network for the controller's routes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The controller writes routes to pod networks, and a Node whose providerID names an instance has the taint `node.kubernetes.io/network-unavailable` or the condition `NetworkUnavailable`, and no `podCIDR`.",
    impact: "the controller creates no route and sets the condition `NetworkUnavailable`: the Node keeps the taint `node.kubernetes.io/network-unavailable`, and no pod starts on it",
    fix: "Start kube-controller-manager with `--allocate-node-cidrs=true` and `--cluster-cidr`, or the cloud controller with `--configure-cloud-routes=false` if a CNI plugin builds the network.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/route_controller.go#syncCloudRoute",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/utils.go#getIPv4RouteForNode",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/46",
    ],
    example: "2 Nodes have no podCIDR: worker-1, worker-2",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let managed = match routed(context) {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let is_unavailable = |node: &&&KubernetesNode| node.is_network_unavailable();
    let lacking: Vec<_> =
        managed.iter().filter(|node| node.pod_cidrs.is_empty()).filter(is_unavailable).copied().collect();
    let Some((first, rest)) = lacking.split_first() else { return CheckResult::counted(managed.len(), []) };
    let names: Vec<&str> = lacking.iter().map(|node| node.name.as_str()).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    let message = format!("{} {verb} no podCIDR: {}", text::count(names.len(), "Node"), text::list(&names, 4));
    let fix = Fix::none("let kube-controller-manager assign ranges, or switch cloud routes off");
    let violation = Violation::new(Severity::Error, resource(first), message, fix);
    CheckResult::counted(managed.len(), [violation.related(rest.iter().copied().map(resource))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-1
spec:
  providerID: cn-hangzhou.i-bp1
  taints:
  - key: node.kubernetes.io/network-unavailable
    effect: NoSchedule
status:
  nodeInfo:
    kubeletVersion: v1.33.1
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

    #[test]
    fn does_not_apply() {
        for arguments in ["--controllers=node,service,nlb", "--configure-cloud-routes=false"] {
            let (findings, outcome) = lint::outcome(&RULE, &DEFECT.replace("--cluster-cidr=172.16.0.0/16", arguments));
            assert!(findings.is_empty() && outcome == crate::rules::Outcome::NotApplicable, "{arguments}: {outcome:?}");
        }
    }

    const ID: &str = "providerID: cn-hangzhou.i-bp1";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, ID, "providerID: cn-hangzhou.i-bp1\n  podCIDR: 172.16.1.0/24");
        // The controller skips a Node that does not answer, whatever its range.
        lint::silent(&RULE, DEFECT, "network-unavailable", "unreachable");
    }
}
