use std::collections::{BTreeMap, BTreeSet};

use crate::aws::interface_holder::holder;
use crate::aws::view::RegionView;
use crate::aws::{NetworkInterface, Tagged};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-network",
    title: "the network of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::RouteTable],
    condition: "A VPC, subnet or route table is owned by the cluster, and no live instance of the region is tagged for it. The message names what the network interfaces in an owned VPC, or else in an owned subnet, belong to.",
    impact: "nothing uses it",
    fix: "Delete it with the tool that created it. What the message names has to go first.",
    sources: &["https://github.com/kubernetes/kubernetes/issues/73480"],
    example: "3 subnets and 1 VPC owned by `bravo`, which has no live instance here; in the way of a deletion: NAT gateway nat-0a, EFS mount target of fs-0a",
    reads: &[INSTANCES, Read::DescribeVpcs, Read::DescribeSubnets, Read::DescribeRouteTables],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    match is_dead(context, region) {
        Some(true) => {}
        Some(false) => return CheckResult::clean(),
        None => return CheckResult::not_applicable(LAUNCHES_UNREAD),
    }
    let owned = |resource: &Tagged<'_>| tags::has_cluster_tag_owned(resource.tags(), context.cluster_id());
    let found: Vec<Tagged<'_>> = region
        .tagged()
        .filter(|resource| matches!(resource, Tagged::Vpc(_) | Tagged::Subnet(_) | Tagged::RouteTable(_)))
        .filter(owned)
        .collect();
    let mut kinds: BTreeMap<ResourceKind, usize> = BTreeMap::new();
    for resource in &found {
        *kinds.entry(resource.kind()).or_default() += 1;
    }
    let described: Vec<String> = kinds.iter().map(|(kind, number)| text::count(*number, kind.noun())).collect();
    let holders: Vec<String> = holders(region, &found).into_iter().collect();
    let in_the_way = match holders.as_slice() {
        [] => String::new(),
        holders => format!("; in the way of a deletion: {}", text::printable(&text::list(holders, 6))),
    };
    let message = format!(
        "{} owned by `{}`, which has no live instance here{in_the_way}",
        described.join(" and "),
        text::printable(context.cluster_id())
    );
    one(
        region,
        &found,
        Severity::Warning,
        message,
        "check that no Auto Scaling group brings the cluster back, then delete them with the tool that created them",
    )
}

/// The owners of the network interfaces in owned VPCs; without such a VPC, of those in owned subnets.
fn holders(region: &RegionView<'_>, found: &[Tagged<'_>]) -> BTreeSet<String> {
    let ids = |kind: ResourceKind| -> BTreeSet<&str> {
        found.iter().filter(|one| one.kind() == kind).map(|one| one.id()).collect()
    };
    let (vpcs, subnets) = (ids(ResourceKind::Vpc), ids(ResourceKind::Subnet));
    let is_here = |interface: &&NetworkInterface| {
        let is_in = |held: &BTreeSet<&str>, id: &Option<String>| id.as_deref().is_some_and(|id| held.contains(id));
        is_in(&vpcs, &interface.vpc_id) || vpcs.is_empty() && is_in(&subnets, &interface.subnet_id)
    };
    region.network_interfaces().iter().filter(is_here).map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn what_is_in_the_way_is_named() {
        let found = aws::messages(&RULE, |c| {
            c.region().network_interfaces.clear();
            c.interface("eni-0nat", "in-use", "Interface for NAT Gateway nat-0a");
            c.terminate();
        });
        assert!(found[0].ends_with("; in the way of a deletion: NAT gateway nat-0a"), "{found:?}");
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, crate::testing::aws::Cluster::terminate);
    }

    #[test]
    fn a_group_whose_template_was_not_read_may_be_the_clusters() {
        aws::does_not_apply(&RULE, |c| {
            let group = c.launch_group("workers");
            group.instances.clear();
            group.tags.clear();
            c.region().launch_templates = None;
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
