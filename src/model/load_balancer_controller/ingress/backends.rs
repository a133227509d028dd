//! Target groups of the backends of Ingresses.
//! Source: aws-load-balancer-controller `pkg/ingress/model_build_target_group.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::kubernetes::{Object, Service, ServicePort};

use super::actions::{Reference, references};
use super::listeners::Listener;
use super::{Annotations, Decision, HealthCheck, Member, ObjectName, PREFIX, Request, Stop, default_health, service};
use crate::model::allocated_later;
use crate::model::annotations::go_list;
use crate::model::names;

/// Annotations that count on the Service of a backend too, with which the controller can fail, and that are not modelled.
/// Source: `pkg/ingress/enhanced_backend_builder.go#buildAuthConfig`, `model_build_target_group.go`.
const OF_BACKENDS: [&str; 2] = ["auth-", "target-control-port."];

/// A target group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) name: String,
    /// False if the name lacks the uid of the Service.
    pub(super) has_uid: bool,
    pub(super) target_type: &'static str,
    /// Node port of instances.
    pub(super) port: i64,
    pub(super) health: HealthCheck,
    /// The reason for which the port is not known yet.
    pub(super) later: Option<String>,
    /// The reason for which the port of the health check is not known yet.
    pub(super) health_later: Option<String>,
    pub(super) node_labels: BTreeMap<String, String>,
}

impl Request<'_> {
    /// Target groups of the listeners; `None` if a Service was not given.
    pub(super) fn backends(
        &self,
        decision: &mut Decision,
        listeners: &[Listener],
        redirects: bool,
        is_dual_stack: bool,
    ) -> Result<Option<Vec<Backend>>, Stop> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        // A redirect takes the place of all backends of HTTP.
        for listener in listeners.iter().filter(|listener| !(redirects && listener.protocol == "HTTP")) {
            let members = listener.members.iter().filter_map(|place| self.group.members.get(*place));
            let members: Vec<&Member<'_>> = members.collect();
            for (member, reference, is_of_rule) in self.references(&members)? {
                let ObjectName { namespace, name, .. } = &member.name;
                if !seen.insert((namespace, name, reference.clone())) {
                    continue;
                }
                let Some(service) = service(self.world.evidence, namespace, &reference.service) else {
                    let reason = format!("the Service `{namespace}/{}` was not given", reference.service);
                    decision.note_unknown("targets", reason.clone());
                    decision.may_fail(reason);
                    return Ok(None);
                };
                let own = service.annotations.keys().filter_map(|key| key.strip_prefix(PREFIX));
                for suffix in own.filter(|suffix| OF_BACKENDS.iter().any(|one| suffix.starts_with(one))) {
                    decision.is_not_modelled(&format!("{PREFIX}{suffix}"));
                }
                let backend = self.backend(member, service, &reference, is_dual_stack);
                let backend = if is_of_rule { backend.map_err(|stop| of_ingress(member, stop)) } else { backend };
                found.push(backend?);
            }
        }
        Ok(Some(found))
    }

    /// Ports of Services behind a listener: the default backend, then the paths of the rules.
    fn references<'m>(&self, members: &[&'m Member<'m>]) -> Result<Vec<(&'m Member<'m>, Reference, bool)>, Stop> {
        let read = |member: &'m Member<'m>, backend: Object<'_>, is_of_rule: bool| {
            let found = references(self.config, member.annotations(), backend)?;
            Ok(found.into_iter().map(move |reference| (member, reference, is_of_rule)))
        };
        let default = |member: &'m Member<'m>| member.object.at(&["spec", "defaultBackend"]).map(|one| (member, one));
        let defaults: Vec<(&'m Member<'m>, Object<'_>)> = members.iter().filter_map(|member| default(member)).collect();
        if defaults.len() > 1 {
            let names = defaults.iter().map(|(member, _)| format!("{}/{}", member.name.namespace, member.name.name));
            let names: Vec<String> = names.collect();
            return Stop::error(format!("multiple ingress defined default backend: {}", go_list(&names)));
        }
        let mut found = Vec::new();
        for (member, backend) in defaults {
            found.extend(read(member, backend, false)?);
        }
        for member in members {
            let of_member = |stop| of_ingress(member, stop);
            for rule in member.object.items(&["spec", "rules"]) {
                let mut paths: Vec<Object<'_>> = rule.items(&["http", "paths"]).collect();
                paths.sort_by_key(order);
                for path in paths {
                    let Some(backend) = path.at(&["backend"]) else { continue };
                    found.extend(read(member, backend, true).map_err(of_member)?);
                    validate_path(path).map_err(of_member)?;
                }
            }
        }
        Ok(found)
    }

    fn backend(
        &self,
        member: &Member<'_>,
        service: &Service,
        reference: &Reference,
        is_dual_stack: bool,
    ) -> Result<Backend, Stop> {
        let is_it = |port: &&ServicePort| port.name == reference.port || port.port.to_string() == reference.port;
        let Some(port) = service.ports.iter().find(is_it) else {
            return Stop::error(format!("unable to find port {} on service {}", reference.port, service.full_name()));
        };
        // Those of the Service have precedence.
        let mut merged = member.annotations.clone();
        merged.extend(service.annotations.iter().map(|(key, value)| (key.clone(), value.clone())));
        let annotations = Annotations { all: &merged, prefix: PREFIX, has_escapes: self.config.has_escapes() };
        let default = self.config.flag("default-target-type").unwrap_or("instance");
        // Since v2.13.
        let of_class = member.parameter(&["spec", "targetType"]).filter(|_| self.config.is_since(2, 13));
        let target_type = match of_class.or_else(|| annotations.get("target-type")).unwrap_or(default) {
            "instance" => "instance",
            "ip" if self.config.gate("EnableIPTargetType", true) => "ip",
            "ip" => return Stop::error("unsupported targetType: ip when EnableIPTargetType is false"),
            other => return Stop::error(format!("unknown targetType: {other}")),
        };
        let protocol = match annotations.get("backend-protocol").unwrap_or("HTTP") {
            known @ ("HTTP" | "HTTPS") => known,
            other => return Stop::error(format!("backend protocol must be within [HTTP, HTTPS]: {other}")),
        };
        let version = match annotations.get("backend-protocol-version").unwrap_or("HTTP1") {
            known @ ("HTTP1" | "HTTP2" | "GRPC") => known,
            other => {
                return Stop::error(format!("backend protocol version must be within [HTTP1, HTTP2, GRPC]: {other}"));
            }
        };
        let (health, health_later) =
            health_check(annotations, service, target_type, default_health(protocol, version))?;
        annotations.map("target-group-attributes")?;
        for own in [&member.annotations, &service.annotations] {
            Annotations { all: own, prefix: PREFIX, has_escapes: self.config.has_escapes() }.map("tags")?;
        }
        // Since v2.10.
        if self.config.is_since(2, 10) {
            let has_escapes = self.config.has_escapes();
            let own = Annotations { all: &member.annotations, prefix: PREFIX, has_escapes };
            // The Service is read only where the Ingress does not switch it on.
            if own.switch("multi-cluster-target-group")? != Some(true) {
                Annotations { all: &service.annotations, ..own }.switch("multi-cluster-target-group")?;
            }
        }
        super::super::validate_families(service, is_dual_stack)?;
        let target_port =
            if target_type == "instance" { port.node_port.unwrap_or(0) } else { port.target_port.unwrap_or(1) };
        let later = (target_type == "instance" && service.awaits_node_port(port)).then(|| allocated_later(port));
        if later.is_none() {
            self.config.validate_target_port(target_port, target_type)?;
        }
        let hash = names::sha256(&[
            self.config.cluster_name,
            &self.group.id(),
            &member.name.namespace,
            &member.name.name,
            &service.uid,
            &reference.port,
            &target_port.to_string(),
            target_type,
            protocol,
            version,
        ]);
        Ok(Backend {
            name: names::of_object(&member.name.namespace, &service.name, &hash),
            has_uid: !service.uid.is_empty(),
            target_type,
            port: target_port,
            health,
            later,
            health_later,
            // Targets of type ip are not selected by labels.
            node_labels: if target_type == "instance" {
                annotations.map("target-node-labels")?
            } else {
                BTreeMap::new()
            },
        })
    }
}

/// Exact paths first, then prefixes, the longest first, then all others.
/// Source: `pkg/ingress/model_build_listener_rules.go#sortIngressPaths`.
fn order(path: &Object<'_>) -> (u8, std::cmp::Reverse<usize>) {
    match path.text(&["pathType"]) {
        Some("Exact") => (0, std::cmp::Reverse(0)),
        Some("Prefix") => (1, std::cmp::Reverse(path.text(&["path"]).unwrap_or_default().len())),
        _ => (2, std::cmp::Reverse(0)),
    }
}

/// An error of a rule, with the name of the Ingress.
fn of_ingress(member: &Member<'_>, stop: Stop) -> Stop {
    match stop {
        Stop::Error(message) => {
            Stop::Error(format!("ingress: {}/{}: {message}", member.name.namespace, member.name.name))
        }
        Stop::Unknown(_) => stop,
    }
}

/// Paths of exact and prefix rules have no wildcards.
/// Source: `pkg/ingress/model_build_listener_rules.go#buildPathPatterns`.
fn validate_path(rule: Object<'_>) -> Result<(), Stop> {
    let path = rule.text(&["path"]).unwrap_or_default();
    let has_wildcard = path.contains(['*', '?']);
    match rule.text(&["pathType"]) {
        Some("Exact") if has_wildcard => Stop::error(format!("exact path shouldn't contain wildcards: {path}")),
        Some("Prefix") if has_wildcard => Stop::error(format!("prefix path shouldn't contain wildcards: {path}")),
        _ => Ok(()),
    }
}

fn health_check(
    annotations: Annotations<'_>,
    service: &Service,
    target_type: &str,
    mut health: HealthCheck,
) -> Result<(HealthCheck, Option<String>), Stop> {
    let mut later = None;
    if let Some(raw) = annotations.get("healthcheck-port") {
        let is_usable = raw == "traffic-port" || raw.parse::<i64>().is_ok();
        let named = service.ports.iter().find(|port| port.name == raw);
        let number = named.and_then(|port| if target_type == "instance" { port.node_port } else { port.target_port });
        health.port = match (is_usable, named, number) {
            (true, ..) => Some(raw.to_owned()),
            (false, Some(port), None) if target_type == "instance" => {
                later = service.awaits_node_port(port).then(|| allocated_later(port));
                Some("0".to_owned())
            }
            (false, Some(_), Some(number)) => Some(number.to_string()),
            (false, Some(_), None) => {
                return Stop::error(
                    "cannot use named healthCheckPort for IP TargetType when service's targetPort is a named port",
                );
            }
            (false, None, _) => {
                return Stop::error(format!(
                    "failed to resolve healthCheckPort: unable to find port {raw} on service {}",
                    service.full_name()
                ));
            }
        };
    }
    if let Some(raw) = annotations.get("healthcheck-protocol") {
        if !matches!(raw, "HTTP" | "HTTPS") {
            return Stop::error("healthCheckProtocol must be within [HTTP, HTTPS]");
        }
        health.protocol = Some(raw.to_owned());
    }
    if let Some(path) = annotations.get("healthcheck-path") {
        health.path = Some(path.to_owned());
    }
    let number = |suffix: &str, default: i64| Ok(annotations.number(suffix)?.unwrap_or(default));
    health.interval = number("healthcheck-interval-seconds", health.interval)?;
    health.timeout = number("healthcheck-timeout-seconds", health.timeout)?;
    health.healthy = number("healthy-threshold-count", health.healthy)?;
    health.unhealthy = number("unhealthy-threshold-count", health.unhealthy)?;
    Ok((health, later))
}
