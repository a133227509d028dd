use std::collections::BTreeSet;

use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::{Scheme, choose_subnets};
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-zone-without-lb-subnet",
    title: "an Auto Scaling group may launch nodes in a zone without a subnet for load balancers",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "A group of workers has a subnet in a zone in which the cloud controller chooses no subnet for load balancers of a scheme, while it chooses some in other zones. Local and wavelength zones are skipped. `subnet-az-uncovered` reports zones in which nodes run today.",
    impact: "a Classic Load Balancer does not reach nodes in that zone, and a Network Load Balancer only with cross-zone load balancing",
    fix: "Tag a subnet of that zone for load balancers, or remove the zone from the group.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findELBSubnets",
        "Elastic Load Balancing User Guide, Availability Zones and load balancer nodes",
    ],
    example: "`workers` may launch nodes in us-east-2d, where internet-facing load balancers get no subnet",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeAvailabilityZones,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::DescribeRouteTables,
        Read::DescribeSubnets,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    for_each_group(context, region, |one| {
        if one.is_of_control_plane(region) {
            return Some(Vec::new());
        }
        let subnets = one.launch.subnets.iter().filter_map(|id| region.subnet(id));
        let with_nodes: BTreeSet<&str> =
            region.members.iter().filter_map(|member| member.instance.availability_zone.as_deref()).collect();
        let mut found = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for subnet in subnets {
            let zone = subnet.availability_zone.as_str();
            if with_nodes.contains(zone) || !region.is_ordinary_zone(subnet) || !seen.insert(zone) {
                continue;
            }
            let candidates = region.candidates(&subnet.vpc_id);
            let own_subnet = region.controller_subnet(&subnet.vpc_id);
            let is_uncovered = |scheme: &Scheme| {
                let chosen = choose_subnets(&candidates, context.cluster_id(), *scheme, own_subnet);
                !chosen.is_empty() && chosen.iter().all(|choice| choice.zone != zone)
            };
            let schemes: Vec<&str> = Scheme::ALL.into_iter().filter(is_uncovered).map(Scheme::name).collect();
            if schemes.is_empty() {
                continue;
            }
            let message = format!(
                "`{}` may launch nodes in {}, where {} load balancers get no subnet",
                text::printable(&one.group.name),
                text::printable(zone),
                schemes.join(" and ")
            );
            let fix = "tag a subnet of that zone for load balancers, or remove the zone from the group";
            let violation = on_group(region, one, Severity::Info, message, fix);
            let subnet = region.bare(ResourceKind::Subnet, &subnet.id);
            found.push(violation.related([subnet]).with_respect_to(zone));
        }
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::Subnet;
    use crate::testing::aws::{self, Cluster, OTHER_KEY, PRIVATE};
    use crate::testing::tag;

    /// Adds a subnet in a third zone, which a group uses.
    fn add_zone(c: &mut Cluster, tags: &[&str]) {
        let zone = "eu-central-1c".to_owned();
        let mut subnet = Subnet {
            id: "subnet-0privc".to_owned(),
            availability_zone: zone.clone(),
            tags: Vec::new(),
            ..c.subnet(PRIVATE).clone()
        };
        for key in tags {
            tag(&mut subnet.tags, key, "owned");
        }
        c.region().subnets.push(subnet);
        c.launch_group("workers").launch.as_mut().unwrap().subnets.push("subnet-0privc".to_owned());
        c.inventory.canonicalise();
    }

    #[test]
    fn fires() {
        // The controller skips the subnet of another cluster.
        aws::fires(&RULE, |c| add_zone(c, &[OTHER_KEY]));
        // It is private: internet-facing load balancers get no subnet there.
        aws::fires(&RULE, |c| add_zone(c, &[]));
    }

    #[test]
    fn silent() {
        // Nodes run in every zone of the group: another rule reports those.
        aws::silent(&RULE, |c| drop(c.launch_group("workers").clone()));
    }
}
