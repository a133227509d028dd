use std::collections::BTreeSet;

use crate::alibaba::RegionView;
use crate::kubernetes::{Document, DocumentKind, Object, Place};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{LISTS, config_name, is_new, place_of_nodes};

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-config-unusable",
    title: "an application load balancer cannot be created as its AlbConfig states",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An `AlbConfig` without `spec.config.id` and without a load balancer in its status has `zoneMappings` with fewer than two vSwitches that are in the VPC of the nodes, or whose first two are in one zone (the controller uses no others); or it has none, and the vSwitches of the VPC are in one zone; or its `addressType` is neither `Internet` nor `Intranet`. The nodes must be in one VPC; Nodes that a label excludes from the controller do not count.",
    impact: "the controller stops with `unable to discover at least two vSwitches`, or the API refuses the load balancer: the Ingresses of the AlbConfig have no address",
    fix: "Name vSwitches of the nodes' VPC in two zones that Application Load Balancer supports.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/builder/albconfig_manager/vswitch_discovery.go#ResolveViaIDSlice, #ResolveViaDiscovery",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/builder/albconfig_manager/model_build_load_balancer.go#buildAlbLoadBalancerSpec",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/register.go#Initialize",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/alb/alb.go#isAlbLoadBalancerAddressTypeValid",
        "Alibaba Cloud ALB API, CreateLoadBalancer, `ZoneMappings`: at least two zones",
    ],
    example: "AlbConfig `alb` has 1 vSwitch in VPC `vpc-bp1`, and the controller needs two",
    reads: &[Read::EcsDescribeInstances, Read::DescribeVSwitches],
    lists: LISTS,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let (view, vpc) = match place_of_nodes(context.view) {
        Ok(place) => place,
        Err(reason) => return CheckResult::not_applicable(reason),
    };
    let configs = context.kubernetes.documents_by_kind(DocumentKind::AlbConfig).map(Document::object);
    let new: Vec<Object<'_>> = configs.filter(is_new).collect();
    if new.is_empty() {
        return CheckResult::not_applicable("no AlbConfig has the controller create a load balancer");
    }
    let found = new.iter().filter_map(|config| {
        let (defect, place, fix) = refused_type(*config).or_else(|| {
            let (defect, place) = defect(view, vpc, *config)?;
            let fix = "name vSwitches of the nodes' VPC in two zones that Application Load Balancer supports";
            Some((defect, place, fix))
        })?;
        let name = config_name(*config);
        let message = format!("AlbConfig `{}` {defect}", text::printable(&name));
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("AlbConfig/{name}"));
        Some(Violation::new(Severity::Error, resource, message, Fix::none(fix)).at(&place))
    });
    CheckResult::counted(new.len(), found.collect::<Vec<_>>())
}

/// An address type that the controller refuses, with the place that states it and what to do. Whether an empty one has a
/// default depends on the controller.
fn refused_type(config: Object<'_>) -> Option<(String, Place, &'static str)> {
    let path = ["spec", "config", "addressType"];
    let stated = config.text(&path).filter(|text| !text.is_empty() && !tags::is_placeholder(text))?;
    let is_known = ["internet", "intranet"].iter().any(|known| stated.eq_ignore_ascii_case(known));
    let defect = format!("has the address type `{}`", text::printable(stated));
    let fix = "write `addressType: Internet` or `addressType: Intranet`";
    (!is_known).then(|| (defect, config.at(&path).unwrap_or(config).place(), fix))
}

/// Reason why the controller cannot create the load balancer, and the place that states it.
fn defect(view: &RegionView<'_>, vpc: &str, config: Object<'_>) -> Option<(String, Place)> {
    let here = || view.region.vswitches.iter().filter(|one| one.vpc_id == vpc);
    let named: Vec<&str> = config
        .items(&["spec", "config", "zoneMappings"])
        .map(|mapping| mapping.text(&["vSwitchId"]).unwrap_or_default())
        .collect();
    let Some(mappings) = config.at(&["spec", "config", "zoneMappings"]).filter(|_| !named.is_empty()) else {
        // A vSwitch in each of two zones, of those that the API supports.
        let zones: BTreeSet<Option<&str>> = here().map(|one| one.zone_id.as_deref()).collect();
        let is_known = !zones.contains(&None);
        let defect = format!("names no vSwitch, and those of VPC `{vpc}` are all in one zone");
        return (is_known && zones.len() < 2).then(|| (defect, config.head()));
    };
    // One that is named twice counts twice.
    let usable: Vec<_> = named.iter().filter_map(|id| here().find(|one| one.id == *id)).collect();
    let [first, second, ..] = usable.as_slice() else {
        let number = text::count(usable.len(), "vSwitch");
        let defect = format!("has {number} in VPC `{vpc}`, and the controller needs two");
        return Some((defect, mappings.place()));
    };
    let (one, other) = (text::printable(&first.id), text::printable(&second.id));
    let defect = if first.id == second.id {
        format!("has vSwitch `{one}` twice, and a load balancer needs two zones")
    } else {
        let zone = first.zone_id.as_deref().filter(|_| first.zone_id == second.zone_id)?;
        format!("has `{one}` and `{other}` first, which are both in {}", text::printable(zone))
    };
    Some((defect, mappings.place()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RULE;
    use crate::alibaba::VSwitch;
    use crate::testing::alibaba::{self, Cluster};

    /// The cluster with a second vSwitch in its VPC, and an `AlbConfig`.
    fn with(zone: &str, config: &Value) -> impl FnOnce(&mut Cluster) {
        move |c| {
            c.region().vswitches.push(VSwitch {
                id: "vsw-bp2".to_owned(),
                vpc_id: "vpc-bp1".to_owned(),
                zone_id: Some(zone.to_owned()),
                ..VSwitch::default()
            });
            c.objects.push(json!({"apiVersion": "alibabacloud.com/v1", "kind": "AlbConfig",
                "metadata": {"name": "alb"}, "spec": {"config": config}}));
        }
    }

    fn zones(ids: &[&str]) -> Value {
        json!({"zoneMappings": ids.iter().map(|id| json!({"vSwitchId": id})).collect::<Vec<_>>()})
    }

    #[test]
    fn fires() {
        for ids in [&["vsw-bp1"][..], &["vsw-bp1", "vsw-bp9"], &["vsw-bp1", "vsw-bp1", "vsw-bp2"]] {
            alibaba::fires(&RULE, with("cn-hangzhou-g", &zones(ids)));
        }
        alibaba::fires(&RULE, with("cn-hangzhou-h", &zones(&["vsw-bp1", "vsw-bp2"])));
        alibaba::fires(&RULE, with("cn-hangzhou-h", &json!({})));
        // A vSwitch of another VPC.
        alibaba::fires(&RULE, |c| {
            with("cn-hangzhou-g", &zones(&["vsw-bp1", "vsw-bp2"]))(c);
            c.region().vswitches.last_mut().unwrap().vpc_id = "vpc-bp2".to_owned();
        });
    }

    #[test]
    fn an_address_type_must_be_known() {
        let typed = |kind: &str| {
            let mut config = zones(&["vsw-bp1", "vsw-bp2"]);
            config["addressType"] = kind.into();
            config
        };
        alibaba::fires(&RULE, with("cn-hangzhou-g", &typed("internal")));
        for kind in ["Internet", "intranet", "", "${TYPE}"] {
            alibaba::silent(&RULE, with("cn-hangzhou-g", &typed(kind)));
        }
    }

    #[test]
    fn silent() {
        for config in [zones(&["vsw-bp1", "vsw-bp2"]), zones(&["vsw-bp9", "vsw-bp2", "vsw-bp1"]), json!({})] {
            alibaba::silent(&RULE, with("cn-hangzhou-g", &config));
        }
        // The zone of a vSwitch was not read.
        alibaba::silent(&RULE, |c| {
            with("cn-hangzhou-g", &json!({}))(c);
            c.region().vswitches.last_mut().unwrap().zone_id = None;
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        alibaba::does_not_apply(&RULE, with("cn-hangzhou-h", &json!({"id": "alb-bp1"})));
        alibaba::does_not_apply(&RULE, |c| {
            with("cn-hangzhou-h", &json!({}))(c);
            c.instance(alibaba::WORKER).vpc_id = Some("vpc-bp2".to_owned());
        });
        // It exists, or is being deleted.
        for (at, value) in [
            ("status", json!({"loadBalancer": {"id": "alb-bp1"}})),
            ("metadata", json!({"name": "alb", "deletionTimestamp": "2026-01-01T00:00:00Z"})),
        ] {
            alibaba::does_not_apply(&RULE, |c| {
                with("cn-hangzhou-h", &json!({}))(c);
                c.objects.last_mut().unwrap()[at] = value;
            });
        }
    }

    #[test]
    fn an_excluded_node_elsewhere_does_not_count() {
        alibaba::fires(&RULE, |c| {
            with("cn-hangzhou-h", &json!({}))(c);
            c.instance(alibaba::WORKER).vpc_id = Some("vpc-bp2".to_owned());
            c.node(alibaba::WORKER)["metadata"]["labels"]["service.alibabacloud.com/exclude-node"] = "true".into();
        });
    }

    #[test]
    fn two_of_one_name_are_two() {
        let (findings, _) = alibaba::changed(&RULE, |c| {
            for namespace in ["blue", "green"] {
                with("cn-hangzhou-h", &json!({}))(c);
                c.objects.last_mut().unwrap()["metadata"]["namespace"] = namespace.into();
            }
        });
        let messages: Vec<&str> = findings.iter().map(|one| one.message.as_str()).collect();
        assert!(messages.len() == 2 && messages[0].starts_with("AlbConfig `blue/alb`"), "{messages:?}");
    }
}
