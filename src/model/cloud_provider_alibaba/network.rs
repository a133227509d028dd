//! Network Load Balancers.

use crate::model::decision::{Answer, Decision, NewGroup, Stop};

use super::attributes::zone_mappings;
use super::backends::{Backends, take};
use super::existing::{Found, scheme};
use super::{Request, within};

/// Prefix of what the controller finds wrong before it asks the account.
const LOCAL: &str = "build lb local model error: ";

/// Prefix of what it finds wrong about the load balancer.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/model_applier.go#Apply`, at its tags.
fn apply(request: &Request<'_>) -> &'static str {
    if request.is_since(12) {
        "apply model error: update nlb attribute error: "
    } else if request.is_since(6) {
        "apply model error: "
    } else {
        "apply model error: reconcile nlb attribute error: "
    }
}

/// The steps of the controller, in order.
pub(super) fn run(request: &Request<'_>, decision: &mut Decision) -> Result<(), Stop> {
    decision.kind = Answer::Is("nlb");
    attributes(request, decision).map_err(within(&format!("{LOCAL}build nlb attribute error: ")))?;
    decision.step(
        "error",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/listeners.go#buildListenerFromServicePort",
    );
    let listeners = request.network_listeners(decision);
    decision.listeners_written = Answer::Is(request.writes_listeners());
    if let Some(protocols) = listeners.as_ref().ok().filter(|_| request.writes_listeners()) {
        decision.listeners = Answer::Is(request.network_decided(protocols));
    }
    if request.is_since(11) {
        let protocols = listeners.map_err(within(&format!("{LOCAL}build nlb listener error: ")))?;
        let in_groups = format!("{LOCAL}builid nlb server group error: ");
        server_groups(request, decision, &protocols).map_err(within(&in_groups))?;
    } else {
        // Until v2.10 the server groups come first, and the words are changed over.
        let assumed = || request.service.ports.iter().map(|port| port.protocol.clone()).collect();
        let protocols = listeners.as_ref().map_or_else(|_| assumed(), Vec::clone);
        let in_groups = format!("{LOCAL}build nlb server group error: ");
        server_groups(request, decision, &protocols).map_err(within(&in_groups))?;
        listeners.map_err(within(&format!("{LOCAL}builid nlb listener error: ")))?;
    }
    decision.step(
        "load_balancer_id",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/nlb/loadbalancer.go#FindNLB",
    );
    match request.find(decision)? {
        Found::Existing(held) => {
            decision.created = true;
            decision.tags = Answer::NotReached;
            request.keep_name(held, decision);
            if request.annotation("address-type").is_empty() {
                let own = held.address_type.as_deref().map(str::to_lowercase);
                decision.scheme = own.as_deref().map_or(Answer::Unknown, scheme);
            }
            if request.is_reused() {
                request.check_reusable(held, apply(request))?;
            }
            for name in
                ["ip-version", "resource-group-id"].into_iter().filter(|name| !request.annotation(name).is_empty())
            {
                decision.may_fail(format!(
                    "the controller stops if `{name}` differs from the existing load balancer, whose value was not read"
                ));
            }
            Ok(())
        }
        Found::New => {
            request.check_status(apply(request), decision)?;
            if decision.scheme == Answer::Unknown {
                return Stop::unknown("error", "`address-type` is neither `internet` nor `intranet`: the API decides");
            }
            decision.created = true;
            if let Some(mappings) = decision.zone_mappings.known().cloned() {
                let named = mappings.iter().map(|one| (one.vswitch.as_str(), Some(one.zone.as_str())));
                request.check_vswitches(named, decision);
            }
            Ok(())
        }
        Found::Unknown => Ok(()),
    }
}

/// Zones, groups and address type.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel`.
fn attributes(request: &Request<'_>, decision: &mut Decision) -> Result<(), Stop> {
    decision.step(
        "zone_mappings",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel",
    );
    let zones = request.annotation("zone-maps");
    if !zones.is_empty() {
        let mappings = zone_mappings(zones)?;
        decision.subnets = Answer::Is(mappings.iter().map(|one| one.vswitch.clone()).collect());
        decision.zone_mappings = Answer::Is(mappings);
    } else if !request.is_reused() {
        return Stop::error("ParameterMissing, zone mappings are required");
    }
    let groups = request.annotation("security-group-ids");
    let mut groups: Vec<String> = groups.split(',').filter(|_| !groups.is_empty()).map(str::to_owned).collect();
    let enabled = request.annotation("cross-zone-enabled");
    if !["", "on", "off"].contains(&enabled.to_lowercase().as_str()) {
        return Stop::error(format!(
            "ParameterInvalid, cross zone enabled flag error: invalid flag {}, should be \"on\" or \"off\"",
            crate::model::annotations::go_quoted(enabled)
        ));
    }
    request.identity(decision);
    decision.scheme = match request.annotation("address-type").to_lowercase().as_str() {
        "" => Answer::Is("internet"),
        asked => scheme(asked),
    };
    request.describe_named(decision);
    decision.new_group = Answer::Is(None);
    if !request.service.source_ranges.is_empty() && request.is_since(14) {
        if request.is_reused() {
            decision.notes.push(
                "`loadBalancerSourceRanges` has no effect on a load balancer that belongs to its user".to_owned(),
            );
        } else {
            let name = format!("k8s-nlb-{}", request.default_name().unwrap_or_else(|| crate::model::UID.to_owned()));
            note_ranges(request, decision);
            groups.push(format!("new:{name}"));
            decision.new_group = Answer::Is(Some(source_group(request, name)));
            decision.notes.push("the new security group drops all other traffic (0.0.0.0/0, priority 100)".to_owned());
        }
    } else if !request.service.source_ranges.is_empty() {
        decision.notes.push("this version does not read `loadBalancerSourceRanges`".to_owned());
    }
    decision.lb_groups = Answer::Is(groups);
    Ok(())
}

/// Rules that a security group has had room for at all times.
/// Source: ECS 2014-05-26 `AuthorizeSecurityGroup`; later documents count those of all groups of an interface instead.
const RULES_OF_GROUP: usize = 200;

/// Source ranges that the API may refuse: the controller writes each into the field for IPv4, in one request.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/nlbv2/loadbalancer.go#buildSecurityGroupPermissionsFromSourceRanges`.
fn note_ranges(request: &Request<'_>, decision: &mut Decision) {
    let ranges = &request.service.source_ranges;
    if let Some(range) = ranges.iter().find(|range| range.contains(':')) {
        decision.may_fail(format!(
            "the controller requests the IPv6 range {} as one of IPv4, and the API decides about it",
            crate::text::printable(range)
        ));
    }
    // One rule for each range, and one that drops everything else.
    if ranges.len() >= RULES_OF_GROUP {
        let rules = crate::text::count(ranges.len() + 1, "rule");
        decision.may_fail(format!("{rules} in one security group may be more than the quota of the account"));
    }
}

/// The group that accepts the source ranges, and refuses everything else.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/nlbv2/loadbalancer.go#updateAssociatedSecurityGroupRules`.
fn source_group(request: &Request<'_>, name: String) -> NewGroup {
    let group = format!("new:{name}");
    let rule = |source: &String| crate::model::IngressRule {
        group: group.clone(),
        protocol: "-1".to_owned(),
        source: source.clone(),
        from: None,
        to: None,
        description: None,
    };
    let rules = request.service.source_ranges.iter().map(rule).collect();
    let service = request.service;
    let description = format!("k8s.{}.{}.{}", service.namespace, service.name, request.config.cluster_id);
    NewGroup { name, description, rules }
}

/// Server groups and their backends.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/server_groups.go#BuildLocalModel`.
fn server_groups(request: &Request<'_>, decision: &mut Decision, protocols: &[String]) -> Result<(), Stop> {
    decision.step(
        "targets",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/server_groups.go#BuildLocalModel",
    );
    let nodes = request.nodes(decision)?;
    let service = request.service;
    let is_known = |protocol: &String| ["TCP", "TCPSSL", "UDP"].contains(&protocol.as_str());
    if let Some(other) = protocols.iter().find(|protocol| !is_known(protocol)) {
        decision.may_fail(format!("the API decides about a listener of the protocol {other}"));
    }
    let mut protocols = protocols.iter();
    decision.server_groups = request.group_names(decision, |port, number| {
        let protocol = protocols.next().map(String::as_str).unwrap_or_default();
        let range = request.port_range(port).ok().flatten();
        let number = range.map_or(number, |(first, last)| format!("{first}_{last}"));
        format!("k8s.{number}.{protocol}.{}.{}.{}", service.name, service.namespace, request.config.cluster_id)
    });
    let by_address = request.network_group_attributes()?;
    let first = service.ports.first().map(|port| port.port).unwrap_or_default();
    let at = format!("set ServerGroup for port {first} error: ");
    if request.reads_own_groups() {
        for port in &service.ports {
            let format = "server group id and protocol format must be like 'sg-xxx:443'";
            let own = request.own_group(port, format);
            if own.map_err(within(&format!("{at}server group id parse error: ")))?.is_some() {
                decision.server_groups = Answer::Unknown;
                return Stop::unknown("targets", "server groups are not read, and `vgroup-port` names one");
            }
        }
    }
    match request.backends(nodes.as_deref(), by_address, decision) {
        Backends::Fail(error) => Stop::error(format!("{at}{error}")),
        Backends::Are(weights) => {
            take(weights, decision);
            Ok(())
        }
    }
}
