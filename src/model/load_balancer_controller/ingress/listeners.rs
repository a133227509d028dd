//! Ports of a load balancer.
//! Source: aws-load-balancer-controller `pkg/ingress/model_build_listener.go#computeIngressListenPortConfigByPort`,
//! `#computeIngressListenPorts`, `#computeIngressExplicitInboundCIDRs`, `model_builder.go#mergeListenPortConfigs`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Member, Request, Stop};
use crate::model::annotations::{go_json_error, go_list};
use crate::model::decision::Decision;

/// A port of the load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) port: i64,
    pub(super) protocol: String,
    /// The policy of HTTPS, if an Ingress or a class sets one.
    pub(super) ssl_policy: Option<String>,
    /// Certificates that an Ingress or a class names, the default one first. Without any, they are discovered.
    pub(super) certificates: Vec<String>,
    /// Ingresses that listen on it, by place in the group.
    pub(super) members: Vec<usize>,
    /// Sorted.
    pub(super) ranges: Vec<String>,
    /// Sorted.
    pub(super) prefix_lists: Vec<String>,
}

impl Listener {
    /// The listener, with the port of HTTPS to which those of HTTP redirect.
    /// Source: `pkg/ingress/model_build_listener.go#buildListenerDefaultActions`.
    pub(super) fn decided(&self, redirect: Option<i64>) -> crate::model::Listener {
        crate::model::Listener {
            certificates: self.certificates.clone(),
            ssl_policy: self.ssl_policy.clone(),
            redirects_to: redirect.filter(|_| self.protocol == "HTTP"),
            ..crate::model::Listener::new(self.port, &self.protocol)
        }
    }
}

impl Request<'_> {
    /// Ports of the load balancer, by number.
    pub(super) fn listeners(&self, decision: &mut Decision) -> Result<Vec<Listener>, Stop> {
        let mut by_port: BTreeMap<i64, Vec<(String, Listener)>> = BTreeMap::new();
        for (place, member) in self.group.members.iter().enumerate() {
            let name = format!("{}/{}", member.name.namespace, member.name.name);
            let own = self.listeners_of(place, member, decision).map_err(|stop| match stop {
                Stop::Error(message) => Stop::Error(format!("ingress: {name}: {message}")),
                Stop::Unknown(_) => stop,
            })?;
            for listener in own {
                by_port.entry(listener.port).or_default().push((name.clone(), listener));
            }
        }
        let mut merged = Vec::new();
        for (port, all) in by_port {
            let one = merge(&all, self.config.is_since(2, 13)).map_err(|stop| match stop {
                Stop::Error(message) => {
                    Stop::Error(format!("failed to merge listenPort config for port: {port}: {message}"))
                }
                Stop::Unknown(_) => stop,
            })?;
            merged.extend(one);
        }
        Ok(merged)
    }

    fn listeners_of(&self, place: usize, member: &Member<'_>, decision: &mut Decision) -> Result<Vec<Listener>, Stop> {
        let annotations = member.annotations();
        let of_class = |field: &str| -> Vec<String> {
            let parameters = member.parameters.iter();
            let items = parameters.flat_map(|one| one.items(&["spec", field]));
            items.filter_map(|item| item.node.as_str().map(str::to_owned)).collect()
        };
        let own_or = |own: Vec<String>, suffix: &str| {
            if own.is_empty() { annotations.list(suffix).unwrap_or_default() } else { own }
        };
        // The fields of class parameters came with versions, and one was renamed.
        let mut lists = if self.config.is_since(2, 14) { of_class("prefixListsIDs") } else { Vec::new() };
        if lists.is_empty() && self.config.is_since(2, 13) {
            lists = of_class("PrefixListsIDs");
        }
        // Since v2.8.
        let mut prefix_lists =
            if self.config.is_since(2, 8) { own_or(lists, "security-group-prefix-lists") } else { Vec::new() };
        let of_class_ranges = of_class("inboundCIDRs");
        let is_of_class = !of_class_ranges.is_empty();
        let mut ranges = own_or(of_class_ranges, "inbound-cidrs");
        if let Some(wrong) = ranges.iter().find(|range| range.parse::<ipnet::IpNet>().is_err()) {
            return Stop::error(if is_of_class {
                format!("invalid CIDR in IngressClassParams InboundCIDR {wrong}: invalid CIDR address: {wrong}")
            } else {
                format!(
                    "invalid inbound-cidrs settings on Ingress: {}/{}: invalid CIDR address: {wrong}",
                    member.name.namespace, member.name.name
                )
            });
        }
        ranges.sort();
        ranges.dedup();
        prefix_lists.sort();
        prefix_lists.dedup();
        let certificates = if self.config.is_since(2, 8) { of_class("certificateArn") } else { Vec::new() };
        let certificates = own_or(certificates, "certificate-arn");
        let has_certificate = !certificates.is_empty();
        let ports = ports(annotations.get("listen-ports"), has_certificate)?;
        if ports.values().any(|protocol| protocol == "HTTPS") && !has_certificate {
            decision.may_fail("the certificates of HTTPS are discovered in ACM, which was not read");
        }
        let ssl_policy = member.parameter(&["spec", "sslPolicy"]).or_else(|| annotations.get("ssl-policy"));
        let listener = |(port, protocol): (i64, String)| Listener {
            port,
            ssl_policy: ssl_policy.filter(|_| protocol == "HTTPS").map(str::to_owned),
            certificates: if protocol == "HTTPS" { certificates.clone() } else { Vec::new() },
            protocol,
            members: vec![place],
            ranges: ranges.clone(),
            prefix_lists: prefix_lists.clone(),
        };
        Ok(ports.into_iter().map(listener).collect())
    }
}

/// A value of another type than expected, as Go prints it.
/// Source: Go `encoding/json/decode.go#UnmarshalTypeError.Error`.
struct WrongType {
    found: String,
    expected: &'static str,
}

impl std::fmt::Display for WrongType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "json: cannot unmarshal {} into Go value of type {}", self.found, self.expected)
    }
}

/// The entries of the annotation. `null` is an empty value of each type.
fn entries(value: &Value) -> Result<Vec<BTreeMap<String, i32>>, WrongType> {
    let wrong = |value: &Value, expected: &'static str| {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if expected == "int32" => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        WrongType { found, expected }
    };
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(wrong(other, "[]map[string]int32")),
    };
    let number = |value: &Value| match value {
        Value::Null => Ok(0),
        value => value.as_i64().and_then(|one| i32::try_from(one).ok()).ok_or_else(|| wrong(value, "int32")),
    };
    let entry = |value: &Value| match value {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(members) => members.iter().map(|(key, value)| Ok((key.clone(), number(value)?))).collect(),
        other => Err(wrong(other, "map[string]int32")),
    };
    items.iter().map(entry).collect()
}

/// Ports with their protocols.
fn ports(raw: Option<&str>, has_certificate: bool) -> Result<BTreeMap<i64, String>, Stop> {
    let Some(raw) = raw else {
        let (port, protocol) = if has_certificate { (443, "HTTPS") } else { (80, "HTTP") };
        return Ok(BTreeMap::from([(port, protocol.to_owned())]));
    };
    let refused = |why: String| Stop::error(format!("failed to parse listen-ports configuration: `{raw}`: {why}"));
    let entries = match serde_json::from_str(raw).map(|value| entries(&value)) {
        Ok(Ok(entries)) => entries,
        Ok(Err(wrong)) => return refused(wrong.to_string()),
        Err(_) => return refused(go_json_error(raw)),
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
        ports.insert(port.into(), protocol);
    }
    Ok(ports)
}

/// Merges the listeners of several Ingresses on one port. An Ingress without CIDR ranges or prefix lists uses those of
/// the others. Since v2.13 the default certificate can also be an SNI certificate (`repeats_default`).
fn merge(all: &[(String, Listener)], repeats_default: bool) -> Result<Option<Listener>, Stop> {
    let Some((first_name, first)) = all.first() else { return Ok(None) };
    if let Some((name, other)) = all.iter().find(|(_, other)| other.protocol != first.protocol) {
        return Stop::error(format!(
            "conflicting protocol, {first_name}: {} | {name}: {}",
            first.protocol, other.protocol
        ));
    }
    let mut merged = Listener {
        members: all.iter().flat_map(|(_, listener)| listener.members.clone()).collect(),
        ranges: shared(
            all,
            |listener| &listener.ranges,
            |name, ranges, other, others| {
                let ((v4, v6), (other_v4, other_v6)) = (families(ranges), families(others));
                format!(
                    "conflicting inbound-cidrs, {name}: {}, {} | {other}: {}, {}",
                    go_list(&v4),
                    go_list(&v6),
                    go_list(&other_v4),
                    go_list(&other_v6)
                )
            },
        )?,
        prefix_lists: shared(
            all,
            |listener| &listener.prefix_lists,
            |name, lists, other, others| {
                format!("conflicting inbound-prefix-lists, {name}: {} | {other}: {}", go_list(lists), go_list(others))
            },
        )?,
        ..first.clone()
    };
    let mut policies = all.iter().filter_map(|(name, listener)| Some((name, listener.ssl_policy.as_ref()?)));
    if let Some((name, policy)) = policies.next()
        && let Some((other, differing)) = policies.find(|(_, other)| *other != policy)
    {
        return Stop::error(format!("conflicting sslPolicy, {name}: {policy} | {other}: {differing}"));
    }
    merged.ssl_policy = all.iter().find_map(|(_, listener)| listener.ssl_policy.clone());
    // The certificates of an Ingress that names none are discovered: which one is the default is not known.
    let is_discovered = all.iter().any(|(_, listener)| listener.certificates.is_empty());
    let mut named = all.iter().flat_map(|(_, listener)| &listener.certificates).filter(|_| !is_discovered);
    merged.certificates = named.next().cloned().into_iter().collect();
    let first = if repeats_default { merged.certificates.len() } else { 0 };
    for certificate in named {
        if !merged.certificates.iter().skip(first).any(|held| held == certificate) {
            merged.certificates.push(certificate.clone());
        }
    }
    if merged.ranges.is_empty() && merged.prefix_lists.is_empty() {
        merged.ranges = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    }
    Ok(Some(merged))
}

/// The list of the Ingresses that have one, which must be the same.
fn shared(
    all: &[(String, Listener)],
    list: fn(&Listener) -> &Vec<String>,
    conflict: fn(&str, &[String], &str, &[String]) -> String,
) -> Result<Vec<String>, Stop> {
    let mut given = all.iter().map(|(name, listener)| (name, list(listener))).filter(|(_, list)| !list.is_empty());
    let Some((name, first)) = given.next() else { return Ok(Vec::new()) };
    match given.find(|(_, other)| *other != first) {
        Some((other, others)) => Stop::error(conflict(name, first, other, others)),
        None => Ok(first.clone()),
    }
}

fn families(ranges: &[String]) -> (Vec<String>, Vec<String>) {
    let (v6, v4) = ranges.iter().cloned().partition(|range| range.contains(':'));
    (v4, v6)
}
