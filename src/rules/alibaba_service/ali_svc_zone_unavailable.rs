use crate::alibaba::{ClassicZones, RegionView};
use crate::kubernetes::Service;
use crate::model::{Decision, decisions_of_alibaba};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::annotation;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-zone-unavailable",
    title: "a load balancer cannot be created in the zones that a Service states",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service gets a new Classic Load Balancer, and `slb:DescribeAvailableResource` does not list its address type for the zones in `…-loadbalancer-master-zoneid` and `…-loadbalancer-slave-zoneid`; or a Service gets a new Network Load Balancer, and at least one zone in `…-loadbalancer-zone-maps` is missing from `nlb:DescribeZones`. A load balancer that exists may keep a zone that is no longer on sale.",
    impact: "the API refuses the load balancer, and the Service stays pending",
    fix: "State zones in which the load balancer is available: `aliyun slb DescribeAvailableResource` and `aliyun nlb DescribeZones` list them.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/slb/loadbalancer.go#setRequest",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#parseZoneMappings",
        "Alibaba Cloud SLB API, DescribeAvailableResource: only zones and kinds of addresses that are on sale; NLB API, DescribeZones",
    ],
    example: "Service `shop/web` requests a classic load balancer with primary zone cn-hangzhou-b, where those with an internet address are not available",
    reads: &[
        Read::EcsDescribeInstances,
        Read::SlbDescribeLoadBalancers,
        Read::NlbListLoadBalancers,
        Read::SlbDescribeAvailableResource,
        Read::NlbDescribeZones,
    ],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let version = context.on_kubernetes().alibaba_controller_version();
    let Ok((region, decisions)) = decisions_of_alibaba(context.view, context.kubernetes, version) else {
        return CheckResult::not_applicable("the nodes are not in one region");
    };
    let mut checked = 0;
    let mut found = Vec::new();
    let is_created = |one: &&Decision| one.handled && one.failure().is_none() && one.load_balancer_id.is_not_reached();
    for decision in decisions.iter().filter(is_created) {
        let object = &decision.object;
        let name = format!("{}/{}", object.namespace, object.name);
        let Some(service) = services.iter().find(|one| one.full_name() == name) else { continue };
        let offer = network(region, decision).or_else(|| classic(region, decision, service));
        let Some(offer) = offer else { continue };
        checked += 1;
        let Offer::Refused(defect) = offer else { continue };
        let message = format!("Service `{}` is to get {defect}", text::printable(&name));
        let fix = Fix::none("state zones that the product has");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&service.place));
    }
    match checked {
        0 => CheckResult::not_applicable("no Service states zones for a load balancer that is created"),
        _ => CheckResult::counted(checked, found),
    }
}

/// Whether the API has the zones that a Service states.
enum Offer {
    Available,
    /// What it does not have, to follow "is to get".
    Refused(String),
}

impl Offer {
    fn of(defect: Option<String>) -> Self {
        defect.map_or(Self::Available, Self::Refused)
    }
}

/// The zones of a Network Load Balancer; `None` if the Service states none.
fn network(view: &RegionView<'_>, decision: &Decision) -> Option<Offer> {
    let mappings = decision.zone_mappings.known().filter(|mappings| !mappings.is_empty())?;
    let offered = view.region.load_balancer_zones.as_ref()?.network.as_ref()?;
    let refused = mappings.iter().find(|one| !offered.contains(&one.zone));
    Some(Offer::of(refused.map(|one| {
        let zone = text::printable(&one.zone);
        format!("a network load balancer in {zone}, where they are not available")
    })))
}

/// The zones of a new Classic Load Balancer; `None` if the Service states none.
fn classic(view: &RegionView<'_>, decision: &Decision, service: &Service) -> Option<Offer> {
    let offered = view.region.load_balancer_zones.as_ref()?.classic.as_ref()?;
    let zone = |name: &str| annotation(service, name).filter(|zone| !zone.is_empty() && !tags::is_placeholder(zone));
    let (primary, secondary) = (zone("master-zoneid"), zone("slave-zoneid"));
    if decision.kind.known() != Some(&"clb") || (primary.is_none() && secondary.is_none()) {
        return None;
    }
    // A private address of the classic network is another stock.
    let (address, noun) = match *decision.scheme.known()? {
        "internet" => ("classic_internet", "an internet address"),
        _ if annotation(service, "network-type") == Some("classic") => {
            ("classic_intranet", "an address of the classic network")
        }
        _ => ("vpc", "a private address"),
    };
    let version = annotation(service, "ip-version").filter(|version| !version.is_empty()).unwrap_or("ipv4");
    let is_stated = |stated: Option<&str>, own: &str| stated.is_none_or(|stated| stated == own);
    let serves = |one: &ClassicZones| {
        one.address_type == address
            && one.ip_version.eq_ignore_ascii_case(version)
            && is_stated(primary, &one.primary)
            && is_stated(secondary, &one.secondary)
    };
    if offered.iter().any(serves) {
        return Some(Offer::Available);
    }
    let stated = [("primary", primary), ("secondary", secondary)];
    let stated: Vec<String> =
        stated.into_iter().filter_map(|(kind, zone)| Some(format!("{kind} zone {}", text::printable(zone?)))).collect();
    let stated = stated.join(" and ");
    Some(Offer::Refused(format!("a classic load balancer with {stated}, where those with {noun} are not available")))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::alibaba::{ClassicZones, LoadBalancerKind, LoadBalancerZones};
    use crate::rules::Outcome;
    use crate::testing::alibaba::{self, Cluster};

    const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

    /// Makes a Service new, with annotations, in a region that offers one pair of zones for each kind of address.
    fn renewed(annotations: &[(&str, &str)], class: Option<&'static str>) -> impl FnOnce(&mut Cluster) + use<> {
        let annotations: Vec<(String, String)> =
            annotations.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect();
        move |c| {
            let service = c.service("web");
            service["metadata"]["uid"] = "99999999-0000-4000-8000-000000000000".into();
            for (name, value) in annotations {
                service["metadata"]["annotations"][name] = value.into();
            }
            if let Some(class) = class {
                service["spec"]["loadBalancerClass"] = class.into();
            }
            let pair = |primary: &str, secondary: &str, address_type: &str| ClassicZones {
                primary: format!("cn-hangzhou-{primary}"),
                secondary: format!("cn-hangzhou-{secondary}"),
                address_type: address_type.to_owned(),
                ip_version: "ipv4".to_owned(),
            };
            c.region().load_balancer_zones = Some(LoadBalancerZones {
                classic: Some(vec![pair("h", "g", "classic_internet"), pair("j", "i", "vpc")]),
                network: Some(vec!["cn-hangzhou-g".to_owned(), "cn-hangzhou-h".to_owned()]),
                application: None,
            });
        }
    }

    fn classic(annotations: &[(&str, &str)]) -> impl FnOnce(&mut Cluster) {
        renewed(annotations, None)
    }

    fn network(zones: &'static str) -> impl FnOnce(&mut Cluster) {
        let annotations = [("zone-maps", zones)];
        renewed(&annotations, Some("alibabacloud.com/nlb"))
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, classic(&[("master-zoneid", "cn-hangzhou-b")]));
        alibaba::fires(&RULE, classic(&[("slave-zoneid", "cn-hangzhou-h")]));
        alibaba::fires(&RULE, classic(&[("master-zoneid", "cn-hangzhou-h"), ("slave-zoneid", "cn-hangzhou-i")]));
        // The zone has internet addresses alone, or IPv4 alone.
        let private = [("master-zoneid", "cn-hangzhou-h"), ("address-type", "intranet"), ("vswitch-id", "vsw-bp1")];
        alibaba::fires(&RULE, classic(&private));
        alibaba::fires(&RULE, classic(&[("master-zoneid", "cn-hangzhou-h"), ("ip-version", "ipv6")]));
        alibaba::fires(&RULE, network("cn-hangzhou-h:vsw-bp1,cn-hangzhou-k:vsw-bp7"));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, classic(&[("master-zoneid", "cn-hangzhou-h"), ("slave-zoneid", "cn-hangzhou-g")]));
        let private = [("master-zoneid", "cn-hangzhou-j"), ("address-type", "intranet"), ("vswitch-id", "vsw-bp1")];
        alibaba::silent(&RULE, classic(&private));
        alibaba::silent(&RULE, network("cn-hangzhou-h:vsw-bp1"));
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, classic(&[]));
        // Load balancers that exist.
        alibaba::does_not_apply(&RULE, |c| {
            classic(&[("master-zoneid", "cn-hangzhou-b")])(c);
            c.service("web")["metadata"]["uid"] = "22222222-0000-4000-8000-000000000000".into();
        });
        alibaba::does_not_apply(&RULE, |c| {
            network("cn-hangzhou-k:vsw-bp7")(c);
            c.service("web")["metadata"]["uid"] = "22222222-0000-4000-8000-000000000000".into();
            c.load_balancer("lb-bp1web").kind = LoadBalancerKind::Nlb;
        });
    }

    #[test]
    fn unread_zones_are_not_audited() {
        let (findings, outcome) = alibaba::changed(&RULE, |c| {
            classic(&[("master-zoneid", "cn-hangzhou-b")])(c);
            c.region().load_balancer_zones = None;
        });
        assert!(findings.is_empty() && outcome == Outcome::NotAudited, "{outcome:?}");
    }
}
