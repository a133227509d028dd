//! Checks before anything is read from AWS.

use crate::controller::ControllerVersion;
use crate::kubernetes::Ingress;

use super::{Request, Stop};
use crate::model::annotations::{go_quoted, pairs, parse_bool};

/// Attributes of target groups that the controller knows.
const PRESERVE_CLIENT_IP: &str = "preserve_client_ip.enabled";
const PROXY_PROTOCOL: &str = "proxy_protocol_v2.enabled";

/// Attributes of a Classic Load Balancer by annotation, in the order of their checks, with their form.
const CLASSIC: [(&str, Form); 6] = [
    ("aws-load-balancer-access-log-emit-interval", Form::Number),
    ("aws-load-balancer-access-log-enabled", Form::Switch),
    ("aws-load-balancer-connection-draining-enabled", Form::Switch),
    ("aws-load-balancer-connection-draining-timeout", Form::Number),
    ("aws-load-balancer-connection-idle-timeout", Form::Number),
    ("aws-load-balancer-cross-zone-load-balancing-enabled", Form::Switch),
];

#[derive(Clone, Copy)]
enum Form {
    Number,
    Switch,
}

impl Request<'_> {
    /// Source: `pkg/providers/v1/aws_validations.go#validateServiceAnnotations`, since v1.34.0.
    pub(super) fn validate_annotations(&self) -> Result<(), Stop> {
        if self.config.is_since(36, 0) {
            self.validate_type()?;
        }
        if self.config.is_since(35, 0) && self.is_nlb {
            let own = "aws-load-balancer-security-groups";
            // Sources after v1.36.1 accept it; the newest patch of 1.36 is not one of them.
            let newest_patch = ControllerVersion::new(1, 36, u32::MAX);
            let refuses = self.config.version <= super::NEWEST || self.config.version == newest_patch;
            if self.annotation(own).is_some() && refuses {
                return Stop::error(format!("BYO security group annotation {} is not supported by NLB", self.key(own)));
            }
            let extra = "aws-load-balancer-extra-security-groups";
            if self.annotation(extra).is_some() {
                return Stop::error(format!(
                    "BYO extra security group annotation {} is not supported by NLB",
                    self.key(extra)
                ));
            }
        }
        if let Some(attributes) = self.annotation("aws-load-balancer-target-group-attributes")
            && self.validates_attributes()
        {
            if !self.is_nlb {
                let words = if self.config.is_since(35, 0) {
                    "target group attributes annotation"
                } else {
                    "target group annotations attribute"
                };
                return Stop::error(format!("{words} is only supported for NLB"));
            }
            self.validate_target_group_attributes(attributes)?;
        }
        Ok(())
    }

    /// The checks were added to patches of older releases, and one patch lacks them.
    fn validates_attributes(&self) -> bool {
        let version = self.config.version;
        let is_in = |minor, first| version.minor() == Some(minor) && self.config.is_since(minor, first);
        is_in(32, 6) || is_in(33, 3) || self.config.is_since(34, 0) && version != ControllerVersion::new(1, 34, 1)
    }

    /// The type of an existing load balancer cannot change.
    fn validate_type(&self) -> Result<(), Stop> {
        let Some(first) = self.service.ingress.first() else { return Ok(()) };
        let is_classic = matches!(first, Ingress::Hostname(name) if name.ends_with(".elb.amazonaws.com"));
        if self.is_nlb != is_classic {
            return Ok(());
        }
        let what = if self.is_nlb { "NLB" } else { "Classic Load Balancer" };
        Stop::error(format!(
            "cannot update Load Balancer Type annotation {} after creation for {what}",
            self.key("aws-load-balancer-type")
        ))
    }

    fn validate_target_group_attributes(&self, attributes: &str) -> Result<(), Stop> {
        let fail = |what: String| Stop::error(format!("error validating target group attributes: {what}"));
        for (key, value) in pairs(attributes) {
            let is_known = matches!(key.as_str(), PRESERVE_CLIENT_IP | PROXY_PROTOCOL);
            if value.is_empty() {
                return fail(format!("attribute value is empty for {}", go_quoted(&key)));
            }
            if !is_known {
                return fail(format!(
                    "the attribute {} is not supported by the controller or is invalid",
                    go_quoted(&key)
                ));
            }
            if !matches!(value.as_str(), "true" | "false") {
                return fail(format!("invalid attribute value for {}: {value}", go_quoted(&key)));
            }
            let is_udp = self.service.ports.iter().any(|port| matches!(port.protocol.as_str(), "UDP" | "TCP_UDP"));
            if key == PRESERVE_CLIENT_IP && value == "false" && is_udp {
                return fail("client IP preservation can't be disabled for UDP ports".to_owned());
            }
        }
        Ok(())
    }

    /// True if the ports have several protocols.
    fn has_mixed_protocols(&self) -> bool {
        let mut protocols = self.service.ports.iter().map(|port| &port.protocol);
        let first = protocols.next();
        protocols.any(|other| Some(other) != first)
    }

    /// What is checked before the source ranges, since v1.35.
    /// Source: `pkg/providers/v1/aws.go#EnsureLoadBalancer`, `#checkMixedProtocol`.
    pub(super) fn validate_ports_together(&self) -> Result<(), Stop> {
        let service = self.service;
        if service.has_client_affinity {
            return Stop::error("unsupported load balancer affinity: ClientIP");
        }
        if service.ports.is_empty() {
            return Stop::error("requested load balancer with no ports");
        }
        if self.has_mixed_protocols() && self.config.is_since(22, 0) {
            return Stop::error("mixed protocol is not supported for LoadBalancer");
        }
        Ok(())
    }

    /// Source: `pkg/providers/v1/aws.go#EnsureLoadBalancer`, `#checkProtocol`.
    pub(super) fn validate_each_port(&self) -> Result<(), Stop> {
        let service = self.service;
        let protocols: &[&str] = if self.is_nlb { &["TCP", "UDP"] } else { &["TCP"] };
        if let Some(port) = service.ports.iter().find(|port| !protocols.contains(&port.protocol.as_str())) {
            return Stop::error(format!("Protocol {} not supported by LoadBalancer", port.protocol));
        }
        if self.has_mixed_protocols() {
            return Stop::unknown(
                "error",
                "load balancers of several protocols, which v1.21 and earlier create, are not modelled",
            );
        }
        if self.is_nlb && !self.node_ports().is_empty() {
            self.health_of_nlb()?;
        }
        if !self.is_nlb {
            self.validate_backend_protocol()?;
        }
        if service.load_balancer_ip.is_some() {
            return Stop::error("LoadBalancerIP cannot be specified for AWS ELB");
        }
        Ok(())
    }

    /// Source: `pkg/providers/v1/aws.go#buildListener`.
    fn validate_backend_protocol(&self) -> Result<(), Stop> {
        let suffix = "aws-load-balancer-backend-protocol";
        let certificate = self.annotation("aws-load-balancer-ssl-cert").unwrap_or_default();
        let protocol = self.annotation(suffix).unwrap_or_default();
        let is_known = matches!(protocol, "" | "https" | "http" | "ssl" | "tcp");
        if certificate.is_empty() || is_known || !self.node_ports().iter().any(|(port, _)| self.is_tls_port(*port)) {
            return Ok(());
        }
        Stop::error(format!(
            "Invalid backend protocol {protocol} for {certificate} in {}",
            self.annotations.key(suffix)
        ))
    }

    /// True if a port uses the certificate.
    /// Source: `pkg/providers/v1/aws.go#getPortSets`.
    pub(super) fn is_tls_port(&self, number: i64) -> bool {
        let list = self.annotation("aws-load-balancer-ssl-ports").unwrap_or_default();
        if matches!(list, "" | "*") {
            return true;
        }
        let name = self.service.ports.iter().find(|port| port.port == number).map_or("", |port| port.name.as_str());
        let name = if self.is_nlb { name.to_owned() } else { name.to_lowercase() };
        // An item is compared as it is written.
        list.split(',').any(|one| one.parse::<i64>() == Ok(number) || one == name && !name.is_empty())
    }

    /// Attributes of a Network Load Balancer, after it is created.
    /// Source: `pkg/providers/v1/aws_loadbalancer.go#reconcileLBAttributes`.
    pub(super) fn validate_network_attributes(&self) -> Result<(), Stop> {
        for suffix in ["aws-load-balancer-cross-zone-load-balancing-enabled", "aws-load-balancer-access-log-enabled"] {
            let value = self.annotation(suffix).unwrap_or_default();
            if !value.is_empty() && parse_bool(value).is_none() {
                return Stop::error(format!(
                    "error parsing service annotation: {}={value}",
                    self.annotations.key(suffix)
                ));
            }
        }
        Ok(())
    }

    /// Attributes of a Classic Load Balancer, before its subnets are read.
    pub(super) fn validate_classic_attributes(&self) -> Result<(), Stop> {
        let suffix = "aws-load-balancer-proxy-protocol";
        let proxy_protocol = self.annotation(suffix).unwrap_or_default();
        if !matches!(proxy_protocol, "" | "*") {
            return Stop::error(format!(
                "annotation {}={} detected, but the only value supported currently is '*'",
                self.key(suffix),
                go_quoted(proxy_protocol)
            ));
        }
        for (suffix, form) in CLASSIC {
            let Some(value) = self.annotation(suffix).filter(|value| !value.is_empty()) else { continue };
            let is_valid = match form {
                Form::Number => value.parse::<i32>().is_ok(),
                Form::Switch => parse_bool(value).is_some(),
            };
            if !is_valid {
                return Stop::error(format!(
                    "error parsing service annotation: {}={value}",
                    self.annotations.key(suffix)
                ));
            }
        }
        Ok(())
    }
}
