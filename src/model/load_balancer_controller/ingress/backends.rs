//! Target groups of the backends of Ingresses.
//! Source: aws-load-balancer-controller `pkg/ingress/model_build_target_group.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::kubernetes::{Object, Service, ServicePort};

use super::{Annotations, Decision, HealthCheck, Member, PREFIX, Request, Stop, default_health, service};
use crate::model::names;

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
    pub(super) node_labels: BTreeMap<String, String>,
}

/// A reference to a port of a Service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    service: String,
    /// Number or name.
    port: String,
}

impl Request<'_> {
    /// Target groups, in the order of the members and their rules; `None` if a Service was not given.
    pub(super) fn backends(&self, decision: &mut Decision, is_dual_stack: bool) -> Result<Option<Vec<Backend>>, Stop> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for member in &self.group.members {
            for reference in references(member.object) {
                let namespace = &member.name.namespace;
                if !seen.insert((namespace.clone(), member.name.name.clone(), reference.clone())) {
                    continue;
                }
                // An action of an annotation, such as a redirect.
                if reference.port == "use-annotation" {
                    continue;
                }
                let Some(service) = service(self.world.evidence, namespace, &reference.service) else {
                    let reason = format!("the Service `{namespace}/{}` was not given", reference.service);
                    decision.note_unknown("targets", reason);
                    return Ok(None);
                };
                found.push(self.backend(member, service, &reference, is_dual_stack)?);
            }
        }
        Ok(Some(found))
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
        let annotations = Annotations { all: &merged, prefix: PREFIX };
        let default = self.config.flag("default-target-type").unwrap_or("instance");
        let of_class = member.parameter(&["spec", "targetType"]);
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
        let health = health_check(annotations, service, target_type, protocol)?;
        if service.ip_families.iter().any(|family| family == "IPv6") && !is_dual_stack {
            return Stop::error("unsupported IPv6 configuration, lb not dual-stack");
        }
        let target_port =
            if target_type == "instance" { port.node_port.unwrap_or(0) } else { port.target_port.unwrap_or(1) };
        if target_port == 0 {
            return Stop::error(
                "TargetGroup port is empty. When using Instance targets, your service be must of type 'NodePort' or 'LoadBalancer'",
            );
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
            node_labels: annotations.map("target-node-labels")?,
        })
    }
}

/// Backends of an Ingress: those of its rules, then the default one.
fn references(object: Object<'_>) -> Vec<Reference> {
    let read = |backend: Object<'_>| {
        let port = backend.at(&["service", "port"])?;
        let number = port.number(&["number"]).map(|number| number.to_string());
        Some(Reference {
            service: backend.text(&["service", "name"])?.to_owned(),
            port: number.or_else(|| port.text(&["name"]).map(str::to_owned))?,
        })
    };
    let mut found = Vec::new();
    for rule in object.items(&["spec", "rules"]) {
        found.extend(rule.items(&["http", "paths"]).filter_map(|path| read(path.at(&["backend"])?)));
    }
    found.extend(object.at(&["spec", "defaultBackend"]).and_then(read));
    found
}

fn health_check(
    annotations: Annotations<'_>,
    service: &Service,
    target_type: &str,
    protocol: &str,
) -> Result<HealthCheck, Stop> {
    let mut health = default_health(protocol);
    if let Some(raw) = annotations.get("healthcheck-port") {
        let is_usable = raw == "traffic-port" || raw.parse::<i64>().is_ok();
        let named = service.ports.iter().find(|port| port.name == raw);
        let number = named.and_then(|port| if target_type == "instance" { port.node_port } else { port.target_port });
        health.port = match (is_usable, named, number) {
            (true, ..) => Some(raw.to_owned()),
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
            return Stop::error(format!("healthCheckProtocol must be within [HTTP, HTTPS]: {raw}"));
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
    Ok(health)
}
