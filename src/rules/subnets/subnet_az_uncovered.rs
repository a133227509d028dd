use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Subnet;
use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;
use crate::tags;

use super::{CCM_SUBNETS, INSTANCES, Offer, SUBNETS, TABLES, ZONES, vpc_resource};

pub(super) const RULE: Rule = Rule {
    id: "subnet-az-uncovered",
    title: "nodes run in a zone without a subnet for load balancers",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Vpc],
    condition: "Members live in an availability zone in which the controller finds no subnet for load balancers of a scheme, while it finds some in other zones. `subnet-foreign-cluster-tag` reports zones whose subnets are tagged for other clusters.",
    impact: "the load balancer has no node in that zone, and without cross-zone balancing (off by default) no traffic reaches the nodes there",
    fix: "Create or tag a subnet in that zone, or annotate Services with the subnets to use. Existing Network Load Balancers do not pick it up: the cloud controller never changes their subnets, so they must be re-created.",
    applicability: Applicability::Choice,
    sources: &[CCM_SUBNETS],
    example: "4 nodes in us-east-1c, where internet-facing load balancers get no subnet",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    for offer in Offer::all(region) {
        let mut uncovered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for scheme in Scheme::ALL {
            let zones: BTreeSet<&str> = offer.choose(own, scheme).iter().map(|choice| choice.zone).collect();
            if zones.is_empty() {
                continue;
            }
            for member in region.members.iter().filter(|m| m.instance.vpc_id.as_deref() == Some(offer.vpc_id)) {
                let zone = member.instance.availability_zone.as_deref();
                let ordinary = member
                    .instance
                    .subnet_id
                    .as_deref()
                    .and_then(|id| region.subnet(id))
                    .is_none_or(|s| region.is_ordinary_zone(s));
                if let Some(zone) = zone.filter(|zone| ordinary && !zones.contains(zone)) {
                    let schemes = uncovered.entry(zone).or_default();
                    if !schemes.contains(&scheme.name()) {
                        schemes.push(scheme.name());
                    }
                }
            }
        }
        for (zone, schemes) in uncovered {
            let nodes = region.members.iter().filter(|m| {
                m.instance.vpc_id.as_deref() == Some(offer.vpc_id)
                    && m.instance.availability_zone.as_deref() == Some(zone)
            });
            // Subnets there that are tagged only for other clusters are the cause, and a separate finding.
            let foreign = |subnet: &Subnet| !tags::is_usable(&subnet.tags, own);
            let hosts = region.members_by_subnet();
            let described = offer.candidates.iter().any(|c| {
                c.subnet.availability_zone == zone
                    && foreign(c.subnet)
                    && (hosts.contains_key(c.subnet.id.as_str()) || schemes.contains(&Scheme::Internal.name()))
            });
            if described {
                continue;
            }
            let there: Vec<&Subnet> =
                offer.candidates.iter().map(|c| c.subnet).filter(|subnet| subnet.availability_zone == zone).collect();
            let message = format!(
                "{} in {zone}, where {} load balancers get no subnet",
                text::count(nodes.count(), "node"),
                schemes.join(" and ")
            );
            let fix = Fix::choose(
                "create a subnet for load balancers in this zone, or tag one",
                there.iter().map(|subnet| Choice::advice(&subnet.id, format!("use {}", subnet.id))).collect(),
            );
            let others = there.iter().map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            violations.push(
                Violation::new(Severity::Warning, vpc_resource(region, offer.vpc_id), message, fix)
                    .related(others)
                    .cause(Cause::Pair(offer.vpc_id.into(), zone.into())),
            );
        }
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.region().subnets.retain(|subnet| subnet.id != aws::PUBLIC_B));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
