use std::collections::BTreeMap;

use crate::aws::view::RegionView;
use crate::aws::{Subnet, Tagged};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, SUBNET, SUBNETS, TABLES, subnets_in_reach};

pub(super) const RULE: Rule = Rule {
    id: "subnet-routetable-unresolvable",
    title: "no route table is visible for a subnet",
    severity: RuleSeverity::always(Severity::Error),
    resources: SUBNET,
    condition: "A subnet that the controller inspects has no associated route table, and no main table of its VPC is visible. The usual case is a shared VPC whose tables the account may not see.",
    impact: "the controller stops at it with `could not locate routing table for subnet`, and no load balancer is created at all",
    fix: "Let the account see the route tables, or set the subnets by annotation.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#isSubnetPublic"],
    example: "no route table is visible for 1 subnet of VPC `vpc-0a`: subnet-0a",
    reads: &[INSTANCES, SUBNETS, TABLES],
    subjects: Subjects::MemberVpcs,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let mut by_vpc: BTreeMap<&str, Vec<&Subnet>> = BTreeMap::new();
    for subnet in subnets_in_reach(region) {
        let looked_at = tags::is_usable(&subnet.tags, own);
        if looked_at && region.route_table(subnet).is_none() {
            by_vpc.entry(&subnet.vpc_id).or_default().push(subnet);
        }
    }
    by_vpc
        .into_iter()
        .filter_map(|(vpc_id, subnets)| {
            let first = subnets.first()?;
            let ids: Vec<&str> = subnets.iter().map(|subnet| subnet.id.as_str()).collect();
            let message = format!(
                "no route table is visible for {} of VPC `{vpc_id}`: {}",
                text::count(subnets.len(), "subnet"),
                text::list(&ids, 4)
            );
            let fix = Fix::none(
                "let this account see the route tables of the VPC, or name the subnets in the Services' annotations",
            );
            let others = subnets.iter().skip(1).map(|subnet| region.bare(ResourceKind::Subnet, &subnet.id));
            Some(
                Violation::new(Severity::Error, region.resource(Tagged::Subnet(first)), message, fix)
                    .related(others)
                    .cause(Cause::Group(vpc_id.into())),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.region().route_tables.retain(|table| !table.main));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
