use crate::alibaba::{RegionView, VSwitch};
use crate::kubernetes::Service;
use crate::model::Decision;
use crate::model::decisions_of_alibaba;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-vswitch-unusable",
    title: "a load balancer cannot be created in the vSwitch of a Service",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning for a single zone if the zones with Network Load Balancers were not read",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service gets a load balancer in vSwitches that [`tagaudit simulate`](simulate.md#alibaba-cloud) knows (`…-loadbalancer-vswitch-id`, `…-loadbalancer-zone-maps`, or `vswitchid` of the cloud configuration), and one of them is not in the region of the nodes, is in another VPC than they are, is in another zone than the annotation states, or has no free address; or a Network Load Balancer gets two vSwitches in one zone, or only one zone although Network Load Balancers are available in several (a warning if these zones were not read and there are vSwitches in several zones). A Network Load Balancer that exists is moved to the vSwitches of `…-loadbalancer-zone-maps`: only those that it cannot have are reported there (in another VPC than the load balancer, in another zone, or missing).",
    impact: "the API refuses the load balancer (as with `InvalidVSwitchId.NotFound` or `VSwitchAvailableIpNotExist`), and the Service stays pending or keeps the zones that it had; one zone alone is refused where the API supports several in the region",
    fix: "Name a vSwitch of the nodes' VPC that has free addresses, with its zone.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#setModelDefaultValue",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#parseZoneMappings, #Update",
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
    let is_new = |one: &Decision| one.load_balancer_id.is_not_reached();
    // The zones of a classic load balancer never change.
    let is_placed = |one: &&Decision| {
        let gets = one.handled && one.failure().is_none() && (is_new(one) || one.zone_mappings.known().is_some());
        gets && one.subnets.known().is_some_and(|all| !all.is_empty())
    };
    let placed: Vec<&Decision> = decisions.iter().filter(is_placed).collect();
    if placed.is_empty() {
        return CheckResult::not_applicable("no Service gets a load balancer in a vSwitch that is known");
    }
    let mut found = Vec::new();
    for decision in &placed {
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
            let defect = misplaced(region, vswitch, (zone, vpc_of(region, decision)))
                .or_else(|| (is_new(decision) && is_full(region, vswitch)).then(|| "has no free address".to_owned()));
            if let Some(defect) = defect {
                let defect = format!("is to get vSwitch `{}`, which {defect}", text::printable(vswitch));
                let fix = "name a vSwitch of the nodes' VPC that has free addresses, with its zone";
                found.push(violation(Severity::Error, &defect, fix, vswitch));
            }
        }
        let fix = "name one vSwitch in each of two zones";
        // A load balancer that has these zones was accepted once.
        let zones = zones_defect(region, decision).filter(|_| is_new(decision));
        found.extend(zones.map(|(severity, text)| violation(severity, &text, fix, "zones")));
    }
    CheckResult::counted(placed.len(), found)
}

/// The vSwitches of a load balancer, with the zones that its annotation states.
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
    let offered = view.region.load_balancer_zones.as_ref().and_then(|zones| zones.network.as_ref());
    let severity = match offered {
        Some(zones) if zones.len() > 1 => Severity::Error,
        None if has_others => Severity::Warning,
        _ => return None,
    };
    Some((severity, format!("gets a Network Load Balancer in zone {} alone", text::printable(only))))
}

/// The VPC of a load balancer that exists.
fn vpc_of<'v>(view: &'v RegionView<'_>, decision: &Decision) -> Option<&'v str> {
    let id = decision.load_balancer_id.known()?;
    let mut all = view.region.load_balancers.iter().flatten();
    all.find(|one| one.id == *id)?.vpc_id.as_deref()
}

/// The place of a vSwitch that no load balancer of the Service can be in, to follow "which".
fn misplaced(view: &RegionView<'_>, id: &str, (zone, own): (Option<&str>, Option<&str>)) -> Option<String> {
    let is_it = |one: &&VSwitch| one.id == id;
    let Some(held) = view.region.vswitches.iter().find(is_it) else {
        return Some(format!("{} does not have", view.region.name));
    };
    if let Some(own) = own.filter(|own| *own != held.vpc_id) {
        return Some(format!("is in VPC `{}`, but the load balancer is in `{}`", held.vpc_id, text::printable(own)));
    }
    let vpcs: Vec<&str> = view.member_vpcs().into_iter().collect();
    if own.is_none() && !vpcs.is_empty() && !vpcs.contains(&held.vpc_id.as_str()) {
        return Some(format!("is in VPC `{}`, but the nodes are in {}", held.vpc_id, text::list(&vpcs, 3)));
    }
    match (zone, held.zone_id.as_deref()) {
        (Some(stated), Some(own)) if stated != own => {
            Some(format!("is in zone {own}, but its annotation states {}", text::printable(stated)))
        }
        _ => None,
    }
}

/// True if no address is left in a vSwitch.
fn is_full(view: &RegionView<'_>, id: &str) -> bool {
    view.region.vswitches.iter().any(|one| one.id == id && one.free_addresses == Some(0))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::LoadBalancerZones;
    use crate::finding::Severity;
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
    fn one_zone_alone_is_refused_where_the_api_has_several() {
        let offered = |zones: &'static [&str]| {
            move |c: &mut alibaba::Cluster| {
                add_zone(c);
                self::zones(c, "cn-hangzhou-h:vsw-bp1");
                let zones = Some(zones.iter().map(|zone| (*zone).to_owned()).collect());
                c.region().load_balancer_zones = Some(LoadBalancerZones { network: zones, ..Default::default() });
            }
        };
        let (findings, _) = alibaba::changed(&RULE, offered(&["cn-hangzhou-g", "cn-hangzhou-h"]));
        assert_eq!(findings.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Error]);
        alibaba::silent(&RULE, offered(&["cn-hangzhou-h"]));
    }

    /// A load balancer that exists is moved; the vSwitches that it has may be full.
    #[test]
    fn existing_load_balancers_are_moved() {
        let existing = |maps: &'static str| {
            move |c: &mut alibaba::Cluster| {
                zones(c, maps);
                let service = c.service("web");
                service["metadata"]["uid"] = "22222222-0000-4000-8000-000000000000".into();
                c.load_balancer("lb-bp1web").kind = crate::alibaba::LoadBalancerKind::Nlb;
                c.region().vswitches.first_mut().unwrap().free_addresses = Some(0);
                add_zone(c);
            }
        };
        for maps in ["cn-hangzhou-h:vsw-bp1,cn-hangzhou-g:vsw-bp9", "cn-hangzhou-g:vsw-bp1"] {
            alibaba::fires(&RULE, existing(maps));
        }
        // The controller finds each of two equal entries, and calls nothing.
        for maps in [
            "cn-hangzhou-h:vsw-bp1",
            "cn-hangzhou-h:vsw-bp1,cn-hangzhou-g:vsw-bp7",
            "cn-hangzhou-h:vsw-bp1,cn-hangzhou-h:vsw-bp1",
        ] {
            alibaba::silent(&RULE, existing(maps));
        }
    }

    #[test]
    fn silent() {
        // The zones of the API are not known, and those of the vSwitches are one.
        alibaba::silent(&RULE, |c| {
            zones(c, "cn-hangzhou-h:vsw-bp1");
            c.region().load_balancer_zones = None;
        });
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
