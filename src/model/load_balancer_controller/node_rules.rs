//! Rules of the nodes' groups.
//! Sources: aws-load-balancer-controller `pkg/service/model_build_target_group.go#buildTargetGroupBindingNetworking`,
//! `#buildTargetGroupBindingNetworkingLegacy`,
//! `pkg/networking/networking_manager.go#computeRestrictedIngressPermissionsPerSG`.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::{RuleSource, SecurityGroup};
use crate::inventory::Read;
use crate::model::decision::{Answer, Decision, IngressRule};
use crate::model::world::World;

/// Description of the rules.
const DESCRIPTION: &str = "elbv2.k8s.aws/targetGroupBinding=shared";

/// A source that may reach a port of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opening {
    pub(super) protocol: &'static str,
    pub(super) source: Source,
    /// `None` for all ports.
    pub(super) port: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Group(String),
    Range(String),
}

/// Decides about the rules of the groups of nodes: those that the groups lack, with any description.
/// Source: `pkg/networking/security_group_reconciler.go#reconcileIngressWithSGInfo`.
pub(super) fn add(world: World<'_>, decision: &mut Decision, groups: &[String], openings: &[Opening]) {
    let is_read = world.must_have(Read::DescribeSecurityGroups, "rules");
    let held: Option<Vec<&SecurityGroup>> = groups.iter().map(|id| world.group(id)).collect();
    let Some(held) = held.filter(|_| is_read.is_ok()) else {
        decision.note_unknown("rules", "the security groups of the nodes are not in the inventory");
        decision.rules = Answer::Unknown;
        return;
    };
    let is_same = |group: &SecurityGroup, rule: &IngressRule| {
        entries(group).any(|(ports, source)| ports == ports_of(rule) && source.source == rule.source)
    };
    // The controller joins the ports of all its target groups into one rule for each source and protocol.
    let is_joined = |group: &SecurityGroup, rule: &IngressRule| {
        let is_one = openings.iter().any(|opening| opening.source == Source::Group(rule.source.clone()));
        is_one
            && entries(group).any(|((protocol, ..), source)| {
                protocol == rule.protocol
                    && source.source == rule.source
                    && source.description.as_deref() == Some(DESCRIPTION)
            })
    };
    let mut added = Vec::new();
    for rule in rules(groups, openings) {
        let Some(group) = held.iter().find(|group| group.id == rule.group) else { continue };
        if is_same(group, &rule) {
            continue;
        }
        if is_joined(group, &rule) {
            decision.note_unknown(
                "rules",
                format!(
                    "the controller joins the ports of all its target groups in a rule of `{}`, and it is not known which others there are",
                    group.id
                ),
            );
            decision.rules = Answer::Unknown;
            return;
        }
        added.push(rule);
    }
    decision.rules = Answer::Is(added);
}

/// Protocol, first and last port.
type Ports<'r> = (&'r str, Option<i64>, Option<i64>);

fn ports_of(rule: &IngressRule) -> Ports<'_> {
    (&rule.protocol, rule.from, rule.to)
}

/// The rules of a group, one for each source.
fn entries(group: &SecurityGroup) -> impl Iterator<Item = (Ports<'_>, &RuleSource)> {
    group.ingress.iter().flat_map(|permission| {
        let ports =
            (permission.protocol.as_str(), permission.from_port.map(i64::from), permission.to_port.map(i64::from));
        permission.ranges.iter().chain(&permission.groups).map(move |source| (ports, source))
    })
}

/// Rules for these openings: for each group as a source and each protocol one rule, from the lowest to the highest port.
fn rules(groups: &[String], openings: &[Opening]) -> Vec<IngressRule> {
    let mut by_source: BTreeMap<(&str, &str), Vec<Option<i64>>> = BTreeMap::new();
    let mut ranges: BTreeSet<(&str, &str, Option<i64>)> = BTreeSet::new();
    for opening in openings {
        match &opening.source {
            Source::Group(id) => by_source.entry((opening.protocol, id)).or_default().push(opening.port),
            Source::Range(range) => {
                ranges.insert((opening.protocol, range, opening.port));
            }
        }
    }
    let mut rules = Vec::new();
    for group in groups {
        let mut add = |protocol: &str, source: &str, from: i64, to: i64| {
            let rule = IngressRule { to: Some(to), ..IngressRule::port(group, protocol, source, from) };
            rules.push(rule.described(DESCRIPTION.to_owned()));
        };
        for ((protocol, source), ports) in &by_source {
            let known: Option<Vec<i64>> = ports.iter().copied().collect();
            let (from, to) = match known {
                Some(ports) => (ports.iter().min().copied(), ports.iter().max().copied()),
                None => (Some(0), Some(65_535)),
            };
            add(protocol, source, from.unwrap_or(0), to.unwrap_or(65_535));
        }
        for (protocol, range, port) in &ranges {
            add(protocol, range, port.unwrap_or(0), port.unwrap_or(65_535));
        }
    }
    rules
}
