//! Ports of a load balancer.
//! Source: aws-load-balancer-controller `pkg/ingress/model_build_listener.go#computeIngressListenPortConfigByPort`,
//! `#computeIngressListenPorts`, `#computeIngressExplicitInboundCIDRs`, `model_builder.go#mergeListenPortConfigs`.

use std::collections::BTreeMap;

use super::{Member, Request, Stop};
use crate::model::annotations::go_list;
use crate::model::decision::Decision;

/// A port of the load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) port: i64,
    protocol: String,
    /// Sorted.
    pub(super) ranges: Vec<String>,
    /// Sorted.
    pub(super) prefix_lists: Vec<String>,
}

impl Request<'_> {
    /// Ports of the load balancer, by number.
    pub(super) fn listeners(&self, decision: &mut Decision) -> Result<Vec<Listener>, Stop> {
        let mut by_port: BTreeMap<i64, Vec<(String, Listener)>> = BTreeMap::new();
        for member in &self.group.members {
            let name = format!("{}/{}", member.name.namespace, member.name.name);
            let own = listeners_of(member, decision).map_err(|stop| match stop {
                Stop::Error(message) => Stop::Error(format!("ingress: {name}: {message}")),
                Stop::Unknown(_) => stop,
            })?;
            for listener in own {
                by_port.entry(listener.port).or_default().push((name.clone(), listener));
            }
        }
        let mut merged = Vec::new();
        for (port, all) in by_port {
            let one = merge(all).map_err(|stop| match stop {
                Stop::Error(message) => {
                    Stop::Error(format!("failed to merge listenPort config for port: {port}: {message}"))
                }
                Stop::Unknown(_) => stop,
            })?;
            merged.extend(one);
        }
        Ok(merged)
    }
}

fn listeners_of(member: &Member<'_>, decision: &mut Decision) -> Result<Vec<Listener>, Stop> {
    let annotations = member.annotations();
    let of_class = |path: &[&str]| -> Vec<String> {
        let parameters = member.parameters.iter();
        parameters.flat_map(|one| one.items(path)).filter_map(|item| item.node.as_str().map(str::to_owned)).collect()
    };
    let own_or = |own: Vec<String>, suffix: &str| {
        if own.is_empty() { annotations.list(suffix).unwrap_or_default() } else { own }
    };
    let mut prefix_lists = own_or(of_class(&["spec", "prefixListsIDs"]), "security-group-prefix-lists");
    let mut ranges = own_or(of_class(&["spec", "inboundCIDRs"]), "inbound-cidrs");
    if let Some(wrong) = ranges.iter().find(|range| range.parse::<ipnet::IpNet>().is_err()) {
        return Stop::error(format!(
            "invalid alb.ingress.kubernetes.io/inbound-cidrs settings on Ingress: {}/{}: invalid CIDR address: {wrong}",
            member.name.namespace, member.name.name
        ));
    }
    if ranges.is_empty() && prefix_lists.is_empty() {
        ranges = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    }
    ranges.sort();
    prefix_lists.sort();
    let has_certificate = !own_or(of_class(&["spec", "certificateArn"]), "certificate-arn").is_empty();
    let ports = ports(annotations.get("listen-ports"), has_certificate)?;
    if ports.values().any(|protocol| protocol == "HTTPS") && !has_certificate {
        decision.note_unknown("error", "the certificates of HTTPS are discovered in ACM, which was not read");
    }
    let listener =
        |(port, protocol)| Listener { port, protocol, ranges: ranges.clone(), prefix_lists: prefix_lists.clone() };
    Ok(ports.into_iter().map(listener).collect())
}

/// Ports with their protocols.
fn ports(raw: Option<&str>, has_certificate: bool) -> Result<BTreeMap<i64, String>, Stop> {
    let Some(raw) = raw else {
        let (port, protocol) = if has_certificate { (443, "HTTPS") } else { (80, "HTTP") };
        return Ok(BTreeMap::from([(port, protocol.to_owned())]));
    };
    let entries: Vec<BTreeMap<String, i64>> = match serde_json::from_str(raw) {
        Ok(entries) => entries,
        Err(error) => {
            return Stop::error(format!("failed to parse listen-ports configuration: `{raw}`: {error}"));
        }
    };
    if entries.is_empty() {
        return Stop::error(format!("empty listen-ports configuration: `{raw}`"));
    }
    let mut ports = BTreeMap::new();
    for (protocol, port) in entries.into_iter().flatten() {
        if !(1..=65_535).contains(&port) {
            return Stop::error(format!("listen port must be within [1, 65535]: {port}"));
        }
        if !matches!(protocol.as_str(), "HTTP" | "HTTPS") {
            return Stop::error(format!("listen protocol must be within [HTTP, HTTPS]: {protocol}"));
        }
        ports.insert(port, protocol);
    }
    Ok(ports)
}

/// The port that several Ingresses share.
fn merge(all: Vec<(String, Listener)>) -> Result<Option<Listener>, Stop> {
    let mut all = all.into_iter();
    let Some((first_name, mut first)) = all.next() else { return Ok(None) };
    for (name, other) in all {
        if other.protocol != first.protocol {
            return Stop::error(format!(
                "conflicting protocol, {first_name}: {} | {name}: {}",
                first.protocol, other.protocol
            ));
        }
        let (v4, v6) = families(&first.ranges);
        if first.ranges.is_empty() {
            first.ranges.clone_from(&other.ranges);
        } else if !other.ranges.is_empty() && other.ranges != first.ranges {
            let (other_v4, other_v6) = families(&other.ranges);
            return Stop::error(format!(
                "conflicting inbound-cidrs, {first_name}: {}, {} | {name}: {}, {}",
                go_list(&v4),
                go_list(&v6),
                go_list(&other_v4),
                go_list(&other_v6)
            ));
        }
        if first.prefix_lists.is_empty() {
            first.prefix_lists.clone_from(&other.prefix_lists);
        } else if !other.prefix_lists.is_empty() && other.prefix_lists != first.prefix_lists {
            return Stop::error(format!(
                "conflicting inbound-prefix-lists, {first_name}: {} | {name}: {}",
                go_list(&first.prefix_lists),
                go_list(&other.prefix_lists)
            ));
        }
    }
    Ok(Some(first))
}

fn families(ranges: &[String]) -> (Vec<String>, Vec<String>) {
    let (v6, v4) = ranges.iter().cloned().partition(|range| range.contains(':'));
    (v4, v6)
}
