use std::collections::BTreeSet;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;
use crate::tags::{self, ROLE_ELB, ROLE_INTERNAL_ELB};

use super::{CCM_SUBNETS, INSTANCES, LBC_SUBNETS, Offer, SUBNET, SUBNETS, TABLES, ZONES, subnets_in_reach};

pub(super) const RULE: Rule = Rule {
    id: "subnet-zone-type-unsupported",
    title: "a subnet in a local or wavelength zone or on an Outpost carries load balancer tags",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; on an Outpost warning, and error if the cloud controller would choose it",
    ),
    resources: SUBNET,
    condition: "A subnet of the cluster whose zone is not an ordinary availability zone has a load balancer role tag, or a subnet on an Outpost has one or would be chosen. The zone of an Outpost is an ordinary one, and the cloud controller does not check for the Outpost.",
    impact: "the cloud controller skips local and wavelength zones; on an Outpost, Classic and Network Load Balancers cannot be created; the AWS Load Balancer Controller refuses to mix either with ordinary zones",
    fix: "Remove the role tag there.",
    sources: &[CCM_SUBNETS, LBC_SUBNETS],
    example: "subnet `subnet-0a` in us-east-1-bos-1a (local-zone) has `kubernetes.io/role/elb`",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut violations = Vec::new();
    let offers = Offer::all(region);
    let chosen: BTreeSet<&str> = offers
        .iter()
        .flat_map(|offer| Scheme::ALL.into_iter().flat_map(|scheme| offer.choose(own, scheme)))
        .map(|choice| choice.chosen.id.as_str())
        .collect();
    for subnet in subnets_in_reach(region) {
        let role = subnet.tags.iter().find(|tag| tag.key == ROLE_ELB || tag.key == ROLE_INTERNAL_ELB);
        let ours = tags::is_usable(&subnet.tags, own);
        if subnet.outpost_arn.is_some() {
            let is_chosen = chosen.contains(subnet.id.as_str());
            if !ours || !(is_chosen || role.is_some()) {
                continue;
            }
            let severity = if is_chosen { Severity::Error } else { Severity::Warning };
            let message = format!(
                "subnet `{}` of {} is on an Outpost {}",
                subnet.id,
                subnet.availability_zone,
                match (is_chosen, role) {
                    (true, _) => "and would be chosen for load balancers, which cannot be created there".to_owned(),
                    (false, role) => format!("and has `{}`", role.map_or("", |tag| &tag.key)),
                }
            );
            let fix = Fix::none("remove the role tag there, and tag another subnet of the zone for load balancers");
            violations.push(Violation::new(severity, region.resource(Tagged::Subnet(subnet)), message, fix));
            continue;
        }
        if let Some(role) = role.filter(|_| ours && !region.is_ordinary_zone(subnet)) {
            let zone = region.region.availability_zones.iter().find(|zone| zone.name == subnet.availability_zone);
            let kind = zone.map_or("special zone", |zone| &zone.zone_type);
            let message = format!("subnet `{}` in {} ({kind}) has `{}`", subnet.id, subnet.availability_zone, role.key);
            let fix = Fix::none("remove the role tag there, or name the subnet in the Services that need it");
            violations.push(Violation::new(Severity::Info, region.resource(Tagged::Subnet(subnet)), message, fix));
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
        aws::fires(&RULE, |c| c.region().availability_zones.first_mut().unwrap().zone_type = "local-zone".to_owned());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.region().availability_zones.last_mut().unwrap().zone_type = "local-zone".to_owned());
    }
}
