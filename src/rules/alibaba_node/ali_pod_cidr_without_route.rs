use std::collections::HashMap;

use ipnet::Ipv4Net;

use crate::alibaba::VSwitch;
use crate::nodes::KubernetesNode;
use crate::rules::alibaba::{Check, Context};
use crate::rules::prelude::*;

use super::{named, resource, routed, routed_range};

pub(super) const RULE: Rule = Rule {
    id: "ali-pod-cidr-without-route",
    title: "the VPC takes no route to the `podCIDR` of a Node",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "The controller writes routes to pod networks, and the IPv4 range of `podCIDR` of a Node is the range of a vSwitch in the VPC of its instance, is within it, or is within 100.64.0.0/10. A range that contains that of a vSwitch is allowed.",
    impact: "the API refuses the route: the Node keeps the taint `node.kubernetes.io/network-unavailable`, and no Pod starts on it",
    fix: "Choose a `--cluster-cidr` that does not overlap the vSwitches of the VPC, and delete the Node objects so that the kubelets register again: a `podCIDR` cannot be changed.",
    sources: &[
        "Alibaba Cloud VPC API, CreateRouteEntry: destination CIDR blocks",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/vpc/vpc.go#CreateRoute",
    ],
    example: "the podCIDR 192.168.0.64/26 of Node worker-1 is within vSwitch `vsw-bp1` (192.168.0.0/24)",
    reads: &[Read::EcsDescribeInstances, Read::DescribeVSwitches],
    subjects: Subjects::KubernetesNodes,
    ..Rule::alibaba(Check::Nodes(check))
};

/// Addresses of services of Alibaba Cloud, such as those of load balancers.
const RESERVED: Ipv4Net = Ipv4Net::new_assert(std::net::Ipv4Addr::new(100, 64, 0, 0), 10);

fn check(context: &Context<'_>, _: &[KubernetesNode]) -> CheckResult {
    let on_kubernetes = context.on_kubernetes();
    let nodes = match routed(&on_kubernetes) {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let vswitches = Ranges::of(context);
    let mut found = Vec::new();
    let (mut ranges, mut is_known) = (0, true);
    for node in nodes {
        let Some(range) = routed_range(node).and_then(|text| text.parse::<Ipv4Net>().ok()) else { continue };
        ranges += 1;
        let held = if RESERVED.contains(&range) {
            format!("{RESERVED}, which Alibaba Cloud reserves")
        } else {
            let Some(nearby) = vswitches.of_node(node) else {
                is_known = false;
                continue;
            };
            let Some((block, vswitch)) = nearby.iter().find(|(block, _)| block.contains(&range)) else { continue };
            format!("vSwitch `{}` ({block})", text::printable(&vswitch.id))
        };
        let message = format!("the podCIDR {range} of Node {} is within {held}", text::printable(&node.name));
        let fix = Fix::none("give the cluster a pod network outside the vSwitches of the VPC");
        found.push(Violation::new(Severity::Error, resource(node), message, fix));
    }
    match ranges {
        0 => CheckResult::not_applicable("no Node has an IPv4 podCIDR"),
        _ => CheckResult::counted(ranges, found).unless(
            (!is_known).then_some("the instance of a Node, or the range of a vSwitch of its VPC, is not known (recordings of earlier versions have no ranges)"),
        ),
    }
}

/// Ranges of the vSwitches of each VPC.
struct Ranges<'a> {
    /// VPCs by instance.
    vpcs: HashMap<&'a str, &'a str>,
    /// `None` where the range of a vSwitch is not known.
    by_vpc: HashMap<&'a str, Option<Vec<(Ipv4Net, &'a VSwitch)>>>,
}

impl<'a> Ranges<'a> {
    fn of(context: &Context<'a>) -> Self {
        let mut all = Self { vpcs: HashMap::new(), by_vpc: HashMap::new() };
        for view in &context.view.regions {
            for member in &view.members {
                if let Some(vpc) = member.instance.vpc_id.as_deref() {
                    all.vpcs.insert(&member.instance.id, vpc);
                }
            }
            for vswitch in &view.region.vswitches {
                let range = vswitch.cidr_block.as_deref().and_then(|block| block.parse().ok());
                let held = all.by_vpc.entry(&vswitch.vpc_id).or_insert_with(|| Some(Vec::new()));
                match (range, held.as_mut()) {
                    (Some(range), Some(ranges)) => ranges.push((range, vswitch)),
                    _ => *held = None,
                }
            }
        }
        all
    }

    /// Those of the VPC of a Node, if all are known.
    fn of_node(&self, node: &KubernetesNode) -> Option<&[(Ipv4Net, &'a VSwitch)]> {
        let (_, id, _) = named(node)?;
        self.by_vpc.get(self.vpcs.get(id)?)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba::{self, Cluster, WORKER};

    /// A controller that writes routes, and the range of a worker.
    fn with_range(range: &str) -> impl Fn(&mut Cluster) {
        move |c| {
            c.node(WORKER)["spec"]["podCIDR"] = json!(range);
        }
    }

    #[test]
    fn fires() {
        for range in ["192.168.0.0/24", "192.168.0.64/26", "100.64.0.0/10", "100.100.7.0/24"] {
            alibaba::fires(&RULE, with_range(range));
        }
    }

    #[test]
    fn silent() {
        for range in ["192.168.1.0/24", "192.168.0.0/16", "100.0.0.0/8", "172.16.1.0/24"] {
            alibaba::silent(&RULE, with_range(range));
        }
    }
}
