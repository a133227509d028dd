use std::collections::BTreeSet;

use crate::aws::{LoadBalancerKind, TargetHealth};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-zone-not-enabled",
    title: "a load balancer has nodes in a zone in which it has no subnet",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "Elastic Load Balancing reports that a target is in an Availability Zone that is not enabled for the load balancer: `Target.NotInUse` in a target group that the load balancer uses, or the description of a Classic Load Balancer's instance.",
    impact: "these nodes get no traffic from the load balancer; the cloud controller never adds a subnet to an existing Network Load Balancer",
    fix: "Set the annotation `aws-load-balancer-cross-zone-load-balancing-enabled` of the Service, or give the zone a subnet that the controller chooses: for a Network Load Balancer of the cloud controller, create the Service again. The controller reverts changes by hand.",
    sources: &[
        "Elastic Load Balancing API Reference, TargetHealth, Target.NotInUse",
        "Elastic Load Balancing User Guide for Network Load Balancers, Update the Availability Zones",
        "https://github.com/kubernetes/cloud-provider-aws/issues/206",
    ],
    example: "i-0c in us-east-1c gets no traffic from `a1b2c3` (Service `shop/web`), which has no subnet in that zone",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeInstanceHealth,
        Read::DescribeInstances,
        Read::DescribeTargetGroups,
        Read::DescribeTargetHealth,
    ],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let is_classic = one.balancer.kind == LoadBalancerKind::Classic;
        let read: Vec<&TargetHealth> = if is_classic {
            one.balancer.health.as_ref()?.iter().collect()
        } else {
            let read: Vec<_> = one.groups.iter().filter_map(|group| group.targets.as_ref()).collect();
            if read.is_empty() {
                return None;
            }
            read.into_iter().flatten().collect()
        };
        let is_outside = |target: &&&TargetHealth| {
            let description = target.description.as_deref().unwrap_or_default();
            let is_told = description.contains("Availability Zone") && !description.contains("in progress");
            if is_classic { target.state == "OutOfService" && is_told } else { target.state == "unused" && is_told }
        };
        let outside: BTreeSet<&str> = read.iter().filter(is_outside).map(|target| target.id.as_str()).collect();
        if outside.is_empty() {
            return Some(Vec::new());
        }
        let zones: BTreeSet<&str> =
            outside.iter().filter_map(|id| one.region.instance(id)?.availability_zone.as_deref()).collect();
        let (nodes, zones_of) = (listed(outside.iter().copied()), listed(zones.iter().copied()));
        let message = format!(
            "{nodes}{} {} no traffic from {}, which has no subnet in that zone",
            if zones.is_empty() { String::new() } else { format!(" in {zones_of}") },
            if outside.len() == 1 { "gets" } else { "get" },
            described(one)
        );
        let fix = "set the annotation `aws-load-balancer-cross-zone-load-balancing-enabled` of the Service, or give the zone a subnet that the controller chooses; the controller reverts changes by hand";
        let related = outside.iter().map(|id| one.region.bare(ResourceKind::Instance, id));
        let related: Vec<ResourceRef> =
            related.chain(one.groups.iter().map(|group| super::group_resource(one.region, group))).collect();
        Some(vec![on_balancer(one, Severity::Warning, message, fix).related(related)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_network();
            let target = c.target_group().targets.as_mut().unwrap().first_mut().unwrap();
            target.state = "unused".to_owned();
            target.reason = Some("Target.NotInUse".to_owned());
            target.description =
                Some("Target is in an Availability Zone that is not enabled for the load balancer".to_owned());
        });
    }

    #[test]
    fn silent() {
        // The target group is not used yet.
        aws::silent(&RULE, |c| {
            c.add_network();
            let target = c.target_group().targets.as_mut().unwrap().first_mut().unwrap();
            target.state = "unused".to_owned();
            target.reason = Some("Target.NotInUse".to_owned());
            target.description =
                Some("Target group is not configured to receive traffic from the load balancer".to_owned());
        });
    }
}
