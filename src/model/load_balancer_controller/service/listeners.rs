//! Target groups of a Service, one for each port, with their health checks and targets.
//! Sources: aws-load-balancer-controller `pkg/service/model_build_listener.go`, `model_build_target_group.go`.

use std::collections::{BTreeMap, BTreeSet};

use crate::controller::ControllerVersion;
use crate::kubernetes::ServicePort;

use super::{Network, Request};
use crate::model::Listener;
use crate::model::annotations::{go_list, go_quoted, parse_bool};
use crate::model::decision::{Answer, Decision, HealthCheck, Stop};
use crate::model::load_balancer_controller::groups::node_groups;
use crate::model::load_balancer_controller::node_rules::{Opening, add};
use crate::model::load_balancer_controller::targets::targets;
use crate::model::load_balancer_controller::validate_families;
use crate::model::names;
use crate::model::{HEALTH_PORT_LATER, allocated_later};

const TRAFFIC_PORT: &str = "traffic-port";

impl<'a> Request<'a> {
    /// Target groups, one for each port, then their targets and the rules of nodes.
    pub(super) fn listeners(
        &self,
        decision: &mut Decision,
        network: &Network<'_>,
        is_dual_stack: bool,
    ) -> Result<(), Stop> {
        let service = self.service;
        let (mut target_groups, mut openings) = (Vec::new(), Vec::new());
        self.check_merged_ports()?;
        self.validate_tls_ports()?;
        // A target group is that of a number: of two ports with the same number the first counts, and both are checked.
        let mut numbers = BTreeSet::new();
        for port in &service.ports {
            let is_first = numbers.insert(port.port);
            if !is_first && self.merges_ports() {
                continue;
            }
            let target_type = self.target_type(port)?;
            if port.protocol == "SCTP" {
                decision.may_fail("Elastic Load Balancing has no listeners for SCTP");
            }
            if is_first {
                decision.target_type = Answer::Is(target_type);
            }
            let (health, health_later) = self.health_check(target_type)?;
            let preserves = self.preserves_client_address(target_type, port)?;
            validate_families(service, is_dual_stack)?;
            let target_port =
                if target_type == "instance" { port.node_port.unwrap_or(0) } else { port.target_port.unwrap_or(1) };
            let is_allocated_later = target_type == "instance" && service.awaits_node_port(port);
            if is_allocated_later && is_first {
                decision.note_unknown("rules", allocated_later(port));
                decision.rules = Answer::Unknown;
                decision.target_groups = Answer::Unknown;
            } else if !is_allocated_later {
                self.config.validate_target_port(target_port, target_type)?;
            }
            let protocol = self.target_protocol(port);
            self.check_alpn_policy(port)?;
            if !is_first {
                continue;
            }
            target_groups.push(self.target_group_name(target_type, target_port, port, protocol, &health));
            let opened = self.openings(network, target_port, protocol, &health, preserves)?;
            if let Some(opened) = opened {
                openings.extend(opened);
            } else {
                decision.note_unknown(
                    "rules",
                    "the ranges of the subnets or of the VPC are not in the inventory: record it again",
                );
                decision.rules = Answer::Unknown;
            }
            if let Some(reason) = health_later {
                for field in ["health_check", "rules"] {
                    decision.note_unknown(field, reason.clone());
                }
                (decision.health_check, decision.rules) = (Answer::Unknown, Answer::Unknown);
            } else {
                decision.health_check = Answer::Is(health);
            }
        }
        // Since v2.10.
        if self.config.is_since(2, 10) {
            self.annotations.switch("aws-load-balancer-multi-cluster-target-group")?;
        }
        if decision.target_groups != Answer::Unknown && !service.uid.is_empty() {
            decision.target_groups = Answer::Is(target_groups);
        } else {
            decision.target_groups = Answer::Unknown;
        }
        decision.created = true;
        if decision.target_type == Answer::Is("ip") {
            decision.has_pods(!openings.is_empty());
            return Ok(());
        }
        // Targets of type ip are not selected by labels.
        let wanted = self.annotations.map("aws-load-balancer-target-node-labels")?;
        self.bind(decision, &wanted, &openings)
    }

    /// True if a TCP and a UDP port of the same number share a listener. Since v2.13, and a value that does not
    /// parse is passed over.
    /// Source: `pkg/service/model_build_listener.go#shouldUseTCPUDP`.
    pub(super) fn merges_ports(&self) -> bool {
        let value = self.annotations.get("aws-load-balancer-enable-tcp-udp-listener").and_then(parse_bool);
        self.config.is_since(2, 13) && value.unwrap_or_else(|| self.config.gate("EnableTCPUDPListener", false))
    }

    /// The ports that share the listener of a port, that one included.
    fn merged(&self, port: &ServicePort) -> Vec<&'a ServicePort> {
        self.service.ports.iter().filter(|one| one.port == port.port).collect()
    }

    /// Source: `pkg/service/model_build_listener.go#validateMultiProtocolUsage`.
    fn check_merged_ports(&self) -> Result<(), Stop> {
        if !self.merges_ports() {
            return Ok(());
        }
        for port in &self.service.ports {
            match *self.merged(port) {
                [] | [_] => {}
                [first, second] => {
                    let others = [first, second].map(|one| one.protocol.as_str());
                    if let Some(other) = others.iter().find(|one| !matches!(**one, "TCP" | "UDP")) {
                        return Stop::error(format!("unsupported protocol for merging: {other}"));
                    }
                    if first.protocol == second.protocol {
                        return Stop::error(format!("protocols can't match for merging: {}", first.protocol));
                    }
                }
                // The text has all that the API server holds of each port.
                _ => return Stop::unknown("error", format!("more than two ports have the number {}", port.port)),
            }
        }
        Ok(())
    }

    /// Every port with TLS must be one of the Service. Since v2.5.
    /// Source: `pkg/service/model_build_listener.go#validateTLSPortsSet`.
    fn validate_tls_ports(&self) -> Result<(), Stop> {
        let is_used = |named: &String| {
            self.service.ports.iter().any(|port| port.name == *named || port.port.to_string() == *named)
        };
        let listed = self.annotations.list("aws-load-balancer-ssl-ports").unwrap_or_default();
        let unused: Vec<String> = listed.into_iter().filter(|named| !is_used(named)).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Stop::error(format!("Unused port in ssl-ports annotation {}", go_list(&unused)))
    }

    /// The `TargetGroupBindings`: targets, and the rules of their groups.
    fn bind(
        &self,
        decision: &mut Decision,
        wanted: &BTreeMap<String, String>,
        openings: &[Opening],
    ) -> Result<(), Stop> {
        decision
            .step("targets", "aws-load-balancer-controller pkg/backend/endpoint_resolver.go#ResolveNodePortEndpoints");
        let Some(ids) = targets(self.world, self.config, wanted, decision)? else { return Ok(()) };
        decision.step(
            "node_groups",
            "aws-load-balancer-controller pkg/networking/networking_manager.go#resolveEndpointSGForENI",
        );
        let is_managed = !openings.is_empty();
        let groups = if is_managed { node_groups(self.world, self.config, &ids, decision)? } else { Vec::new() };
        if decision.rules != Answer::Unknown {
            add(self.world, decision, &groups, openings);
        }
        decision.node_groups = Answer::Is(groups);
        decision.targets = Answer::Is(ids);
        Ok(())
    }

    fn target_type(&self, port: &ServicePort) -> Result<&'static str, Stop> {
        let default = self.config.flag("default-target-type").unwrap_or("instance");
        let wanted = self.annotations.get("aws-load-balancer-nlb-target-type").unwrap_or(default);
        if wanted == "ip" && !self.config.gate("EnableIPTargetType", true) {
            return Stop::error("unsupported targetType: ip when EnableIPTargetType is false");
        }
        if wanted == "ip" || self.annotations.get("aws-load-balancer-type") == Some("nlb-ip") {
            return Ok("ip");
        }
        if self.service.service_type == "ClusterIP" {
            return Stop::error(format!(
                "unsupported service type \"ClusterIP\" for load balancer target type \"{wanted}\""
            ));
        }
        if port.node_port.is_none() && self.service.is_without_node_ports {
            return Stop::error("unable to support instance target type with an unallocated NodePort");
        }
        Ok("instance")
    }

    /// The health check of the target groups, and the reason for which its port is not known yet.
    fn health_check(&self, target_type: &str) -> Result<(HealthCheck, Option<String>), Stop> {
        let service = self.service;
        let is_local = target_type == "instance" && service.is_local && service.is_load_balancer();
        let (protocol, port, path, [interval, timeout, threshold]) = if is_local {
            let port = service.health_check_node_port.unwrap_or(0).to_string();
            ("HTTP", port, "/healthz", [10, 6, 2])
        } else {
            ("TCP", TRAFFIC_PORT.to_owned(), "/", [10, 10, 3])
        };
        let raw = self.annotations.get("aws-load-balancer-healthcheck-protocol").unwrap_or(protocol);
        let protocol = raw.to_uppercase();
        if !matches!(protocol.as_str(), "TCP" | "HTTP" | "HTTPS") {
            return Stop::error(format!("unsupported health check protocol {raw}"));
        }
        let path = self.annotations.get("aws-load-balancer-healthcheck-path").unwrap_or(path);
        let named = self.annotations.get("aws-load-balancer-healthcheck-port");
        let later = match named {
            None => (is_local && service.awaits_health_check_node_port()).then(|| HEALTH_PORT_LATER.to_owned()),
            Some(named) if target_type == "instance" => {
                let port = service.ports.iter().find(|port| port.name == named && service.awaits_node_port(port));
                port.map(allocated_later)
            }
            Some(_) => None,
        };
        let port = self.health_check_port(port, target_type)?;
        let number = |suffix: &str, default: i64| Ok(self.annotations.number(suffix)?.unwrap_or(default));
        let interval = number("aws-load-balancer-healthcheck-interval", interval)?;
        let timeout = if self.config.gate("NLBHealthCheckAdvancedConfig", true) {
            number("aws-load-balancer-healthcheck-timeout", timeout)?
        } else {
            timeout
        };
        let health = HealthCheck {
            target: None,
            path: (protocol != "TCP").then(|| path.to_owned()),
            protocol: Some(protocol),
            port: Some(port),
            interval,
            timeout,
            healthy: number("aws-load-balancer-healthcheck-healthy-threshold", threshold)?,
            unhealthy: number("aws-load-balancer-healthcheck-unhealthy-threshold", threshold)?,
        };
        Ok((health, later))
    }

    fn health_check_port(&self, default: String, target_type: &str) -> Result<String, Stop> {
        let raw = self.annotations.get("aws-load-balancer-healthcheck-port").map_or(default, str::to_owned);
        if raw == TRAFFIC_PORT || raw.parse::<i64>().is_ok() {
            return Ok(raw);
        }
        // Names are read since v2.6.2.
        if self.config.version < ControllerVersion::new(2, 6, 2) {
            return Stop::error(format!("health check port {} not supported", go_quoted(&raw)));
        }
        let Some(port) = self.service.ports.iter().find(|port| port.name == raw) else {
            return Stop::error(format!(
                "failed to resolve healthCheckPort: unable to find port {raw} on service {}",
                self.service.full_name()
            ));
        };
        let number = if target_type == "instance" { port.node_port.or(Some(0)) } else { port.target_port };
        match number {
            Some(number) => Ok(number.to_string()),
            None => Stop::error(
                "cannot use named healthCheckPort for IP TargetType when service's targetPort is a named port",
            ),
        }
    }

    /// True if targets see the addresses of the clients: `#buildPreserveClientIPFlag`.
    fn preserves_client_address(&self, target_type: &str, port: &ServicePort) -> Result<bool, Stop> {
        const PRESERVE: &str = "preserve_client_ip.enabled";
        let suffix = "aws-load-balancer-target-group-attributes";
        let parse = |raw: &String| match parse_bool(raw) {
            Some(value) => Ok(value),
            None => Stop::error(format!(
                "failed to parse attribute {PRESERVE}={raw}: strconv.ParseBool: parsing {}: invalid syntax",
                go_quoted(raw)
            )),
        };
        let mut attributes = self.annotations.map(suffix)?;
        // Those of a port exist since v2.14: both maps are checked, and an empty value changes nothing.
        if self.config.is_since(2, 14) {
            attributes.get(PRESERVE).map(parse).transpose()?;
            let of_port = self.annotations.map(&format!("{suffix}.{}", port.port))?;
            of_port.get(PRESERVE).map(parse).transpose()?;
            attributes.extend(of_port.into_iter().filter(|(_, value)| !value.is_empty()));
        }
        self.check_proxy_protocol()?;
        if let Some(raw) = attributes.get(PRESERVE) {
            return parse(raw);
        }
        Ok(target_type == "instance")
    }

    /// Source: `pkg/service/model_build_target_group.go#buildTargetGroupAttributes`.
    fn check_proxy_protocol(&self) -> Result<(), Stop> {
        // Since v2.8.
        let of_ports = self.annotations.get("aws-load-balancer-proxy-protocol-per-target-group");
        let of_ports = of_ports.filter(|_| self.config.is_since(2, 8)).unwrap_or_default();
        let mut ports = of_ports.split(',').map(str::trim).filter(|one| !one.is_empty());
        if let Some(other) = ports.find(|one| one.parse::<i64>().is_err()) {
            return Stop::error(format!("invalid port number in proxy-protocol-per-target-group: {other}"));
        }
        let suffix = "aws-load-balancer-proxy-protocol";
        if let Some(raw) = self.annotations.get(suffix).filter(|raw| *raw != "*") {
            return Stop::error(format!(
                "invalid value {raw} for Load Balancer proxy protocol v2 annotation, only value currently supported is *"
            ));
        }
        Ok(())
    }

    /// Source: `pkg/service/model_build_listener.go#buildListenerALPNPolicy`.
    fn check_alpn_policy(&self, port: &ServicePort) -> Result<(), Stop> {
        const POLICIES: [&str; 5] = ["None", "HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred"];
        let policy = self.annotations.get("aws-load-balancer-alpn-policy");
        match policy.filter(|policy| self.is_tls_listener(port) && !POLICIES.contains(policy)) {
            Some(other) => {
                Stop::error(format!("invalid ALPN policy {other}, policy must be one of [{}]", POLICIES.join(", ")))
            }
            None => Ok(()),
        }
    }

    /// True if the listener of a port has TLS.
    fn is_tls_listener(&self, port: &ServicePort) -> bool {
        if self.merges_ports() && self.merged(port).len() > 1 {
            return false;
        }
        let certificates = self.annotations.list("aws-load-balancer-ssl-cert").unwrap_or_default();
        let ports = self.annotations.list("aws-load-balancer-ssl-ports").unwrap_or_default();
        let is_listed = |one: &String| *one == port.name || *one == port.port.to_string();
        port.protocol != "UDP" && !certificates.is_empty() && (ports.is_empty() || ports.iter().any(is_listed))
    }

    /// The listeners that the Service asks for. Of two ports with the same number the first counts.
    pub(super) fn asked_listeners(&self) -> Vec<Listener> {
        let mut numbers = BTreeSet::new();
        let ports = self.service.ports.iter().filter(|port| numbers.insert(port.port));
        let listeners = ports.map(|port| {
            let target_port = match self.target_type(port) {
                Ok("instance") => port.node_port,
                Ok(_) => port.target_port,
                Err(_) => None,
            };
            self.listener(port, self.target_protocol(port), target_port)
        });
        listeners.collect()
    }

    /// Source: `pkg/service/model_build_listener.go#buildListenerSpec`.
    fn listener(&self, port: &ServicePort, target_protocol: &str, target_port: Option<i64>) -> Listener {
        let plain = Listener {
            target_port,
            target_protocol: Some(target_protocol.to_owned()),
            ..Listener::new(port.port, target_protocol)
        };
        if !self.is_tls_listener(port) {
            return plain;
        }
        let policy = self.annotations.get("aws-load-balancer-ssl-negotiation-policy");
        Listener {
            protocol: "TLS".to_owned(),
            certificates: self.annotations.list("aws-load-balancer-ssl-cert").unwrap_or_default(),
            ssl_policy: policy.map(str::to_owned),
            ..plain
        }
    }

    /// The protocol of a target group.
    fn target_protocol(&self, port: &'a ServicePort) -> &'a str {
        if self.merges_ports() && self.merged(port).len() > 1 {
            return "TCP_UDP";
        }
        let is_ssl = self.annotations.get("aws-load-balancer-backend-protocol") == Some("ssl");
        if is_ssl && self.is_tls_listener(port) { "TLS" } else { &port.protocol }
    }

    fn target_group_name(
        &self,
        target_type: &str,
        target_port: i64,
        port: &ServicePort,
        protocol: &str,
        health: &HealthCheck,
    ) -> String {
        let service = self.service;
        let hash = names::sha256(&[
            self.config.cluster_name,
            &service.uid,
            &target_port.to_string(),
            &port.port.to_string(),
            target_type,
            protocol,
            health.protocol.as_deref().unwrap_or("TCP"),
            &health.interval.to_string(),
        ]);
        names::of_object(&service.namespace, &service.name, &hash)
    }
}
