//! The link of the targets of a load balancer.

use std::collections::BTreeSet;

use crate::aws::{LoadBalancerKind, TargetHealth};
use crate::inventory::Read;
use crate::model::existing::Balancer;
use crate::model::pods::{Reading, instances_with_pod, pods};
use crate::model::{Answer, Decision};
use crate::resource::ResourceKind;
use crate::text;

use super::causes::Found;
use super::{Facts, ItemState, Link, LinkName, SHOWN, State};

/// True if a finding of a load balancer names its target groups or instances.
pub(super) fn is_about_targets(found: &Found<'_>) -> bool {
    found.finding.related.iter().any(|one| matches!(one.kind, ResourceKind::TargetGroup | ResourceKind::Instance))
}

/// Name and ARN of a load balancer, as findings name it.
pub(super) fn names_of<'b>(one: &Balancer<'b>) -> BTreeSet<&'b str> {
    [Some(one.balancer.name.as_str()), one.balancer.arn.as_deref()].into_iter().flatten().collect()
}

/// The link of the targets: those of the decision, or those that exist with their health.
pub(super) fn targets(
    facts: &Facts<'_>,
    existing: Option<&Balancer<'_>>,
    decision: &Decision,
    is_stopped: bool,
) -> Link {
    const READS: [Read; 3] = [Read::DescribeTargetGroups, Read::DescribeTargetHealth, Read::DescribeInstanceHealth];
    let mut link = Link::new(LinkName::Targets);
    if let Answer::Is(targets) = &decision.targets {
        link = link.fact(match targets.as_slice() {
            [] => "the controller registers no target".to_owned(),
            targets => format!("the controller registers {}", text::list(targets, SHOWN)),
        });
        if targets.is_empty() {
            link.state = State::Broken;
        }
    }
    for one in decision.nodes_left_out.iter().take(SHOWN) {
        link = link.fact(format!("not {}: {}", one.node, one.reason));
    }
    let local_pods = existing.and_then(|one| local(facts, one));
    add_targets(&mut link, decision, existing.and_then(health), local_pods.as_ref());
    let left_out: BTreeSet<&str> = decision.nodes_left_out.iter().map(|one| one.node.as_str()).collect();
    let causes = facts.findings_on_nodes(&left_out);
    let Some(one) = existing else {
        return if is_stopped {
            link.not_reached().found_next(causes)
        } else {
            link.found(causes, false).unread("no load balancer was found")
        };
    };
    let groups: BTreeSet<&str> =
        one.groups.iter().flat_map(|group| [group.arn.as_str(), group.name.as_str()]).collect();
    if let Some(fact) = ready_pods(facts, one) {
        link = link.fact(fact);
    }
    let link = match health(one) {
        None => link.unread("the health of the targets was not read"),
        Some(states) => healthy(link, &states, local_pods.as_ref()),
    };
    let of_balancer = facts
        .audited
        .findings_on(ResourceKind::LoadBalancer, &names_of(one))
        .into_iter()
        .filter(|one| is_about_targets(one));
    link.found(facts.audited.findings_on(ResourceKind::TargetGroup, &groups), false)
        .found(of_balancer, false)
        .found(causes, false)
        .unless_read(&facts.audited, &READS)
}

/// Adds the targets: those that exist with their health, else those that the controller registers; then the Nodes that are
/// none.
fn add_targets(
    link: &mut Link,
    decision: &Decision,
    states: Option<Vec<&TargetHealth>>,
    local: Option<&LocalPods<'_>>,
) {
    match states {
        Some(states) => {
            for one in states {
                let state = if one.is_healthy() { ItemState::Used } else { ItemState::Unhealthy };
                let note = match local {
                    Some(local) if local.is_by_design(one) => Some("no ready Pod"),
                    _ => one.reason.as_deref().or(Some(one.state.as_str())),
                };
                let note = note.filter(|_| state != ItemState::Used);
                link.item(&one.id, state, None, note);
            }
        }
        None => {
            for id in decision.targets.known().into_iter().flatten() {
                link.item(id, ItemState::Expected, None, None);
            }
        }
    }
    for one in &decision.nodes_left_out {
        link.item(&one.node, ItemState::NotUsed, None, Some(&one.reason));
    }
}

/// Health of every target; `None` if it was not read.
fn health<'e>(one: &Balancer<'e>) -> Option<Vec<&'e TargetHealth>> {
    if one.balancer.kind == LoadBalancerKind::Classic {
        return one.balancer.health.as_ref().map(|health| health.iter().collect());
    }
    if one.groups.is_empty() {
        return None;
    }
    let lists: Option<Vec<&[TargetHealth]>> = one.groups.iter().map(|group| group.targets.as_deref()).collect();
    Some(lists?.into_iter().flatten().collect())
}

/// The instances with Pods of a Service with `externalTrafficPolicy: Local`.
struct LocalPods<'e> {
    /// Instances of the Nodes with a ready Pod; `None` if the endpoints were not given.
    instances: Option<BTreeSet<&'e str>>,
}

impl LocalPods<'_> {
    /// True for a target on a Node that certainly has no ready Pod: kube-proxy answers its health check with 503.
    /// Source: kubernetes/kubernetes `pkg/proxy/healthcheck/service_health.go#ServeHTTP`.
    fn is_by_design(&self, target: &TargetHealth) -> bool {
        matches!(target.state.as_str(), "unhealthy" | "OutOfService")
            && self.instances.as_ref().is_some_and(|held| !held.contains(target.id.as_str()))
    }
}

/// Fact about the ready Pods of a Service with targets of type `ip`; `None` without such targets or without its endpoints.
fn ready_pods(facts: &Facts<'_>, one: &Balancer<'_>) -> Option<String> {
    let is_of_pods = one.groups.iter().any(|group| group.target_type.as_deref() == Some("ip"));
    let service = one.service.filter(|_| is_of_pods)?;
    let found = pods(facts.audited.evidence, service, Reading::OF_KUBE_PROXY)?;
    let ready: Vec<&str> = found.ready.iter().map(|pod| pod.address).collect();
    Some(match (ready.as_slice(), found.has_unready) {
        ([], true) => "no Pod of the Service is ready".to_owned(),
        ([], false) if service.has_selector => "the selector of the Service matches no Pod".to_owned(),
        ([], false) => "the Service has neither a selector nor endpoints".to_owned(),
        (ready, _) => format!("ready Pods: {}", text::list(ready, SHOWN)),
    })
}

/// The Pods that decide the health of instances; `None` without the policy.
fn local<'e>(facts: &Facts<'e>, one: &Balancer<'e>) -> Option<LocalPods<'e>> {
    let has_instances = one.balancer.kind == LoadBalancerKind::Classic
        || one.groups.iter().all(|group| group.target_type.as_deref() == Some("instance"));
    let service = one.service.filter(|service| service.is_local && has_instances)?;
    let evidence = facts.audited.evidence;
    let instances = instances_with_pod(evidence, service, evidence.nodes.as_deref().unwrap_or_default());
    Some(LocalPods { instances })
}

fn healthy(link: Link, states: &[&TargetHealth], local: Option<&LocalPods<'_>>) -> Link {
    let number = states.iter().filter(|one| one.is_healthy()).count();
    let is_by_design = |one: &TargetHealth| local.is_some_and(|local| local.is_by_design(one));
    let by_design = states.iter().filter(|one| is_by_design(one)).count();
    let sick: Vec<String> = states
        .iter()
        .filter(|one| !one.is_healthy() && !is_by_design(one))
        .map(|one| {
            let reason = one.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("{} is {}{reason}", one.id, one.state)
        })
        .collect();
    let mut link = link.fact(format!("{number} of {} healthy", text::count(states.len(), "target")));
    for one in sick.iter().take(SHOWN) {
        link = link.fact(one.clone());
    }
    if by_design > 0 {
        let verb = if by_design == 1 { "fails" } else { "fail" };
        link = link.fact(format!(
            "{} {verb} the health check by design: `externalTrafficPolicy: Local`, and no ready Pod of the Service on the Node",
            text::count(by_design, "target")
        ));
    }
    let is_unclear = !sick.is_empty() && local.is_some_and(|local| local.instances.is_none());
    if is_unclear {
        link = link.fact(
            "`externalTrafficPolicy: Local`: Nodes without a ready Pod of the Service fail the health check by design",
        );
    }
    if number == 0 {
        link.state = State::Broken;
    } else if is_unclear {
        link = link.unread("the EndpointSlices of the Service, which show the Nodes with a ready Pod, were not given");
    } else if !sick.is_empty() && link.state == State::Ok {
        link.state = State::Degraded;
    }
    link
}
