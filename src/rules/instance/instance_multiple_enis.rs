use std::collections::BTreeSet;

use crate::aws::view::{Distribution, Member, RegionView};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};

use super::INSTANCE;

pub(super) const RULE: Rule = Rule {
    id: "instance-multiple-enis",
    title: "a node has several network interfaces",
    severity: RuleSeverity::depends(Severity::Info, "info; warning if they differ in security groups or subnets"),
    resources: INSTANCE,
    condition: "Two or more network interfaces that no CNI (VPC CNI, Cilium) created are attached to a member.",
    impact: "every private address of every interface becomes an InternalIP of the node; the AWS Load Balancer Controller inspects only the primary interface",
    fix: "Make sure that the primary interface is the one for load balancer traffic.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#extractIPv4NodeAddresses",
        "https://github.com/kubernetes/cloud-provider-aws/issues/890",
    ],
    example: "instance `i-0a` has several network interfaces with different security groups",
    reads: &[Read::DescribeNetworkInterfaces],
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    // A CNI attaches its interfaces on purpose.
    let of_cni: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .filter(|interface| {
            interface.description.starts_with("aws-K8S-")
                || interface.description.starts_with("Cilium-CNI")
                || interface.tags.iter().any(|tag| tag.key.starts_with("io.cilium/"))
                || interface.tags.iter().any(|tag| tag.key == "node.k8s.amazonaws.com/instance_id")
        })
        .map(|interface| interface.id.as_str())
        .collect();
    let own = |member: &Member<'_>| -> Vec<usize> {
        let all = &member.instance.network_interfaces;
        (0..all.len())
            .filter(|index| all.get(*index).is_some_and(|interface| !of_cni.contains(interface.id.as_str())))
            .collect()
    };
    let differs = |member: &Member<'_>| {
        let interfaces: Vec<_> =
            own(member).into_iter().filter_map(|index| member.instance.network_interfaces.get(index)).collect();
        let sets: BTreeSet<Vec<&String>> = interfaces
            .iter()
            .map(|interface| {
                let mut groups: Vec<&String> = interface.security_groups.iter().collect();
                groups.sort();
                groups
            })
            .collect();
        let subnets: BTreeSet<_> = interfaces.iter().map(|interface| &interface.subnet_id).collect();
        (sets.len() > 1, subnets.len() > 1)
    };
    // On EKS the VPC CNI attaches interfaces with separate subnets and groups (custom networking).
    let nodes = region.members.iter().filter(|_| region.distribution != Distribution::Eks);
    let several = nodes.filter(|member| member.instance.network_interfaces.len() > 1 && own(member).len() > 1);
    let severity =
        |member: &Member<'_>| if differs(member) == (false, false) { Severity::Info } else { Severity::Warning };
    region.grouped(several, severity, |members| {
        let what = match members.first().map(|member| differs(member)) {
            Some((true, true)) => " with different security groups and subnets",
            Some((true, false)) => " with different security groups",
            Some((false, true)) => " in different subnets",
            _ => "",
        };
        let message = format!("{} {} several network interfaces{what}", instances_phrase(members), has(members));
        (message, Fix::none("make sure that the primary interface is the one for load balancer traffic"))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.attach(""));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.attach("aws-K8S-i-0wk0"));
    }
}
