use std::collections::BTreeSet;

use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{ids, instances_phrase};
use crate::transition::{Attribute, Transition, Value};

use super::routes_to_members;

pub(super) const RULE: Rule = Rule {
    id: "instance-source-dest-check",
    title: "a route leads to an instance that drops packets not addressed to it",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "A route targets a member whose source/destination check is on.",
    impact: "the instance drops packets of the routed pod network; the controller turns the check off only when it creates the route itself",
    fix: "Turn the source/destination check off.",
    applicability: Applicability::Confirm,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_routes.go#CreateRoute"],
    example: "a route leads to instance `i-0a`, whose source/destination check is on",
    reads: &[Read::DescribeRouteTables],
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let targets: BTreeSet<&str> = routes_to_members(region).into_iter().map(|(.., id)| id).collect();
    let checked = region
        .members
        .iter()
        .filter(|m| targets.contains(m.instance.id.as_str()) && m.instance.source_dest_check == Some(true));
    region.grouped(
        checked,
        |_| Severity::Info,
        |members| {
            let message =
                format!("a route leads to {}, whose source/destination check is on", instances_phrase(members));
            let off = |id| {
                let target = region.target(ResourceKind::Instance, id);
                Transition::set(target, Attribute::SourceDestCheck {}, Value::Switch(false))
            };
            let changes = ids(members).map(off).collect();
            (message, Fix::with(Applicability::Confirm, "turn the source/destination check off", changes))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, crate::testing::aws::Cluster::add_pod_route);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_pod_route();
            c.instance(aws::WORKER).source_dest_check = Some(false);
        });
    }
}
