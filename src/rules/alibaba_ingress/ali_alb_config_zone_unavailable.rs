use std::collections::BTreeSet;

use crate::alibaba::{RegionView, VSwitch};
use crate::kubernetes::{Document, DocumentKind, Object, Place};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{LISTS, config_name, is_new, place_of_nodes};

pub(super) const RULE: Rule = Rule {
    id: "ali-alb-config-zone-unavailable",
    title: "an application load balancer cannot be created in the zones of its vSwitches",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The first two vSwitches in `zoneMappings` of an `AlbConfig` are in different zones, and `alb:DescribeZones` does not list both; or it has no `zoneMappings`, the vSwitches of the VPC of the nodes are in several zones, and `alb:DescribeZones` lists fewer than two of them. Checked only if the load balancer does not exist yet and all nodes are in one VPC. Nodes that a label excludes from the controller do not count.",
    impact: "the sync of the AlbConfig fails with `unable to discover at least two vSwitches from alb zones`, or the API refuses the load balancer: the Ingresses of the AlbConfig have no address",
    fix: "Name vSwitches in two zones that `alb:DescribeZones` lists, and create them where the VPC has none.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/ingress/reconcile/builder/albconfig_manager/vswitch_discovery.go#ResolveViaDiscovery",
        "Alibaba Cloud ALB API, DescribeZones; CreateLoadBalancer, `ZoneMappings`",
    ],
    example: "AlbConfig `alb` has `vsw-bp2` in cn-hangzhou-b, where application load balancers are not available",
    reads: &[Read::EcsDescribeInstances, Read::DescribeVSwitches, Read::AlbDescribeZones],
    lists: LISTS,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let configs = context.kubernetes.documents_by_kind(DocumentKind::AlbConfig).map(Document::object);
    let new: Vec<Object<'_>> = configs.filter(is_new).collect();
    if new.is_empty() {
        return CheckResult::not_applicable("no AlbConfig has the controller create a load balancer");
    }
    let (view, vpc) = match place_of_nodes(context.view) {
        Ok(place) => place,
        Err(reason) => return CheckResult::not_applicable(reason),
    };
    let zones = view.region.load_balancer_zones.as_ref();
    let Some(offered) = zones.and_then(|zones| zones.application.as_deref()) else {
        return CheckResult::not_applicable("the zones of application load balancers were not read");
    };
    let found = new.iter().filter_map(|config| {
        let (defect, place) = defect(view, vpc, offered, *config)?;
        let name = config_name(*config);
        let message = format!("AlbConfig `{}` {defect}", text::printable(&name));
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("AlbConfig/{name}"));
        let fix = Fix::none("name vSwitches in two zones that application load balancers can be in");
        Some(Violation::new(Severity::Error, resource, message, fix).at(&place))
    });
    CheckResult::counted(new.len(), found.collect::<Vec<_>>())
}

/// The vSwitches that the load balancer cannot be in, and the place that states them. What the controller cannot choose
/// from at all is another rule's.
fn defect(view: &RegionView<'_>, vpc: &str, offered: &[String], config: Object<'_>) -> Option<(String, Place)> {
    let here = || view.region.vswitches.iter().filter(|one| one.vpc_id == vpc);
    let is_offered = |zone: &str| offered.iter().any(|one| one == zone);
    let path = ["spec", "config", "zoneMappings"];
    let named: Vec<&str> =
        config.items(&path).map(|mapping| mapping.text(&["vSwitchId"]).unwrap_or_default()).collect();
    let Some(mappings) = config.at(&path).filter(|_| !named.is_empty()) else {
        let zones: Option<BTreeSet<&str>> = here().map(|one| one.zone_id.as_deref()).collect();
        let zones = zones.filter(|zones| zones.len() > 1)?;
        let usable = zones.iter().filter(|zone| is_offered(zone)).count();
        let defect = format!(
            "names no vSwitch, and application load balancers are available in {usable} of the {} zones of VPC `{vpc}`",
            zones.len()
        );
        return (usable < 2).then(|| (defect, config.head()));
    };
    let mut usable = named.iter().filter_map(|id| here().find(|one| one.id == *id));
    let first: [&VSwitch; 2] = [usable.next()?, usable.next()?];
    if first[0].zone_id == first[1].zone_id {
        return None;
    }
    let refused =
        first.into_iter().find_map(|one| Some((one, one.zone_id.as_deref().filter(|zone| !is_offered(zone))?)));
    let (vswitch, zone) = refused?;
    let (id, zone) = (text::printable(&vswitch.id), text::printable(zone));
    Some((format!("has `{id}` in {zone}, where application load balancers are not available"), mappings.place()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RULE;
    use crate::alibaba::{LoadBalancerZones, VSwitch};
    use crate::rules::Outcome;
    use crate::testing::alibaba::{self, Cluster};

    /// The cluster with a second vSwitch, an `AlbConfig`, and the zones of the product.
    fn with(zones: &[&str], config: &Value) -> impl FnOnce(&mut Cluster) {
        let offered = zones.iter().map(|zone| (*zone).to_owned()).collect();
        move |c| {
            c.region().vswitches.push(VSwitch {
                id: "vsw-bp2".to_owned(),
                vpc_id: "vpc-bp1".to_owned(),
                zone_id: Some("cn-hangzhou-g".to_owned()),
                ..VSwitch::default()
            });
            c.region().load_balancer_zones =
                Some(LoadBalancerZones { application: Some(offered), ..LoadBalancerZones::default() });
            c.objects.push(json!({"apiVersion": "alibabacloud.com/v1", "kind": "AlbConfig",
                "metadata": {"name": "alb"}, "spec": {"config": config}}));
        }
    }

    fn named(ids: &[&str]) -> Value {
        json!({"zoneMappings": ids.iter().map(|id| json!({"vSwitchId": id})).collect::<Vec<_>>()})
    }

    #[test]
    fn fires() {
        for config in [json!({}), named(&["vsw-bp1", "vsw-bp2"])] {
            alibaba::fires(&RULE, with(&["cn-hangzhou-h", "cn-hangzhou-k"], &config));
            alibaba::fires(&RULE, with(&["cn-hangzhou-g"], &config));
            alibaba::fires(&RULE, with(&[], &config));
        }
    }

    #[test]
    fn silent() {
        let both = ["cn-hangzhou-g", "cn-hangzhou-h"];
        for config in [json!({}), named(&["vsw-bp1", "vsw-bp2"])] {
            alibaba::silent(&RULE, with(&both, &config));
        }
        // Another rule's: one vSwitch, or both in one zone.
        alibaba::silent(&RULE, with(&[], &named(&["vsw-bp1"])));
        alibaba::silent(&RULE, with(&[], &named(&["vsw-bp1", "vsw-bp1"])));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        alibaba::does_not_apply(&RULE, with(&[], &json!({"id": "alb-bp1"})));
    }

    #[test]
    fn unread_zones_are_not_audited() {
        let (findings, outcome) = alibaba::changed(&RULE, |c| {
            with(&[], &json!({}))(c);
            c.region().load_balancer_zones = None;
        });
        assert!(findings.is_empty() && outcome == Outcome::NotAudited, "{outcome:?}");
    }
}
