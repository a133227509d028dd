use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::Scheme;
use crate::rules::prelude::*;

use super::{CCM_SUBNETS, INSTANCES, SUBNETS, TABLES, ZONES, none_of};

pub(super) const RULE: Rule = Rule {
    id: "elb-subnets-none-public",
    title: "no subnet for internet-facing load balancers",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning: a VPC without public subnets may be intended; info if a route leads through the endpoint of a firewall",
    ),
    resources: &[ResourceKind::Vpc],
    condition: "The controller's algorithm finds no subnet for an internet-facing load balancer in a VPC of the members.",
    impact: "an internet-facing LoadBalancer Service stays pending with `could not find any suitable subnets for creating the ELB`",
    fix: "Give a subnet a route to an internet gateway, or tag the public subnets for this cluster.",
    sources: &[CCM_SUBNETS, "https://github.com/kubernetes/kubernetes/issues/29298"],
    example: "the cloud controller chooses no subnet of VPC `vpc-0a` for an internet-facing load balancer: 3 private",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    none_of(context, region, Scheme::InternetFacing)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.region().route_tables.retain(|table| table.main));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.region().subnets.retain(|subnet| subnet.id != aws::PUBLIC));
    }
}
