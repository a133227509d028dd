use std::collections::BTreeSet;

use crate::aws::view::RegionView;
use crate::aws::{RouteTable, Tagged};
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags::{self, SHARED};

use super::{INSTANCES, routes_to_members};

pub(super) const RULE: Rule = Rule {
    id: "route-table-tag-count",
    title: "not exactly one route table is tagged",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; info where only a route to a member hints at cloud routes",
    ),
    resources: &[ResourceKind::RouteTable],
    condition: "The number of route tables with the cluster tag in the region is not one, although cloud routes are in use (`--cloud-routes`, or with `--nodes` a route to a Node's pod network) or a route in a member's VPC leads to a member. Routes to a NAT instance or VPN, and routes of flannel's `aws-vpc` backend, look like cloud routes. Cluster API tags every table it creates, so cloud routes cannot work there.",
    impact: "the route controller fails with `unable to find route table for AWS cluster` or `found multiple matching AWS route tables`",
    fix: "Tag exactly the table of the nodes' subnets, or set `RouteTableID` in the cloud config, or turn cloud routes off.",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_routes.go#findRouteTable",
        "https://github.com/kubernetes/kops/issues/6184",
    ],
    example: "3 route tables carry the cluster tag, and cloud routes need exactly one",
    reads: &[INSTANCES, Read::DescribeRouteTables],
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let routes = routes_to_members(region);
    let of_pods = |cidr: &str| {
        context.view.nodes.unwrap_or_default().iter().any(|node| node.pod_cidrs.iter().any(|known| known == cidr))
    };
    let in_use = context.cloud_routes || routes.iter().any(|(_, route, _)| of_pods(&route.destination));
    if region.members.is_empty() || (!in_use && routes.is_empty()) {
        return CheckResult::not_applicable("the cluster does not use cloud routes");
    }
    let severity = if in_use { Severity::Error } else { Severity::Info };
    let tagged: Vec<&RouteTable> =
        region.region.route_tables.iter().filter(|table| tags::has_cluster_tag(&table.tags, own)).collect();
    if tagged.len() == 1 {
        return CheckResult::clean();
    }
    let key = context.cluster_key();
    let used_tables: BTreeSet<&str> = region
        .members_by_subnet()
        .keys()
        .filter_map(|id| region.subnet(id))
        .filter_map(|s| region.route_table(s))
        .map(|t| t.id.as_str())
        .collect();
    let candidates: Vec<&RouteTable> = if tagged.is_empty() {
        region.region.route_tables.iter().filter(|table| used_tables.contains(table.id.as_str())).collect()
    } else {
        tagged.clone()
    };
    let Some(first) = candidates.first() else { return CheckResult::clean() };
    let message = if tagged.is_empty() {
        "no route table carries the cluster tag, and cloud routes need exactly one".to_owned()
    } else {
        format!("{} carry the cluster tag, and cloud routes need exactly one", text::count(tagged.len(), "route table"))
    };
    // Tables that nodes use are proposed first.
    let mut proposed = candidates.clone();
    proposed.sort_by_key(|table| !used_tables.contains(table.id.as_str()));
    let choices = proposed.iter().map(|table| {
        let changes = if tagged.is_empty() {
            region.set_tag(ResourceKind::RouteTable, [&table.id], &key, SHARED)
        } else {
            let others = tagged.iter().filter(|other| other.id != table.id);
            let membership = others.flat_map(|other| {
                let marks = other.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
                marks.flat_map(|tag| region.remove_tag(ResourceKind::RouteTable, [&other.id], tag))
            });
            membership.collect()
        };
        let used = if used_tables.contains(table.id.as_str()) { "; nodes use it" } else { "" };
        Choice::with(&table.id, format!("{} is the only table with `{key}`{used}", table.id), changes)
    });
    let fix = Fix::choose("choose the table that gets the pod routes", choices.collect());
    let others = candidates.iter().skip(1).map(|table| region.bare(ResourceKind::RouteTable, &table.id));
    vec![
        Violation::new(severity, region.resource(Tagged::RouteTable(first)), message, fix)
            .related(others)
            .cause(Cause::Group(ResourceKind::RouteTable.name().into())),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.cloud_routes = true);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.cloud_routes = true;
            tag(&mut c.region().route_tables.first_mut().unwrap().tags, aws::KEY, "owned");
        });
    }
}
