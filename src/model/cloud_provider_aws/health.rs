//! Health checks.
//! Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration`,
//! `aws_loadbalancer.go#ensureLoadBalancerHealthCheck`, `#getExpectedHealthCheck`, `#ValidateHealthCheck`.

use super::{Request, Stop};
use crate::model::annotations::{go_number_error, go_quoted};
use crate::model::decision::HealthCheck;

const TRAFFIC_PORT: &str = "traffic-port";
/// Port and path of kube-proxy.
const KUBE_PROXY_PORT: &str = "10256";
const KUBE_PROXY_PATH: &str = "/healthz";

/// Numbers of a health check by annotation, with the least value that the controller accepts.
const NUMBERS: [(&str, &str, i64); 4] = [
    ("aws-load-balancer-healthcheck-healthy-threshold", "HealthyThreshold", 2),
    ("aws-load-balancer-healthcheck-interval", "Interval", 5),
    ("aws-load-balancer-healthcheck-timeout", "Timeout", 2),
    ("aws-load-balancer-healthcheck-unhealthy-threshold", "UnhealthyThreshold", 2),
];

/// The inner text of an error about a health check.
struct Refused(String);

impl Request<'_> {
    /// The health check of the target groups.
    pub(super) fn health_of_nlb(&self) -> Result<HealthCheck, Stop> {
        let service = self.service;
        let mut health = if service.is_local {
            let port = service.health_check_node_port.unwrap_or_default();
            check("HTTP", &port.to_string(), KUBE_PROXY_PATH, [10, 10, 2, 2])
        } else {
            check("TCP", TRAFFIC_PORT, "/", [30, 10, 3, 3])
        };
        if let Some(protocol) = self.annotation("aws-load-balancer-healthcheck-protocol") {
            health.protocol = Some(protocol.to_uppercase());
        }
        match health.protocol.as_deref() {
            Some("HTTP" | "HTTPS") => {
                if let Some(path) = self.annotation("aws-load-balancer-healthcheck-path") {
                    health.path = Some(path.to_owned());
                }
            }
            Some("TCP") => health.path = None,
            other => {
                return Stop::error(format!("Unsupported health check protocol {}", other.unwrap_or_default()));
            }
        }
        if let Some(port) = self.annotation("aws-load-balancer-healthcheck-port") {
            health.port = Some(port.to_owned());
        }
        match self.probe_mode()? {
            Some("Shared") if !service.is_local => {
                let path = self.config.text("ClusterServiceSharedLoadBalancerHealthProbePath", "health_check")?;
                let port = self.config.text("ClusterServiceSharedLoadBalancerHealthProbePort", "health_check")?;
                health.protocol = Some("HTTP".to_owned());
                health.path = Some(path.unwrap_or(KUBE_PROXY_PATH).to_owned());
                health.port = Some(port.filter(|port| *port != "0").unwrap_or(KUBE_PROXY_PORT).to_owned());
            }
            None | Some("Shared" | "ServiceNodePort") => {}
            Some(other) => {
                return Stop::error(format!("Unsupported ClusterServiceLoadBalancerHealthProbeMode {other}"));
            }
        }
        let number = |suffix: &str, default: i64| match self.annotation(suffix) {
            None => Ok(default),
            Some(raw) => raw
                .parse::<i64>()
                .or_else(|_| Stop::error(format!("failed to parse annotation {}={raw}", self.annotations.key(suffix)))),
        };
        health.interval = number("aws-load-balancer-healthcheck-interval", health.interval)?;
        health.timeout = number("aws-load-balancer-healthcheck-timeout", health.timeout)?;
        health.healthy = number("aws-load-balancer-healthcheck-healthy-threshold", health.healthy)?;
        health.unhealthy = number("aws-load-balancer-healthcheck-unhealthy-threshold", health.unhealthy)?;
        let port = health.port.clone().unwrap_or_default();
        if port != TRAFFIC_PORT && port.parse::<i64>().is_err() {
            return Stop::error(format!("Invalid health check port '{port}'"));
        }
        Ok(health)
    }

    /// Healthy threshold, interval, timeout and unhealthy threshold, or the inner error.
    fn numbers_of_clb(&self) -> Result<[i64; 4], Refused> {
        let mut read = [2, 10, 5, 6];
        // Healthy threshold, unhealthy threshold, timeout, interval: the first that does not parse is the error.
        for at in [0, 3, 2, 1] {
            let (Some(value), Some((suffix, ..))) = (read.get_mut(at), NUMBERS.get(at)) else { continue };
            if let Some(raw) = self.annotation(suffix) {
                *value = raw.parse().map_err(|_| {
                    Refused(format!("failed parsing health check annotation value: {}", go_number_error(raw)))
                })?;
            }
        }
        let low: Vec<(&str, i64)> = read
            .iter()
            .zip(NUMBERS)
            .filter(|(value, (.., least))| **value < *least)
            .map(|(_, (_, what, least))| (what, least))
            .collect();
        if !low.is_empty() {
            return Err(Refused(format!(
                "some of the load balancer health check parameters are invalid: {}",
                if self.validates_health() { own_text(&low) } else { sdk_text(&low) }
            )));
        }
        Ok(read)
    }

    /// True if the controller checks a health check itself, which patches of older releases do too.
    fn validates_health(&self) -> bool {
        let Some(minor) = self.config.version.minor() else { return true };
        let first = match minor {
            29 | 31 => 9,
            30 => 10,
            32 => 4,
            33 => 1,
            other => return other > 33,
        };
        self.config.is_since(minor, first)
    }

    /// How Services without local traffic are probed, since v1.33.
    fn probe_mode(&self) -> Result<Option<&str>, Stop> {
        let mode = self.config.text("ClusterServiceLoadBalancerHealthProbeMode", "health_check")?;
        Ok(mode.filter(|_| self.config.is_since(33, 0)))
    }

    /// The health check of a Classic Load Balancer.
    pub(super) fn health_of_clb(&self, name: Option<&str>) -> Result<HealthCheck, Stop> {
        let service = self.service;
        let first = self.node_ports().first().map_or(0, |(_, node_port)| *node_port);
        let local = service.health_check_node_port.filter(|_| service.is_local);
        let own_port = self.annotation("aws-load-balancer-healthcheck-port");
        let (mut protocol, mut port, mut path) = if let Some(local) = local {
            let port = if own_port == Some(TRAFFIC_PORT) { first } else { local };
            ("HTTP".to_owned(), port, KUBE_PROXY_PATH.to_owned())
        } else if self.probe_mode()? == Some("Shared") {
            let path = self.config.text("ClusterServiceSharedLoadBalancerHealthProbePath", "health_check")?;
            let port = self.config.text("ClusterServiceSharedLoadBalancerHealthProbePort", "health_check")?;
            let port = port.filter(|port| *port != "0").unwrap_or(KUBE_PROXY_PORT).parse().unwrap_or_default();
            ("HTTP".to_owned(), port, path.unwrap_or(KUBE_PROXY_PATH).to_owned())
        } else {
            let backend = self.annotation("aws-load-balancer-backend-protocol").unwrap_or_default().to_lowercase();
            let protocol = if matches!(backend.as_str(), "https" | "ssl") { "SSL" } else { "TCP" };
            (protocol.to_owned(), first, String::new())
        };
        let probed = port;
        let fail = |inner: String| {
            let what = format!(
                "cannot update health check for load balancer {}: {}",
                go_quoted(name.unwrap_or_default()),
                go_quoted(&inner)
            );
            Stop::error(match local {
                Some(_) => format!(
                    "Failed to ensure health check for localized service {} on node port {probed}: {}",
                    name.unwrap_or_default(),
                    go_quoted(&what)
                ),
                None => what,
            })
        };
        if let Some(own) = self.annotation("aws-load-balancer-healthcheck-protocol") {
            own.clone_into(&mut protocol);
        }
        if let Some(raw) = own_port.filter(|raw| *raw != TRAFFIC_PORT) {
            port = raw.parse().or_else(|_| Stop::error(go_number_error(raw)))?;
        }
        if matches!(protocol.to_uppercase().as_str(), "HTTP" | "HTTPS") {
            if path.is_empty() {
                "/".clone_into(&mut path);
            }
            if let Some(own) = self.annotation("aws-load-balancer-healthcheck-path").filter(|own| !own.is_empty()) {
                own.clone_into(&mut path);
            }
        } else {
            path.clear();
        }
        let read = self.numbers_of_clb().or_else(|Refused(inner)| fail(inner))?;
        let [healthy, interval, timeout, unhealthy] = read;
        let target = Some(format!("{protocol}:{port}{path}"));
        Ok(HealthCheck { target, interval, timeout, healthy, unhealthy, ..HealthCheck::default() })
    }
}

/// The text of the controller's checks.
fn own_text(low: &[(&str, i64)]) -> String {
    let low: Vec<String> = low.iter().map(|(what, least)| format!("{what} must be at least {least}")).collect();
    format!("HealthCheck validation errors: {}", low.join("; "))
}

/// The text of the AWS SDK for Go v1.
/// Source: aws/aws-sdk-go `aws/request/validation.go#ErrInvalidParams.Error`.
fn sdk_text(low: &[(&str, i64)]) -> String {
    let lines = low.iter().map(|(what, least)| format!("- minimum field value of {least}, HealthCheck.{what}.\n"));
    format!("InvalidParameter: {} validation error(s) found.\n{}", low.len(), lines.collect::<Vec<_>>().concat())
}

/// A health check: interval, timeout, healthy and unhealthy threshold.
fn check(protocol: &str, port: &str, path: &str, [interval, timeout, healthy, unhealthy]: [i64; 4]) -> HealthCheck {
    HealthCheck {
        target: None,
        protocol: Some(protocol.to_owned()),
        port: Some(port.to_owned()),
        path: Some(path.to_owned()),
        interval,
        timeout,
        healthy,
        unhealthy,
    }
}
