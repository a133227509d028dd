use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;

use super::{CCM_SUBNETS, INSTANCES, SUBNETS, TABLES, ZONES, none_of};

pub(super) const RULE: Rule = Rule {
    id: "elb-subnets-none-internal",
    title: "no subnet for internal load balancers",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Vpc],
    condition: "The controller's algorithm finds no subnet for an internal load balancer in a VPC of the members: all are tagged for other clusters or are in local or wavelength zones.",
    impact: "an internal LoadBalancer Service stays pending with `could not find any suitable subnets for creating the ELB`",
    fix: "Tag the subnets for this cluster.",
    sources: &[CCM_SUBNETS],
    example: "the cloud controller chooses no subnet of VPC `vpc-0a` for an internal load balancer: 2 tagged for other clusters",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    none_of(context, region, Scheme::Internal)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.region().availability_zones.iter_mut().for_each(|zone| zone.zone_type = "local-zone".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.region().availability_zones.first_mut().unwrap().zone_type = "local-zone".to_owned());
    }
}
