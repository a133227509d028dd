//! Rules of the nodes' groups.
//! Sources: aws-load-balancer-controller `pkg/service/model_build_target_group.go#buildTargetGroupBindingNetworking`,
//! `#buildTargetGroupBindingNetworkingLegacy`,
//! `pkg/networking/networking_manager.go#computeRestrictedIngressPermissionsPerSG`.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::decision::IngressRule;

/// Description of the rules.
pub(super) const DESCRIPTION: &str = "elbv2.k8s.aws/targetGroupBinding=shared";

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

/// Rules for these openings: for each group as a source and each protocol one rule, from the lowest to the highest port.
pub(super) fn rules(groups: &[String], openings: &[Opening]) -> Vec<IngressRule> {
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
