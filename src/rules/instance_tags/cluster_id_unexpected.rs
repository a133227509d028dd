use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::{Member, RegionView, is_alive};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "cluster-id-unexpected",
    title: "the cluster id is unused, or another id is used instead",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "No resource that was read carries the id, no Auto Scaling group launches instances that do, and no load balancer or target group does, or at least half of the instances in a VPC or Auto Scaling group with members carry one other id. Rancher nodes carry `c-…` or `c-m-…`, not the display name.",
    impact: "every audit and every controller that uses this id acts on the wrong cluster",
    fix: "Run `tagaudit clusters` to list the ids in use.",
    sources: &[
        "https://github.com/rancher/docs/issues/2521",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#newAWSCloud2",
    ],
    example: "no resource that was read is tagged for `brvo`; the ids in use are alpha, bravo",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstances,
        Read::DescribeLoadBalancerTags,
        Read::DescribeLoadBalancers,
        Read::DescribeSecurityGroups,
        Read::DescribeSubnets,
        Read::DescribeTargetGroups,
        Read::DescribeVpcs,
    ],
    always_runs: true,
    spares_neighbours: true,
    migration: Some(Prerequisite::Tags),
    ..Rule::cluster(check)
};

/// Lists of what may carry the id of a cluster without instances.
const ELSEWHERE: [Read; 4] = [
    Read::DescribeAutoScalingGroups,
    Read::DescribeLoadBalancers,
    Read::DescribeLoadBalancerTags,
    Read::DescribeTargetGroups,
];

fn check(context: &Context<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    let cluster = || ResourceRef::bare(ResourceKind::Cluster, own);
    let is_alive = |region: &RegionView<'_>| is_alive(region.region, own) == Some(true);
    let has_balancer = !context.existing.balancers.is_empty() || !context.existing.unused_groups.is_empty();
    // Their tags are not known.
    if !context.view.is_anything_here() && context.gaps.iter().any(|gap| ELSEWHERE.contains(&gap.read)) {
        return violations.into();
    }
    if !context.view.is_anything_here() && (has_balancer || context.view.regions.iter().any(is_alive)) {
        return violations.into();
    }
    if !context.view.is_anything_here() {
        let mut ids: BTreeSet<&str> = BTreeSet::new();
        for region in &context.view.regions {
            ids.extend(region.tagged().flat_map(|resource| crate::aws::view::instance_clusters(resource.tags())));
        }
        let ids: Vec<&str> = ids.into_iter().collect();
        let others = if ids.is_empty() {
            "no cluster id is in use".to_owned()
        } else {
            format!("the ids in use are {}", text::list(&ids, 10))
        };
        violations.push(Violation::new(
            Severity::Error,
            cluster(),
            format!("no resource that was read is tagged for `{}`; {others}", text::printable(own)),
            Fix::none("run `tagaudit clusters` and scan with one of the ids it lists"),
        ));
        return violations.into();
    }
    // A cluster at zero has no share of the instances.
    let with_share = |region: &&RegionView<'_>| !region.members.is_empty() || !is_alive(region);
    for region in context.view.regions.iter().filter(with_share) {
        let vpcs = region.member_vpcs();
        let groups: BTreeSet<&str> = region.members.iter().filter_map(Member::auto_scaling_group).collect();
        let mut counts: BTreeMap<(&str, &str), BTreeMap<Option<&str>, usize>> = BTreeMap::new();
        for instance in region.region.instances.iter().filter(|instance| instance.state.is_live()) {
            let id = if tags::has_cluster_tag(&instance.tags, own) {
                Some(own)
            } else {
                crate::aws::view::instance_clusters(&instance.tags).next()
            };
            if let Some(vpc) = instance.vpc_id.as_deref().filter(|vpc| vpcs.contains(vpc)) {
                *counts.entry(("VPC", vpc)).or_default().entry(id).or_default() += 1;
            }
            if let Some(group) = tags::value(&instance.tags, crate::aws::view::AUTO_SCALING_GROUP_TAG)
                .filter(|group| groups.contains(group))
            {
                *counts.entry(("Auto Scaling group", group)).or_default().entry(id).or_default() += 1;
            }
        }
        for ((kind, name), ids) in counts {
            let all: usize = ids.values().sum();
            let ours = ids.get(&Some(own)).copied().unwrap_or(0);
            let dominant = ids
                .iter()
                .filter_map(|(id, count)| id.filter(|id| *id != own).map(|id| (id, *count)))
                .max_by_key(|(_, count)| *count);
            // Two clusters may share a VPC, and a small one next to a large one is fine; a group belongs to one.
            let odd = |count: usize| count * 2 >= all && (ours == 0 || kind != "VPC");
            let Some((other, count)) = dominant.filter(|(_, count)| odd(*count)) else { continue };
            let message = format!(
                "{kind} `{}` holds {} of `{}` and {ours} of `{}`",
                text::printable(name),
                text::count(count, "instance"),
                text::printable(other),
                text::printable(own)
            );
            let mut violation = Violation::new(
                Severity::Error,
                cluster(),
                message,
                Fix::none("check whether the other id is the intended one"),
            );
            violation.resource.region = Some(region.region.name.clone());
            violation.resource.account_id = Some(region.account.account_id.clone());
            violations.push(violation.cause(Cause::Pair(Key::from_parts([kind, name]), other.into())));
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::{RULE, Read};
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.id = "brvo");
    }

    #[test]
    fn what_was_not_read_may_carry_the_id() {
        let (found, outcome) = aws::changed(&RULE, |c| {
            c.id = "brvo";
            c.inventory.gaps.push(crate::inventory::Gap {
                read: Read::DescribeLoadBalancers,
                account_id: None,
                region: None,
                resource: None,
                policy: None,
                reason: "AccessDenied".to_owned(),
                message: "not authorized".to_owned(),
            });
        });
        assert_eq!((found, outcome), (Vec::new(), crate::rules::Outcome::NotAudited));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
        // A cluster at zero.
        aws::silent(&RULE, |c| {
            c.id = "brvo";
            c.forget_nodes();
            c.add_scaling_group("workers", &[("kubernetes.io/cluster/brvo", "owned")]);
        });
    }
}
