use std::collections::BTreeSet;

use crate::alibaba::RegionView;
use crate::controller::ControllerVersion;
use crate::kubernetes::alibaba_cloud_config::CloudConfig;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-mismatch",
    title: "the cloud configuration names what the account does not have",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for `clusterID`"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud-config.conf` of a ConfigMap names, in `vpcid`, `vswitchid` or `region`, another network than that of the nodes; these are read only if both `vpcid` and `vswitchid` are set. Or the controller writes routes, and the region has no route table of an item of `routeTableIDs`, or it is in another VPC than the nodes. Or `clusterID` is not the audited id.",
    impact: "the controller searches load balancers, vSwitches and routes in the wrong place: it creates none, or where the nodes cannot be reached; with another `clusterID` it tags what it creates for that cluster",
    fix: "Correct the value; without `vpcid` and `vswitchid` the controller asks the metadata service of its instance.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#NewMetaData",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#VswitchIDs",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/route/manager.go#getRouteTables",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/247",
    ],
    example: "`vpcid` is `vpc-bp2`, but the nodes are in vpc-bp1",
    reads: &[Read::EcsDescribeInstances, Read::DescribeRouteTableList, Read::DescribeVSwitches],
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let configs = context.kubernetes.alibaba_cloud_configs();
    if configs.is_empty() {
        return CheckResult::not_applicable("no ConfigMap with `cloud-config.conf` was given");
    }
    let mut found = Vec::new();
    for (map, config) in &configs {
        for (key, severity, message) in defects(context, config) {
            let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
            let fix = Fix::none(format!("correct `{key}`"));
            found.push(Violation::new(severity, resource, message, fix).at(&config.place).with_respect_to(key));
        }
    }
    CheckResult::counted(configs.len(), found)
}

/// Keys that are wrong, with the severity and the facts.
fn defects(context: &Context<'_>, config: &CloudConfig) -> Vec<(&'static str, Severity, String)> {
    let regions: Vec<&RegionView<'_>> = context.view.regions.iter().filter(|view| !view.members.is_empty()).collect();
    let mut defects = Vec::new();
    if let Some(id) = filled(config.cluster_id.as_ref()).filter(|id| *id != context.cluster_id()) {
        let message =
            format!("`clusterID` is `{}`, but the audited cluster is `{}`", printed(id), printed(context.cluster_id()));
        defects.push(("clusterID", Severity::Warning, message));
    }
    // Without members, nothing shows where the nodes are.
    if regions.is_empty() {
        return defects;
    }
    let in_use = |name: &str, wrong: &str, right: Vec<&str>| {
        format!("`{name}` is `{}`, but the nodes are in {}", printed(wrong), text::list(&right, 3))
    };
    // The configuration replaces the metadata service only if it has both.
    if let (Some(vpc), Some(vswitches)) = (filled(config.vpc.as_ref()), filled(config.vswitches.as_ref())) {
        let vpcs: Vec<&str> = regions.iter().flat_map(|view| view.member_vpcs()).collect();
        if !vpcs.is_empty() && !vpcs.contains(&vpc) {
            defects.push(("vpcid", Severity::Error, in_use("vpcid", vpc, vpcs.clone())));
        }
        let names: Vec<&str> = regions.iter().map(|view| view.region.name.as_str()).collect();
        if let Some(region) = filled(config.region.as_ref()).filter(|region| !names.contains(region)) {
            defects.push(("region", Severity::Error, in_use("region", region, names)));
        }
        // A wrong VPC has no vSwitch of the nodes; one finding is enough.
        let held = || regions.iter().flat_map(|view| &view.region.vswitches);
        let known = |id: &str| held().any(|one| one.id == id && (one.vpc_id == vpc || !vpcs.contains(&vpc)));
        let version = context.on_kubernetes().alibaba_controller_version();
        let wrong: Vec<&str> = used_vswitches(vswitches, version).into_iter().filter(|id| !known(id)).collect();
        if !wrong.is_empty() {
            let items: Vec<String> = wrong.iter().map(|id| format!("`{}`", printed(id))).collect();
            let message =
                format!("VPC `{}` has no vSwitch {}, which `vswitchid` names", printed(vpc), text::list(&items, 3));
            defects.push(("vswitchid", Severity::Error, message));
        }
    }
    if let Some(tables) = filled(config.route_tables.as_ref()).filter(|_| context.cloud_routes) {
        let known = |id: &str| regions.iter().flat_map(|view| &view.region.route_tables).any(|table| table.id == id);
        // The controller does not trim the items.
        let wrong: Vec<&str> = tables.trim().split(',').filter(|id| !known(id) && !tags::is_placeholder(id)).collect();
        if !wrong.is_empty() {
            let items: Vec<String> = wrong.iter().map(|id| format!("`{}`", printed(id))).collect();
            let message =
                format!("the region has no route table {}, which `routeTableIDs` names", text::list(&items, 3));
            defects.push(("routeTableIDs", Severity::Error, message));
        }
        let vpcs: BTreeSet<&str> = regions.iter().flat_map(|view| view.member_vpcs()).collect();
        let held = regions.iter().flat_map(|view| &view.region.route_tables);
        let named = held.filter(|table| tables.trim().split(',').any(|id| id == table.id));
        let elsewhere: Vec<&crate::alibaba::RouteTable> =
            named.filter(|table| !vpcs.contains(table.vpc_id.as_str())).collect();
        if let Some(table) = elsewhere.first().filter(|_| !vpcs.is_empty()) {
            let vpcs: Vec<&str> = vpcs.iter().copied().collect();
            let message = format!(
                "route table `{}` of `routeTableIDs` is in VPC `{}`, but the nodes are in {}",
                printed(&table.id),
                printed(&table.vpc_id),
                text::list(&vpcs, 3)
            );
            defects.push(("routeTableIDs", Severity::Error, message));
        }
    }
    defects
}

/// A value that is set and not an unfilled placeholder of a guide or template.
fn filled(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !tags::is_placeholder(value))
}

fn printed(value: &str) -> std::borrow::Cow<'_, str> {
    text::printable(value)
}

/// Ids of `vswitchid` in which a version creates load balancers: all that are of the form ZONE:VSWITCH from 2.13.0 on,
/// before that the first item, with or without a zone. Without a version, what both use. The text itself if none is.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#VswitchID`, `#VswitchIDs`, by
/// tag.
fn used_vswitches(text: &str, version: Option<ControllerVersion>) -> Vec<&str> {
    let with_zone = |item: &&str| item.split(':').count() == 2;
    let mut items = text.split(',');
    let takes_all = version.is_some_and(|version| version >= ControllerVersion::new(2, 13, 0));
    let used: Vec<&str> = if takes_all {
        items.filter(with_zone).filter_map(|item| item.split(':').nth(1)).collect()
    } else {
        items.next().map(|item| item.split_once(':').map_or(item, |(_, id)| id)).into_iter().collect()
    };
    if used.is_empty() { vec![text] } else { used }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba::{self, Cluster};

    fn configure(c: &mut alibaba::Cluster, global: &serde_json::Value) {
        let text = json!({ "Global": global }).to_string();
        c.objects.push(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "cloud-config", "namespace": "kube-system"},
            "data": {"cloud-config.conf": text},
        }));
    }

    #[test]
    fn fires() {
        for global in [
            json!({"clusterID": "staging"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp2", "vswitchid": "cn-hangzhou-h:vsw-bp1"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp9"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp1", "region": "cn-beijing"}),
        ] {
            alibaba::fires(&RULE, |c| configure(c, &global));
        }
    }

    #[test]
    fn route_tables_are_those_of_the_vpc_of_the_nodes() {
        let table = Cluster::new().region().route_tables.first().unwrap().id.clone();
        let global = json!({"clusterID": "prod", "routeTableIDs": table});
        alibaba::silent(&RULE, |c| configure(c, &global));
        alibaba::fires(&RULE, |c| {
            configure(c, &global);
            c.region().route_tables.first_mut().unwrap().vpc_id = "vpc-bp2".to_owned();
        });
        alibaba::fires(&RULE, |c| configure(c, &json!({"clusterID": "prod", "routeTableIDs": "vtb-bp9"})));
    }

    /// Without a vSwitch the controller asks the metadata service, and reads nothing of the rest.
    #[test]
    fn silent() {
        for global in [
            json!({"clusterID": "prod", "vpcid": "vpc-bp2", "region": "cn-beijing"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp1", "region": "cn-hangzhou"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "vsw-bp1"}),
            json!({"clusterID": "$your-cluster-id", "vpcid": "$your-vpc", "vswitchid": "<zone>:<vsw>"}),
        ] {
            alibaba::silent(&RULE, |c| configure(c, &global));
        }
    }

    #[test]
    fn versions_use_other_items_of_vswitchid() {
        let version = |text: &str| text.parse().ok();
        for (text, at, used) in [
            ("h:vsw-1,i:vsw-2", version("2.14.0"), vec!["vsw-1", "vsw-2"]),
            ("h:vsw-1,i:vsw-2", version("2.12.4"), vec!["vsw-1"]),
            ("h:vsw-1,", version("2.14.0"), vec!["vsw-1"]),
            ("vsw-1", version("2.12.4"), vec!["vsw-1"]),
            ("vsw-1", version("2.14.0"), vec!["vsw-1"]),
            ("h:vsw-1,i:vsw-2", None, vec!["vsw-1"]),
        ] {
            assert_eq!(super::used_vswitches(text, at), used, "{text} {at:?}");
        }
    }

    #[test]
    fn the_configuration_of_another_namespace_is_not_read() {
        alibaba::does_not_apply(&RULE, |c| {
            configure(c, &json!({"clusterID": "tenant-a"}));
            c.objects.last_mut().unwrap()["metadata"]["namespace"] = "tenants".into();
        });
    }

    #[test]
    fn route_tables_count_where_the_controller_writes_routes() {
        for (tables, is_wrong) in [("vtb-bp1", false), ("vtb-bp1, vtb-bp1", true), ("vtb-bp9", true)] {
            let change = |c: &mut alibaba::Cluster| {
                configure(c, &json!({"clusterID": "prod", "routeTableIDs": tables}));
                c.objects.push(json!({
                    "apiVersion": "apps/v1", "kind": "DaemonSet",
                    "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
                    "spec": {"template": {"spec": {"containers": [{
                        "name": "c",
                        "image": "registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1",
                        "args": ["--cluster-cidr=172.16.0.0/16"],
                    }]}}},
                }));
            };
            if is_wrong { alibaba::fires(&RULE, change) } else { alibaba::silent(&RULE, change) }
        }
    }
}
