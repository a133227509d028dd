use std::collections::BTreeSet;

use crate::alibaba::{RegionView, RouteTable};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-route-tables-several",
    title: "the VPC has several route tables",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Vpc],
    condition: "The controller writes routes (its flags, or --cloud-routes), a VPC of the nodes has more than one route table, and no given cloud configuration sets `routeTableIDs`.",
    impact: "without `routeTableIDs` the controller writes no routes (`multiple route tables found by vpc id`), and nodes keep the `network-unavailable` condition",
    fix: "List the tables to write in `routeTableIDs` of the controller's configuration, separated by commas without spaces.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#getRouteTables",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/77",
    ],
    example: "VPC `vpc-bp1` has 2 route tables: vtb-bp1, vtb-bp2",
    reads: &[Read::EcsDescribeInstances, Read::DescribeRouteTableList],
    subjects: Subjects::MemberVpcs,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if !context.cloud_routes {
        return CheckResult::not_applicable(
            "nothing shows that the controller writes routes: pass --cloud-routes if it does",
        );
    }
    let configs = context.kubernetes.alibaba_cloud_configs();
    if configs.iter().any(|(_, config)| config.route_tables.as_ref().is_some_and(|ids| !ids.is_empty())) {
        return CheckResult::not_applicable("the cloud configuration names the route tables");
    }
    let vpcs = view.member_vpcs();
    let mut found = Vec::new();
    for vpc in &vpcs {
        let tables: Vec<&str> = view
            .region
            .route_tables
            .iter()
            .filter(|table| table.vpc_id == *vpc)
            .map(|table| table.id.as_str())
            .collect();
        if tables.len() > 1 {
            let number = text::count(tables.len(), "route table");
            let message = format!("VPC `{vpc}` has {number}: {}", text::list(&tables, 6));
            let related = tables.iter().map(|id| ResourceRef::bare(ResourceKind::RouteTable, *id));
            let fix = Fix::none(match tables_of_nodes(view, vpc).as_slice() {
                [] => "list the tables in `routeTableIDs` of the controller's configuration".to_owned(),
                used => format!(
                    "set `routeTableIDs` of the controller's configuration to `{}`, the tables of the nodes' vSwitches",
                    text::printable(&used.join(","))
                ),
            });
            let resource = alibaba::resource(view, ResourceKind::Vpc, vpc, None);
            found.push(Violation::new(Severity::Warning, resource, message, fix).related(related));
        }
    }
    CheckResult::counted(vpcs.len(), found)
}

/// The route tables of the vSwitches in which nodes are.
fn tables_of_nodes<'v>(view: &'v RegionView<'_>, vpc: &str) -> Vec<&'v str> {
    let vswitches: BTreeSet<&str> =
        view.members.iter().filter_map(|member| member.instance.vswitch_id.as_deref()).collect();
    let tables = view.region.route_tables.iter().filter(|table| table.vpc_id == vpc);
    let is_used = |table: &&RouteTable| table.vswitch_ids.iter().any(|id| vswitches.contains(id.as_str()));
    tables.filter(is_used).map(|table| table.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let mut second = c.region().route_tables.first().unwrap().clone();
            second.id = "vtb-bp2".to_owned();
            c.region().route_tables.push(second);
        });
    }

    #[test]
    fn the_fix_names_the_tables_of_the_nodes() {
        let (findings, _) = alibaba::changed(&RULE, |c| {
            let mut second = c.region().route_tables.first().unwrap().clone();
            second.id = "vtb-bp2".to_owned();
            second.vswitch_ids.clear();
            c.region().route_tables.push(second);
        });
        assert!(findings[0].fix.summary.contains("`vtb-bp1`,"), "{}", findings[0].fix.summary);
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| {
            let mut second = c.region().route_tables.first().unwrap().clone();
            second.id = "vtb-bp2".to_owned();
            c.region().route_tables.push(second);
            let config = r#"{"Global": {"routeTableIDs": "vtb-bp1,vtb-bp2"}}"#;
            c.objects.push(serde_json::json!({
                "kind": "ConfigMap",
                "metadata": {"name": "cloud-config", "namespace": "kube-system"},
                "data": {"cloud-config.conf": config}
            }));
        });
    }
}
