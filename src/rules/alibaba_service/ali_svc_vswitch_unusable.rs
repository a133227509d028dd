use crate::alibaba::{RegionView, VSwitch};
use crate::kubernetes::Service;
use crate::model::Decision;
use crate::model::decisions_of_alibaba;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-vswitch-unusable",
    title: "a load balancer cannot be created in the vSwitch of a Service",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for one zone alone"),
    resources: &[ResourceKind::Service],
    condition: "A Service without a load balancer gets one in vSwitches that [`tagaudit simulate`](simulate.md#alibaba-cloud) knows (`…-loadbalancer-vswitch-id`, `…-loadbalancer-zone-maps`, or `vswitchid` of the cloud configuration), and one of them is not in the region of the nodes, is in another VPC than they are, is in another zone than the annotation states, or has no free address; or a Network Load Balancer gets two vSwitches in one zone, or one zone alone in a region in which there are vSwitches in several (a warning: the zones that the API supports are not read).",
    impact: "the API refuses the load balancer (as with `InvalidVSwitchId.NotFound` or `VSwitchAvailableIpNotExist`), and the Service stays pending; one zone alone is refused where the API supports several in the region",
    fix: "Name a vSwitch of the nodes' VPC that has free addresses, with its zone.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#setModelDefaultValue",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#parseZoneMappings",
        "Alibaba Cloud NLB API, CreateLoadBalancer, `ZoneMappings`: one vSwitch in each zone, and two zones where the region supports them",
    ],
    example: "Service `shop/web` is to get vSwitch `vsw-bp1`, which is in zone cn-hangzhou-h, but its annotation states cn-hangzhou-g",
    reads: &[
        Read::EcsDescribeInstances,
        Read::DescribeVSwitches,
        Read::SlbDescribeLoadBalancers,
        Read::NlbListLoadBalancers,
    ],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let version = context.on_kubernetes().alibaba_controller_version();
    let Ok((region, decisions)) = decisions_of_alibaba(context.view, context.kubernetes, version) else {
        return CheckResult::not_applicable("the nodes are not in one region");
    };
    let is_new = |one: &&Decision| one.handled && one.load_balancer_id.is_not_reached() && one.failure().is_none();
    let new: Vec<&Decision> =
        decisions.iter().filter(is_new).filter(|one| one.subnets.known().is_some_and(|all| !all.is_empty())).collect();
    if new.is_empty() {
        return CheckResult::not_applicable("no Service gets a new load balancer in a vSwitch that is known");
    }
    let mut found = Vec::new();
    for decision in &new {
        let object = &decision.object;
        let name = format!("{}/{}", object.namespace, object.name);
        let place = services.iter().find(|one| one.full_name() == name).map(|one| &one.place);
        let violation = |severity: Severity, defect: &str, fix: &str, about: &str| {
            let message = format!("Service `{}` {defect}", text::printable(&name));
            let resource = ResourceRef::bare(ResourceKind::Service, &name);
            let violation = Violation::new(severity, resource, message, Fix::none(fix)).with_respect_to(about);
            match place {
                Some(place) => violation.at(place),
                None => violation,
            }
        };
        for (vswitch, zone) in places(decision) {
            if let Some(defect) = defect(region, vswitch, zone) {
                let defect = format!("is to get vSwitch `{}`, which {defect}", text::printable(vswitch));
                let fix = "name a vSwitch of the nodes' VPC that has free addresses, with its zone";
                found.push(violation(Severity::Error, &defect, fix, vswitch));
            }
        }
        let fix = "name one vSwitch in each of two zones";
        found.extend(zones_defect(region, decision).map(|(severity, text)| violation(severity, &text, fix, "zones")));
    }
    CheckResult::counted(new.len(), found)
}

/// The vSwitches of a new load balancer, with the zones that its annotation states.
fn places(decision: &Decision) -> Vec<(&str, Option<&str>)> {
    match decision.zone_mappings.known() {
        Some(mappings) => mappings.iter().map(|one| (one.vswitch.as_str(), Some(one.zone.as_str()))).collect(),
        None => decision.subnets.known().into_iter().flatten().map(|id| (id.as_str(), None)).collect(),
    }
}

/// The defect of the zones of a Network Load Balancer, to follow the Service.
fn zones_defect(view: &RegionView<'_>, decision: &Decision) -> Option<(Severity, String)> {
    let mappings = decision.zone_mappings.known()?;
    let mut zones: Vec<&str> = mappings.iter().map(|one| one.zone.as_str()).collect();
    zones.sort_unstable();
    if let Some([twice, _]) = zones.array_windows().find(|[one, next]| one == next) {
        return Some((Severity::Error, format!("names two vSwitches in zone {}", text::printable(twice))));
    }
    let [only] = zones.as_slice() else { return None };
    let others = view.region.vswitches.iter().filter_map(|one| one.zone_id.as_deref());
    let has_others = others.into_iter().any(|zone| zone != *only);
    has_others
        .then(|| (Severity::Warning, format!("gets a Network Load Balancer in zone {} alone", text::printable(only))))
}

/// The defect of a vSwitch, to follow "which".
fn defect(view: &RegionView<'_>, id: &str, zone: Option<&str>) -> Option<String> {
    let is_it = |one: &&VSwitch| one.id == id;
    let Some(held) = view.region.vswitches.iter().find(is_it) else {
        return Some(format!("{} does not have", view.region.name));
    };
    let vpcs: Vec<&str> = view.member_vpcs().into_iter().collect();
    if !vpcs.is_empty() && !vpcs.contains(&held.vpc_id.as_str()) {
        return Some(format!("is in VPC `{}`, but the nodes are in {}", held.vpc_id, text::list(&vpcs, 3)));
    }
    match (zone, held.zone_id.as_deref()) {
        (Some(stated), Some(own)) if stated != own => {
            return Some(format!("is in zone {own}, but its annotation states {}", text::printable(stated)));
        }
        _ => {}
    }
    (held.free_addresses == Some(0)).then(|| "has no free address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

    /// Makes a Service new, with annotations.
    fn renew(c: &mut alibaba::Cluster, annotations: &[(&str, &str)], class: Option<&str>) {
        let service = c.service("web");
        service["metadata"]["uid"] = "99999999-0000-4000-8000-000000000000".into();
        for (name, value) in annotations {
            service["metadata"]["annotations"][format!("{PREFIX}{name}")] = (*value).into();
        }
        if let Some(class) = class {
            service["spec"]["loadBalancerClass"] = class.into();
        }
    }

    fn zones(c: &mut alibaba::Cluster, maps: &str) {
        renew(c, &[("zone-maps", maps)], Some("alibabacloud.com/nlb"));
    }

    /// Adds a vSwitch in another zone.
    fn add_zone(c: &mut alibaba::Cluster) {
        let mut other = c.region().vswitches.first().unwrap().clone();
        (other.id, other.zone_id) = ("vsw-bp7".to_owned(), Some("cn-hangzhou-g".to_owned()));
        c.region().vswitches.push(other);
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| zones(c, "cn-hangzhou-h:vsw-bp1,cn-hangzhou-h:vsw-bp1"));
        alibaba::fires(&RULE, |c| {
            add_zone(c);
            zones(c, "cn-hangzhou-h:vsw-bp1");
        });
        alibaba::fires(&RULE, |c| zones(c, "cn-hangzhou-h:vsw-bp9"));
        alibaba::fires(&RULE, |c| zones(c, "cn-hangzhou-g:vsw-bp1"));
        alibaba::fires(&RULE, |c| renew(c, &[("address-type", "intranet"), ("vswitch-id", "vsw-bp9")], None));
        alibaba::fires(&RULE, |c| {
            zones(c, "cn-hangzhou-h:vsw-bp1");
            c.region().vswitches.first_mut().unwrap().free_addresses = Some(0);
        });
        alibaba::fires(&RULE, |c| {
            zones(c, "cn-hangzhou-h:vsw-bp1");
            c.region().vswitches.first_mut().unwrap().vpc_id = "vpc-bp2".to_owned();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| zones(c, "cn-hangzhou-h:vsw-bp1"));
        alibaba::silent(&RULE, |c| {
            add_zone(c);
            zones(c, "cn-hangzhou-h:vsw-bp1,cn-hangzhou-g:vsw-bp7");
        });
        alibaba::silent(&RULE, |c| renew(c, &[("address-type", "intranet"), ("vswitch-id", "vsw-bp1")], None));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
    }
}
