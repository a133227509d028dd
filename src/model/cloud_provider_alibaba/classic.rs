//! Classic Load Balancers.

use crate::alibaba::{LoadBalancer, VSwitch};
use crate::model::decision::{Answer, Decision, Presence, Stop};
use crate::text::is_filled_in_later;

use super::backends::{Backends, take};
use super::existing::{Found, scheme};
use super::{Request, atoi, within};

/// Prefix of what the controller finds wrong before it asks the account.
const LOCAL: &str = "build lb local model error: ";

/// Annotations whose change an existing load balancer refuses, and that the inventory does not hold.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/loadbalancer.go#Update`.
const IMMUTABLE: [&str; 4] = ["ip-version", "resource-group-id", "network-type", "ip"];

/// The steps of the controller, in order.
pub(super) fn run(request: &Request<'_>, decision: &mut Decision) -> Result<(), Stop> {
    decision.kind = Answer::Is("clb");
    decision.step(
        "scheme",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#BuildLocalModel",
    );
    let bandwidth = request.annotation("bandwidth");
    if !bandwidth.is_empty() {
        atoi(bandwidth, |why| {
            format!("{LOCAL}build lb attribute error: bandwidth must be integer, got [{bandwidth}], error: {why}")
        })?;
    }
    if !request.service.source_ranges.is_empty() {
        decision.notes.push("`loadBalancerSourceRanges` has no effect on a Classic Load Balancer".to_owned());
    }
    request.identity(decision);
    decision.scheme = match request.annotation("address-type") {
        "" => Answer::Is("internet"),
        asked => scheme(asked),
    };
    request.describe_named(decision);
    let in_groups = format!("{LOCAL}build vserver groups error: ");
    let nodes = request.nodes(decision).map_err(within(&in_groups))?;
    let failure = groups(request, nodes.as_deref(), decision, &in_groups)?;
    decision.step(
        "error",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/listeners.go#buildListenerFromServicePort",
    );
    let listeners = request.classic_listeners().map_err(within(&format!("{LOCAL}builid lb listener error: ")))?;
    decision.listeners_written = Answer::Is(request.writes_listeners());
    if request.writes_listeners() {
        decision.listeners = Answer::Is(request.classic_decided(&listeners));
    }
    balancer(request, decision)?;
    match failure {
        // The group that is missing is an error of its listener alone.
        Some(_) if request.writes_listeners() => {
            let names = decision.server_groups.known().and_then(|names| names.first().cloned());
            decision.server_groups = Answer::Is(Vec::new());
            let Some(name) = names else {
                return Stop::unknown("error", "the name of the server group contains a port that is allocated later");
            };
            if decision.presence != Presence::New && !request.service.ingress.is_empty() {
                decision.notes.push(
                    "if the Service has not changed since the controller last handled it, nothing fails, and its server groups are not updated"
                        .to_owned(),
                );
            }
            Stop::error(format!(
                "apply model error: merge listener: find vservergroup error: can not find vgroup by name {name}"
            ))
        }
        Some(error) => {
            decision.server_groups = Answer::Is(Vec::new());
            decision.notes.push(format!("the controller drops this error, and writes no server group: {error}"));
            Ok(())
        }
        None => create_listeners(request, &listeners),
    }
}

/// A listener of a protocol that Classic Load Balancers do not have.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#Create`.
fn create_listeners(request: &Request<'_>, listeners: &[(i64, String)]) -> Result<(), Stop> {
    let is_other = |(_, protocol): &&(i64, String)| !["http", "https", "tcp", "udp"].contains(&protocol.as_str());
    let Some((port, protocol)) = listeners.iter().find(is_other).filter(|_| request.writes_listeners()) else {
        return Ok(());
    };
    let at = if request.is_since(12) {
        "create listener error".to_owned()
    } else {
        format!("update lb listeners error: create listener [{port}] error")
    };
    Stop::error(format!("apply model error: {at}: {protocol} protocol is not supported"))
}

/// The server groups. Since v2.12 an error of theirs is returned here, because the controller drops it.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#BuildLocalModel`.
fn groups(
    request: &Request<'_>,
    nodes: Option<&[&crate::nodes::KubernetesNode]>,
    decision: &mut Decision,
    prefix: &str,
) -> Result<Option<String>, Stop> {
    decision.step(
        "targets",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/vgroups.go#buildVGroupForServicePort",
    );
    decision.server_groups = request.group_names(decision, |_, port| {
        format!("k8s/{port}/{}/{}/{}", request.service.name, request.service.namespace, request.config.cluster_id)
    });
    let first = request.service.ports.first().map(|port| port.port).unwrap_or_default();
    let at = |error: &str| {
        if request.is_since(12) {
            return Ok(Some(error.to_owned()));
        }
        Stop::error(format!("{prefix}build vgroup for port {first} error: {error}"))
    };
    if request.reads_own_groups() {
        for port in &request.service.ports {
            match request.own_group(port, "vgroupid and protocol format must be like 'vsp-xxx:443'") {
                Ok(None) => {}
                Ok(Some(_)) => {
                    decision.server_groups = Answer::Unknown;
                    return Stop::unknown(
                        "targets",
                        "server groups of load balancers are not read, and `vgroup-port` names one",
                    );
                }
                Err(Stop::Error(error)) => return at(&format!("vgroupid parse error: {error}")),
                Err(unknown) => return Err(unknown),
            }
        }
    }
    match request.backends(nodes, false, decision) {
        Backends::Fail(error) => {
            let failure = at(&error)?;
            decision.targets = Answer::Is(Vec::new());
            Ok(failure)
        }
        Backends::Are(weights) => {
            take(weights, decision);
            Ok(None)
        }
    }
}

/// Finds or creates the load balancer.
fn balancer(request: &Request<'_>, decision: &mut Decision) -> Result<(), Stop> {
    decision.step(
        "load_balancer_id",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/slb/loadbalancer.go#FindLoadBalancer",
    );
    // From v2.6 to v2.11 an error of the load balancer has no prefix.
    let has_prefix = !request.is_since(6) || request.is_since(12);
    let prefix = format!("apply model error: {}", if has_prefix { "update lb attribute error: " } else { "" });
    match request.find(decision)? {
        Found::Existing(held) => {
            decision.created = true;
            decision.tags = Answer::NotReached;
            let asked = request.annotation("address-type");
            request.keep_name(held, decision);
            decision.scheme_if_new = match asked {
                "" => Answer::Is("internet"),
                asked => scheme(asked),
            };
            decision.scheme = held.address_type.as_deref().map_or(Answer::Unknown, scheme);
            if request.is_reused() {
                request.check_reusable(held, &prefix)?;
            }
            check_unchangeable(request, held, decision)
        }
        Found::New => {
            request.check_status(&prefix, decision)?;
            if decision.scheme == Answer::Unknown {
                return Stop::unknown("error", "`address-type` is neither `internet` nor `intranet`: the API decides");
            }
            vswitches(request, decision, &prefix)?;
            decision.created = true;
            Ok(())
        }
        Found::Unknown => {
            // If one exists, its vSwitches stay.
            vswitches(request, decision, &prefix)?;
            Ok(())
        }
    }
}

/// Annotations that ask for a change of what an existing load balancer never changes. From v2.6 on all of them are in one
/// error.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/loadbalancer.go#Update`.
fn check_unchangeable(request: &Request<'_>, held: &LoadBalancer, decision: &mut Decision) -> Result<(), Stop> {
    let mut differs: Vec<&str> = Vec::new();
    for (name, own, error) in [
        ("master-zoneid", &held.primary_zone, "can not change LoadBalancer master zone id once created"),
        ("slave-zoneid", &held.secondary_zone, "can not change LoadBalancer slave zone id once created"),
        ("address-type", &held.address_type, "can not change LoadBalancer AddressType once created. delete and retry"),
    ] {
        let asked = request.annotation(name);
        if is_filled_in_later(asked) {
            decision.may_fail(not_read(name));
            continue;
        }
        match own.as_deref() {
            Some(own) if !asked.is_empty() && own != asked => differs.push(error),
            None if !asked.is_empty() => decision.may_fail(not_read(name)),
            _ => {}
        }
    }
    let errors: Vec<String> = differs.into_iter().map(|error| format!("alicloud: {error}")).collect();
    let error = match errors.as_slice() {
        [] => None,
        [_, _, ..] if request.is_since(6) => Some(format!("[{}]", errors.join(", "))),
        [first, ..] => Some(first.clone()),
    };
    if let Some(error) = error {
        return Stop::error(format!("apply model error: update lb attribute error: {error}"));
    }
    for name in IMMUTABLE.into_iter().filter(|name| !request.annotation(name).is_empty()) {
        decision.may_fail(not_read(name));
    }
    Ok(())
}

fn not_read(name: &str) -> String {
    format!("the controller stops if `{name}` differs from the existing load balancer, whose value was not read")
}

/// The vSwitch of a load balancer with a private address.
/// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/loadbalancer.go#setModelDefaultValue`,
/// `#Create`, `#setAvailableVswitchID`; `pkg/provider/alibaba/base/metadata.go#VswitchIDs`, before v2.13 `#VswitchID`.
fn vswitches(request: &Request<'_>, decision: &mut Decision, prefix: &str) -> Result<(), Stop> {
    if decision.scheme != Answer::Is("intranet") || request.annotation("network-type") == "classic" {
        return Ok(());
    }
    decision.step(
        "subnets",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/loadbalancer.go#setModelDefaultValue",
    );
    let own = request.annotation("vswitch-id");
    if !own.is_empty() {
        decision.subnets = Answer::Is(vec![own.to_owned()]);
        request.check_vswitches([(own, None)].into_iter(), decision);
        return Ok(());
    }
    let Answer::Is(configured) = &request.config.vswitches else {
        unknown_vswitch(
            decision,
            "`vswitchid` of the cloud configuration decides, which was not given, or several differ in it",
        );
        return Ok(());
    };
    let Some(text) = configured.as_deref() else {
        of_the_machine(request, decision);
        return Ok(());
    };
    if !request.is_since(13) {
        let first = text.split(',').next().unwrap_or_default();
        let parts: Vec<&str> = first.split(':').collect();
        let chosen = if let [_, id] = parts.as_slice() { id } else { text };
        decision.subnets = Answer::Is(vec![chosen.to_owned()]);
        return Ok(());
    }
    let id = |item: &'_ str| match item.split(':').collect::<Vec<&str>>().as_slice() {
        [_, id] => Some((*id).to_owned()),
        _ => None,
    };
    let entries: Vec<String> = text.split(',').filter_map(id).collect();
    if entries.is_empty() {
        return Stop::error(format!(
            "{prefix}create lb error: set model default value error: get vsw id from metadata error: no vswitches found"
        ));
    }
    choose(request, decision, &entries)
}

/// One of several vSwitches at random; instead of a full one, the first other with a free address.
fn choose(request: &Request<'_>, decision: &mut Decision, entries: &[String]) -> Result<(), Stop> {
    let free = |id: &str| {
        let held: Option<&VSwitch> = request.world.region.region.vswitches.iter().find(|one| one.id == id);
        held.and_then(|one| one.free_addresses)
    };
    let mut chosen: Vec<String> = Vec::new();
    for entry in entries {
        let result = match free(entry) {
            Some(0) => entries.iter().find(|other| *other != entry && free(other).is_some_and(|left| left > 0)),
            _ => Some(entry),
        };
        if let Some(result) = result
            && !chosen.contains(result)
        {
            chosen.push(result.clone());
        }
    }
    chosen.sort();
    match chosen.as_slice() {
        [] => Stop::unknown("error", "no vSwitch of the cloud configuration has a free address"),
        [only] => {
            decision.subnets = Answer::Is(vec![only.clone()]);
            Ok(())
        }
        _ => {
            decision.subnets_one_of = Answer::Is(chosen);
            unknown_vswitch(decision, "the controller chooses one of them at random");
            Ok(())
        }
    }
}

/// The vSwitch of the machine on which the controller runs.
fn of_the_machine(request: &Request<'_>, decision: &mut Decision) {
    let members = &request.world.region.members;
    let mut all: Vec<&str> = members.iter().filter_map(|member| member.instance.vswitch_id.as_deref()).collect();
    all.sort_unstable();
    all.dedup();
    match all.as_slice() {
        [only] => decision.subnets = Answer::Is(vec![(*only).to_owned()]),
        _ => unknown_vswitch(decision, "it is that of the machine on which the leader of the controller runs"),
    }
}

fn unknown_vswitch(decision: &mut Decision, reason: &str) {
    decision.subnets = Answer::Unknown;
    decision.note_unknown("subnets", reason);
}
