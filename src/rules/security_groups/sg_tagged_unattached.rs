use std::collections::BTreeSet;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::instance_tags::is_load_balancer_group;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, GROUPS, INSTANCES};

const INTERFACES: Read = Read::DescribeNetworkInterfaces;

pub(super) const RULE: Rule = Rule {
    id: "sg-tagged-unattached",
    title: "a tagged security group is attached to nothing",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "A group with the cluster tag is on no network interface and was not created for a load balancer, while the cluster has nodes. Groups of node groups that are scaled to zero, and groups that Karpenter selects, look the same.",
    impact: "none, but the sync of Network Load Balancers searches every tagged group of the region for stale rules",
    fix: "Remove the tag or the group.",
    applicability: Applicability::Confirm,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getTaggedSecurityGroups"],
    example: "security group `sg-0a` carries the cluster tag and is attached to nothing",
    reads: &[INSTANCES, GROUPS, INTERFACES],
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    if region.members.is_empty() {
        return CheckResult::not_applicable("no instance is a node of the cluster");
    }
    let vpcs = region.member_vpcs();
    let mut used: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .flat_map(|interface| interface.security_groups.iter().map(String::as_str))
        .collect();
    for instance in &region.region.instances {
        used.extend(instance.security_groups.iter().map(String::as_str));
        used.extend(
            instance
                .network_interfaces
                .iter()
                .flat_map(|interface| interface.security_groups.iter().map(String::as_str)),
        );
    }
    region
        .region
        .security_groups
        .iter()
        .filter(|group| tags::has_cluster_tag(&group.tags, own) && !used.contains(group.id.as_str()))
        .filter(|group| group.vpc_id.as_deref().is_some_and(|vpc| vpcs.contains(vpc)))
        .filter(|group| {
            !is_load_balancer_group(&group.name, &group.description)
                && !group.tags.iter().any(|tag| tag.key.starts_with("elbv2.k8s.aws/"))
        })
        .map(|group| {
            let message = format!("security group `{}` carries the cluster tag and is attached to nothing", group.id);
            let tag = group.tags.iter().find(|tag| tag.key == context.cluster_key());
            let tag = tag.into_iter();
            let changes =
                tag.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag)).collect();
            let fix = Fix::with(
                Applicability::Confirm,
                "remove the tag or the group, unless a node group scaled to zero or a Karpenter node class uses it",
                changes,
            );
            Violation::new(Severity::Info, region.resource(Tagged::SecurityGroup(group)), message, fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.add_group("sg-0idle").tags, aws::KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.add_group("sg-0idle").tags, aws::OTHER_KEY, "owned"));
    }
}
