use std::net::IpAddr;

use ipnet::IpNet;

use crate::nodes::KubernetesNode;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{is_left_alone, resource, routed, routed_range};

pub(super) const RULE: Rule = Rule {
    id: "ali-pod-cidr-holds-node",
    title: "the address of a Node is within the `podCIDR` of a Node, and the controller writes routes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The controller writes routes to pod networks, and an internal address of a Node is in the range of `podCIDR` of it or of another Node.",
    impact: "the route to the Pods and the network of the vSwitch claim the same addresses: the API refuses the route, or a Pod gets the address of a Node",
    fix: "Choose a `--cluster-cidr` that does not overlap the CIDR block of the VPC, and delete the Node objects so that the kubelets register again: a `podCIDR` cannot be changed.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#syncTableRoutes",
        "Alibaba Cloud VPC documentation, Route tables: custom routes and the networks of vSwitches",
    ],
    example: "the address 192.168.0.114 of Node worker-1 is in the podCIDR 192.168.0.0/24 of Node worker-2",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match routed(context) {
        // A virtual Node has the address of a Pod.
        Ok(nodes) => nodes.into_iter().filter(|node| !is_left_alone(node)).collect::<Vec<_>>(),
        Err(why) => return CheckResult::not_applicable(why),
    };
    let mut ranges: Vec<(IpNet, &KubernetesNode)> =
        nodes.iter().filter_map(|node| Some((routed_range(node)?.parse::<IpNet>().ok()?.trunc(), *node))).collect();
    if ranges.is_empty() {
        return CheckResult::not_applicable("no Node has a podCIDR");
    }
    ranges.sort_by_key(|(range, node)| (range.network(), range.prefix_len(), &node.name));
    let mut found = Vec::new();
    for node in &nodes {
        let addresses = node.internal_addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok());
        let held = addresses.into_iter().find_map(|address| Some((address, holder(&ranges, address)?)));
        let Some((address, (range, other))) = held else { continue };
        let (name, of) = (text::printable(&node.name), text::printable(&other.name));
        let message = format!("the address {address} of Node {name} is in the podCIDR {range} of Node {of}");
        let fix = Fix::none("give the cluster a pod network outside the network of the VPC");
        let related = (other.name != node.name).then(|| resource(other));
        found.push(Violation::new(Severity::Error, resource(node), message, fix).related(related));
    }
    CheckResult::counted(nodes.len(), found)
}

/// The last range, in order of networks, that starts at an address or before it and holds it.
fn holder<'n>(ranges: &[(IpNet, &'n KubernetesNode)], address: IpAddr) -> Option<(IpNet, &'n KubernetesNode)> {
    /// Ranges within one another are few.
    const NEAR: usize = 32;
    let end = ranges.partition_point(|(range, _)| range.network() <= address);
    let near = ranges.get(end.saturating_sub(NEAR)..end)?;
    near.iter().rev().find(|(range, _)| range.contains(&address)).copied()
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
  podCIDR: 192.168.1.0/24
status:
  addresses:
  - {type: InternalIP, address: 192.168.0.114}
---
kind: Node
metadata:
  name: worker-2
spec:
  providerID: cn-hangzhou.i-bp2
  podCIDR: 192.168.0.0/24
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
        - --cluster-cidr=192.168.0.0/16
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("192.168.1.0/24", "192.168.0.0/16"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "192.168.0.0/24", "192.168.2.0/24");
        lint::silent(&RULE, DEFECT, "192.168.0.114", "10.0.0.114");
        lint::silent(&RULE, DEFECT, "name: worker-1", "name: worker-1\n  labels:\n    type: virtual-kubelet");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("--cluster-cidr=192.168.0.0/16", "--configure-cloud-routes=false"));
    }
}
