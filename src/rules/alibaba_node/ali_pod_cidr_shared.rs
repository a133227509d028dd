use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{resource, routed, routed_range};

pub(super) const RULE: Rule = Rule {
    id: "ali-pod-cidr-shared",
    title: "Nodes have the same pod network, and the controller writes routes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The controller writes routes to pod networks, and two or more Nodes whose providerIDs name instances have the same range in `podCIDR`. Controllers before 2.4.0, which leave such routes in place, are skipped.",
    impact: "each synchronisation deletes the route of one of them and creates that of the other: pods on either are unreachable for minutes",
    fix: "Remove the Nodes but one and let them register again, so that each gets its own range.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#conflictWithNodes"],
    example: "2 Nodes have the podCIDR 172.16.1.0/24: worker-1, worker-2",
    ..Rule::evidence(ALIBABA, check)
};

/// First version that deletes the route of another instance with an equal range.
const FIRST_TO_DELETE: ControllerVersion = ControllerVersion::new(2, 4, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match routed(context) {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    if context.alibaba_controller_version().is_some_and(|version| version < FIRST_TO_DELETE) {
        return CheckResult::not_applicable("this version leaves the routes of equal ranges in place");
    }
    let mut by_range: BTreeMap<&str, Vec<&KubernetesNode>> = BTreeMap::new();
    for node in nodes {
        if let Some(range) = routed_range(node) {
            by_range.entry(range).or_default().push(node);
        }
    }
    let checked = by_range.values().map(Vec::len).sum();
    let found = by_range.into_iter().filter_map(|(range, nodes)| {
        let [first, rest @ ..] = nodes.as_slice() else { return None };
        if rest.is_empty() {
            return None;
        }
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let number = text::count(names.len(), "Node");
        let message = format!("{number} have the podCIDR {}: {}", text::printable(range), text::list(&names, 4));
        let fix = Fix::none("remove the Nodes but one and let them register again");
        let violation = Violation::new(Severity::Error, resource(first), message, fix);
        Some(violation.related(rest.iter().map(|node| resource(node))))
    });
    CheckResult::counted(checked, found)
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
  podCIDR: 172.16.1.0/24
---
kind: Node
metadata:
  name: worker-2
spec:
  providerID: cn-hangzhou.i-bp2
  podCIDR: 172.16.1.0/24
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
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "i-bp2\n  podCIDR: 172.16.1.0/24", "i-bp2\n  podCIDR: 172.16.2.0/24");
        // A Node of another cluster, and one without an instance, get no route.
        lint::silent(&RULE, DEFECT, "providerID: cn-hangzhou.i-bp2", "providerID: aws:///us-east-1a/i-0a");
        lint::silent(&RULE, DEFECT, "providerID: cn-hangzhou.i-bp2", "unschedulable: true");
    }
}
