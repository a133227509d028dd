use std::collections::BTreeMap;

use ipnet::IpNet;

use crate::controller::ControllerVersion;
use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{resource, routed, routed_range};

pub(super) const RULE: Rule = Rule {
    id: "ali-pod-cidr-shared",
    title: "pod networks of Nodes overlap, and the controller writes routes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The controller writes routes to pod networks, and two or more Nodes whose providerIDs name instances have the same range in `podCIDR`, or one has a range within that of another. Controllers before 2.4.0, which leave such routes in place, are skipped.",
    impact: "each sync of the routes deletes and creates again the route of one of the Nodes (the one with the smaller range, if one range contains the other): Pods on that Node are unreachable for minutes",
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
    let within: Vec<Violation> = within(&by_range)
        .map(|(inner, outer)| {
            let range = |node| routed_range(node).unwrap_or_default();
            let message = format!(
                "the podCIDR {} of Node {} is within {} of Node {}",
                text::printable(range(inner)),
                text::printable(&inner.name),
                text::printable(range(outer)),
                text::printable(&outer.name)
            );
            let fix = Fix::none("remove one of the Nodes and let it register again");
            Violation::new(Severity::Error, resource(inner), message, fix).related([resource(outer)])
        })
        .collect();
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
    CheckResult::counted(checked, found.chain(within))
}

/// Nodes whose range is within that of another, with that other: the smallest such range.
fn within<'n>(
    by_range: &BTreeMap<&str, Vec<&'n KubernetesNode>>,
) -> impl Iterator<Item = (&'n KubernetesNode, &'n KubernetesNode)> + use<'n> {
    let mut ranges: Vec<(IpNet, &'n KubernetesNode)> = by_range
        .iter()
        .filter_map(|(range, nodes)| Some((range.parse::<IpNet>().ok()?.trunc(), *nodes.first()?)))
        .collect();
    // A range comes before those within it.
    ranges.sort_by_key(|(range, node)| (range.network(), range.prefix_len(), &node.name));
    let mut around: Vec<(IpNet, &'n KubernetesNode)> = Vec::new();
    let mut found = Vec::new();
    for (range, node) in ranges {
        while around.last().is_some_and(|(outer, _)| !outer.contains(&range)) {
            around.pop();
        }
        if let Some((outer, other)) = around.last()
            && *outer != range
        {
            found.push((node, *other));
        }
        around.push((range, node));
    }
    found.into_iter()
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
        for range in ["172.16.0.0/23", "172.16.0.0/16", "172.16.1.128/25"] {
            lint::fires(&RULE, &DEFECT.replacen("172.16.1.0/24", range, 1));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "i-bp2\n  podCIDR: 172.16.1.0/24", "i-bp2\n  podCIDR: 172.16.2.0/24");
        // A Node of another cluster, and one without an instance, get no route.
        lint::silent(&RULE, DEFECT, "providerID: cn-hangzhou.i-bp2", "providerID: aws:///us-east-1a/i-0a");
        lint::silent(&RULE, DEFECT, "providerID: cn-hangzhou.i-bp2", "unschedulable: true");
    }
}
