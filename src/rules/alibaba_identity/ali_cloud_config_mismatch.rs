use crate::alibaba::RegionView;
use crate::kubernetes::DocumentKind;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_kubernetes::ali_cloud_config_content::{CloudConfig, cloud_config};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-mismatch",
    title: "the cloud configuration names what the account does not have",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for `clusterID`"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud-config.conf` of a ConfigMap names, in `vpcid`, `vswitchid` (ZONE:VSWITCH, several with commas) or `region`, another network than that of the nodes; these are read only if both `vpcid` and `vswitchid` are set. Or the controller writes routes, and the region has no route table of an item of `routeTableIDs`. Or `clusterID` is not the audited id.",
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
    let maps: Vec<_> = context.kubernetes.documents_by_kind(DocumentKind::ConfigMap).collect();
    let configs: Vec<_> = maps.into_iter().filter_map(|map| Some((map, cloud_config(map)?))).collect();
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
    if let Some(id) = config.cluster_id.as_deref().filter(|id| *id != context.cluster_id()) {
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
    if let (Some(vpc), Some(vswitches)) = (&config.vpc, &config.vswitches) {
        let vpcs: Vec<&str> = regions.iter().flat_map(|view| view.member_vpcs()).collect();
        if !vpcs.is_empty() && !vpcs.contains(&vpc.as_str()) {
            defects.push(("vpcid", Severity::Error, in_use("vpcid", vpc, vpcs)));
        }
        let names: Vec<&str> = regions.iter().map(|view| view.region.name.as_str()).collect();
        if let Some(region) = config.region.as_deref().filter(|region| !names.contains(region)) {
            defects.push(("region", Severity::Error, in_use("region", region, names)));
        }
        let known = |id: &str| {
            regions.iter().flat_map(|view| &view.region.vswitches).any(|one| one.id == id && one.vpc_id == *vpc)
        };
        let wrong: Vec<&str> = vswitches.split(',').filter(|item| !is_vswitch(item, known)).collect();
        if !wrong.is_empty() {
            let verb = if wrong.len() == 1 { "is" } else { "are" };
            let items: Vec<String> = wrong.iter().map(|item| format!("`{}`", printed(item))).collect();
            let message = format!(
                "{} in `vswitchid` {verb} not of the form ZONE:VSWITCH, or no vSwitch of VPC `{}`",
                text::list(&items, 3),
                printed(vpc)
            );
            defects.push(("vswitchid", Severity::Error, message));
        }
    }
    if let Some(tables) = config.route_tables.as_deref().filter(|_| context.on_kubernetes().alibaba_writes_routes()) {
        let known = |id: &str| regions.iter().flat_map(|view| &view.region.route_tables).any(|table| table.id == id);
        // The controller does not trim the items.
        let wrong: Vec<&str> = tables.trim().split(',').filter(|id| !known(id)).collect();
        if !wrong.is_empty() {
            let items: Vec<String> = wrong.iter().map(|id| format!("`{}`", printed(id))).collect();
            let message =
                format!("the region has no route table {}, which `routeTableIDs` names", text::list(&items, 3));
            defects.push(("routeTableIDs", Severity::Error, message));
        }
    }
    defects
}

fn printed(value: &str) -> std::borrow::Cow<'_, str> {
    text::printable(value)
}

/// True if an item of `vswitchid` names a vSwitch that is known.
fn is_vswitch(item: &str, known: impl Fn(&str) -> bool) -> bool {
    matches!(item.split(':').collect::<Vec<_>>().as_slice(), [_, id] if known(id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::alibaba;

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
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "vsw-bp1"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp1", "region": "cn-beijing"}),
        ] {
            alibaba::fires(&RULE, |c| configure(c, &global));
        }
    }

    /// Without a vSwitch the controller asks the metadata service, and reads nothing of the rest.
    #[test]
    fn silent() {
        for global in [
            json!({"clusterID": "prod", "vpcid": "vpc-bp2", "region": "cn-beijing"}),
            json!({"clusterID": "prod", "vpcid": "vpc-bp1", "vswitchid": "cn-hangzhou-h:vsw-bp1", "region": "cn-hangzhou"}),
            json!({"clusterID": "prod", "routeTableIDs": "vtb-bp9"}),
        ] {
            alibaba::silent(&RULE, |c| configure(c, &global));
        }
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
