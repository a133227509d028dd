use std::collections::BTreeSet;

use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_node::is_cared_for;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-route-table-omitted",
    title: "nodes are in vSwitches whose route table the controller does not write",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RouteTable],
    condition: "The controller writes routes (its flags, or --cloud-routes), the cloud configuration names route tables in `routeTableIDs`, and a vSwitch with a node has another table. Nodes that a label excludes from the controller do not count.",
    impact: "the nodes in that vSwitch have no routes to the Pods on other nodes",
    fix: "Add the route table to `routeTableIDs` of the controller's configuration, separated by commas without spaces.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#getRouteTables"],
    example: "route table `vtb-bp2` of vSwitch `vsw-bp1`, which has a node, is not in `routeTableIDs`",
    reads: &[Read::EcsDescribeInstances, Read::DescribeRouteTableList],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if !context.cloud_routes {
        return CheckResult::not_applicable(
            "nothing shows that the controller writes routes: pass --cloud-routes if it does",
        );
    }
    let configs = context.kubernetes.alibaba_cloud_configs();
    let named: BTreeSet<&str> = configs
        .iter()
        .filter_map(|(_, config)| config.route_tables.as_deref())
        .flat_map(|ids| ids.split(','))
        .filter(|id| !id.is_empty())
        .collect();
    if named.is_empty() || named.iter().any(|id| text::is_filled_in_later(id)) {
        return CheckResult::not_applicable("no cloud configuration names route tables");
    }
    let nodes = view.members.iter().filter(|member| is_cared_for(context.view, member));
    let vswitches: BTreeSet<&str> = nodes.filter_map(|member| member.instance.vswitch_id.as_deref()).collect();
    let mut checked = 0;
    let mut found = Vec::new();
    for table in &view.region.route_tables {
        let Some(vswitch) = table.vswitch_ids.iter().find(|id| vswitches.contains(id.as_str())) else { continue };
        checked += 1;
        if named.contains(table.id.as_str()) {
            continue;
        }
        let message =
            format!("route table `{}` of vSwitch `{vswitch}`, which has a node, is not in `routeTableIDs`", table.id);
        let fix = Fix::none("add it to `routeTableIDs` of the controller's configuration");
        let resource = alibaba::resource(view, ResourceKind::RouteTable, &table.id, table.name.as_deref());
        let related = ResourceRef::bare(ResourceKind::VSwitch, vswitch);
        found.push(Violation::new(Severity::Warning, resource, message, fix).related([related]));
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba::{self, Cluster};

    /// The cluster with `routeTableIDs`.
    fn named(ids: &str) -> impl FnOnce(&mut Cluster) + use<> {
        let config = format!(r#"{{"Global": {{"clusterID": "prod", "routeTableIDs": "{ids}"}}}}"#);
        move |c| {
            c.objects.push(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "cloud-config", "namespace": "kube-system"}, "data": {"cloud-config.conf": config}}));
        }
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, named("vtb-bp2"));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, named("vtb-bp1"));
        alibaba::silent(&RULE, named("vtb-bp2,vtb-bp1"));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        alibaba::does_not_apply(&RULE, named("${TABLES}"));
    }
}
