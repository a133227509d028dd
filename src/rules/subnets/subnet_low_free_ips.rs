use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::RegionView;
use crate::aws::{Subnet, Tagged};
use crate::rules::aws::Context;
use crate::rules::load_balancer_subnets::{MINIMUM_FREE_ADDRESSES, Scheme, choose_for_load_balancer_controller};
use crate::rules::prelude::*;

use super::{INSTANCES, Offer, SUBNET, SUBNETS, TABLES, ZONES};

pub(super) const RULE: Rule = Rule {
    id: "subnet-low-free-ips",
    title: "a subnet has too few free addresses for a load balancer",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error if it is the only usable subnet of its zone"),
    resources: SUBNET,
    condition: "A subnet that would hold load balancers has fewer than 8 free IPv4 addresses. The cloud controller does not check this.",
    impact: "the AWS Load Balancer Controller skips the subnet, and AWS refuses to place a load balancer in it",
    fix: "Free addresses or use another subnet.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/networking/subnet_resolver.go#defaultMinimalAvailableIPAddressCount",
    ],
    example: "subnet `subnet-0a` has 3 free addresses, but a load balancer needs 8",
    reads: &[INSTANCES, SUBNETS, TABLES, ZONES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut low: BTreeMap<&str, (&Subnet, Severity)> = BTreeMap::new();
    for offer in Offer::all(region) {
        for scheme in Scheme::ALL {
            let enough: BTreeSet<&str> = choose_for_load_balancer_controller(&offer.candidates, own, scheme)
                .iter()
                .map(|subnet| subnet.availability_zone.as_str())
                .collect();
            for choice in offer.choose(own, scheme) {
                let subnet = choice.chosen;
                if subnet.available_ip_address_count.is_some_and(|free| free < MINIMUM_FREE_ADDRESSES) {
                    let severity = if enough.contains(choice.zone) { Severity::Warning } else { Severity::Error };
                    let worst = low.entry(&subnet.id).or_insert((subnet, severity));
                    worst.1 = worst.1.max(severity);
                }
            }
        }
    }
    low.into_values()
        .map(|(subnet, severity)| {
            let free = subnet.available_ip_address_count.unwrap_or_default();
            let message = format!(
                "subnet `{}` has {}, but a load balancer needs {MINIMUM_FREE_ADDRESSES}",
                subnet.id,
                format_args!("{free} free {}", if free == 1 { "address" } else { "addresses" })
            );
            let fix = Fix::none("free addresses in the subnet, or tag another one of the zone for load balancers");
            Violation::new(severity, region.resource(Tagged::Subnet(subnet)), message, fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.subnet(aws::PUBLIC).available_ip_address_count = Some(7));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.subnet(aws::PUBLIC).available_ip_address_count = Some(8));
    }
}
