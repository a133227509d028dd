use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, left_by, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-eni",
    title: "a network interface of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::NetworkInterface],
    condition: "A network interface is `available`, owned by the cluster or left by the VPC CNI for it (`cluster.k8s.amazonaws.com/name`), and no live instance of the region is tagged for the cluster. The interfaces of a deleted Network Load Balancer disappear by themselves within an hour.",
    impact: "it holds an address and blocks the deletion of its subnet and security groups",
    fix: "Delete the network interface.",
    sources: &[
        "https://github.com/aws/amazon-vpc-cni-k8s/issues/69",
        "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/6067",
    ],
    example: "3 available network interfaces are left by `bravo`, which has no live instance here",
    reads: &[INSTANCES, Read::DescribeNetworkInterfaces],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    match is_dead(context, region) {
        Some(true) => {}
        Some(false) => return CheckResult::clean(),
        None => return CheckResult::not_applicable(LAUNCHES_UNREAD),
    }
    let found: Vec<Tagged<'_>> = region
        .network_interfaces()
        .iter()
        .filter(|interface| interface.status == "available" && interface.managed_by.is_none())
        .filter(|interface| {
            tags::has_cluster_tag_owned(&interface.tags, own)
                || tags::value(&interface.tags, "cluster.k8s.amazonaws.com/name") == Some(own)
        })
        .map(Tagged::NetworkInterface)
        .collect();
    let message = left_by(context, found.len(), "available network interface", "left");
    one(region, &found, message, "delete them; those of a Network Load Balancer disappear by themselves within an hour")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let interface = c.interface("eni-0left", "available", "aws-K8S-i-0gone");
            tag(&mut interface.tags, "cluster.k8s.amazonaws.com/name", aws::ID);
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let interface = c.interface("eni-0left", "available", "aws-K8S-i-0gone");
            tag(&mut interface.tags, "cluster.k8s.amazonaws.com/name", aws::ID);
        });
    }
}
