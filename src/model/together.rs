//! What the objects of a simulation have in common: rules of the nodes that the AWS Load Balancer Controller joins, and names
//! that load balancers cannot share.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::{Answer, Decision, ModelledController, ObjectName};

/// Joins the rules that the AWS Load Balancer Controller writes for all of its target groups: for each group of nodes,
/// protocol and source one rule, from the lowest to the highest port.
/// Source: aws-load-balancer-controller `pkg/networking/networking_manager.go#computeRestrictedIngressPermissionsPerSG`.
pub(super) fn join_rules(decisions: &mut [Decision]) {
    let is_of_group = |source: &str| source.starts_with("sg-") || source.starts_with("new:");
    let key = |rule: &super::IngressRule| (rule.group.clone(), rule.protocol.clone(), rule.source.clone());
    let mut ports: BTreeMap<(String, String, String), (i64, i64)> = BTreeMap::new();
    let of_controller = |one: &&mut Decision| one.controller == ModelledController::LoadBalancerController;
    for decision in decisions.iter_mut().filter(of_controller) {
        for rule in decision.rules.known().into_iter().flatten().filter(|rule| is_of_group(&rule.source)) {
            let Some((from, to)) = rule.from.zip(rule.to) else { continue };
            let held = ports.entry(key(rule)).or_insert((from, to));
            *held = (held.0.min(from), held.1.max(to));
        }
    }
    for decision in decisions.iter_mut().filter(of_controller) {
        let mut is_joined = false;
        if let Answer::Is(rules) = &mut decision.rules {
            for rule in rules.iter_mut() {
                let joined = ports.get(&key(rule)).filter(|_| rule.from.is_some());
                let Some((from, to)) = joined.copied() else { continue };
                is_joined |= (rule.from, rule.to) != (Some(from), Some(to));
                (rule.from, rule.to) = (Some(from), Some(to));
            }
        }
        if is_joined {
            let note = "the controller joins the ports of all its target groups into one rule for each source";
            decision.notes.push(note.to_owned());
        }
    }
}

/// Two load balancers of one name: the second is refused, or takes the first.
/// Source: Elastic Load Balancing API Reference, `CreateLoadBalancer`: `DuplicateLoadBalancerName`.
pub(super) fn compare_names(decisions: &mut [Decision]) {
    let mut by_name: BTreeMap<String, BTreeSet<ObjectName>> = BTreeMap::new();
    for decision in decisions.iter().filter(|one| one.handled && one.failure().is_none()) {
        if let Answer::Is(name) = &decision.name {
            by_name.entry(name.clone()).or_default().insert(decision.object.clone());
        }
    }
    for decision in decisions.iter_mut().filter(|one| one.handled && one.failure().is_none()) {
        let Answer::Is(name) = &decision.name else { continue };
        let others = by_name.get(name).into_iter().flatten().find(|other| **other != decision.object);
        if let Some(other) = others {
            let reason = format!(
                "the name `{name}` is that of the load balancer of {} {}/{} too, and Elastic Load Balancing allows it once",
                other.kind, other.namespace, other.name
            );
            decision.may_fail(reason);
        }
    }
}
