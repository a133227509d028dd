//! Errors of the controller about ports and annotations of listeners.

use crate::kubernetes::ServicePort;
use crate::model::Listener;
use crate::model::decision::{Answer, Decision, Stop};

use super::{Request, atoi, go_items};

/// Numbers of Classic Load Balancers, in the order in which the controller reads them, with their names in its messages.
/// `forward-port` is read after the first two.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/clbv1/listeners.go#buildListenerFromServicePort`.
const EARLY_NUMBERS: [(&str, &str); 2] =
    [("persistence-timeout", "persistence timeout"), ("established-timeout", "EstablishedTimeout")];

const NUMBERS: [(&str, &str); 10] = [
    ("idle-timeout", "IdleTimeout"),
    ("request-timeout", "RequestTimeout"),
    ("connection-drain-timeout", "ConnectionDrainTimeout"),
    ("cookie-timeout", "CookieTimeout"),
    ("healthy-threshold", "HealthyThreshold"),
    ("unhealthy-threshold", "UnhealthyThreshold"),
    ("health-check-connect-timeout", "HealthCheckConnectTimeout"),
    ("health-check-connect-port", "HealthCheckConnectPort"),
    ("health-check-interval", "HealthCheckInterval"),
    ("health-check-timeout", "HealthCheckTimeout"),
];

/// Numbers of the health check of Network Load Balancers, in order.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/nlbv2/server_groups.go#setServerGroupAttributeFromAnno`.
const HEALTH_NUMBERS: [(&str, &str); 5] = [
    ("health-check-connect-port", "HealthCheckConnectPort"),
    ("healthy-threshold", "HealthyThreshold"),
    ("unhealthy-threshold", "UnhealthyThreshold"),
    ("health-check-connect-timeout", "HealthCheckConnectTimeout"),
    ("health-check-interval", "HealthCheckInterval"),
];

impl Request<'_> {
    /// Checks the listeners of a Classic Load Balancer; returns their ports and protocols.
    pub(super) fn classic_listeners(&self) -> Result<Vec<(i64, String)>, Stop> {
        let checked = self.service.ports.iter().map(|port| {
            let at = format!("build listener from servicePort {} error: ", port.port);
            Ok((port.port, self.classic_listener(port).map_err(super::within(&at))?))
        });
        checked.collect()
    }

    fn classic_listener(&self, port: &ServicePort) -> Result<String, Stop> {
        let protocol = self.protocol(port, &["http", "tcp", "https", "udp"], str::to_owned, |got| {
            format!("port protocol format must be either [http|https|tcp|udp], protocol not supported wit [{got}]\n")
        })?;
        if self.reads_own_groups() {
            self.own_group(port, "vgroupid and protocol format must be like 'vsp-xxx:443'")?;
        }
        let number = |(name, word): (&str, &str)| {
            let text = self.annotation(name);
            if text.is_empty() {
                return Ok(());
            }
            let message = |why: &str| format!("Annotation {word} must be integer, but got [{text}]. message=[{why}] ");
            atoi(text, message).map(drop)
        };
        EARLY_NUMBERS.into_iter().try_for_each(number)?;
        let forward = self.annotation("forward-port");
        if !forward.is_empty() && protocol == "http" {
            check_forward(forward, port.port).map_err(super::within("Annotation ForwardPort error: "))?;
        }
        NUMBERS.into_iter().try_for_each(number)?;
        let extensions = self.annotation("domain-extensions");
        for extension in extensions.split(',').map(str::trim).filter(|_| !extensions.is_empty()) {
            if extension.split(':').count() != 2 {
                return Stop::error(format!("parse DomainExtensions error: invalid domain extension {extension}"));
            }
        }
        Ok(protocol)
    }

    /// The listeners of a Classic Load Balancer, with their protocols.
    /// Source: kubernetes/cloud-provider-alibaba-cloud
    /// `pkg/controller/service/clbv1/listeners.go#buildListenerFromServicePort`.
    pub(super) fn classic_decided(&self, listeners: &[(i64, String)]) -> Vec<Listener> {
        let decided = listeners.iter().map(|(port, protocol)| Listener {
            redirects_to: forward(self.annotation("forward-port"), *port).filter(|_| protocol == "http"),
            certificates: [self.annotation("cert-id")]
                .into_iter()
                .filter(|id| protocol == "https" && !id.is_empty())
                .map(str::to_owned)
                .collect(),
            ssl_policy: self.tls_policy().filter(|_| protocol == "https"),
            ..Listener::new(*port, protocol)
        });
        decided.collect()
    }

    /// The listeners of a Network Load Balancer, in the order of the ports.
    /// Source: kubernetes/cloud-provider-alibaba-cloud
    /// `pkg/controller/service/nlbv2/listeners.go#buildListenerFromServicePort`.
    pub(super) fn network_decided(&self, protocols: &[String]) -> Vec<Listener> {
        let ids = [self.annotation("cert-id"), self.annotation("additional-cert-ids")];
        let decided = self.service.ports.iter().zip(protocols).map(|(port, protocol)| {
            let range = self.port_range(port).ok().flatten();
            let has_tls = protocol == "TCPSSL";
            Listener {
                last_port: range.map(|(_, last)| last),
                certificates: ids
                    .iter()
                    .flat_map(|list| list.split(','))
                    .filter(|id| has_tls && !id.is_empty())
                    .map(str::to_owned)
                    .collect(),
                ssl_policy: self.tls_policy().filter(|_| has_tls),
                ..Listener::new(range.map_or(port.port, |(first, _)| first), protocol)
            }
        });
        decided.collect()
    }

    fn tls_policy(&self) -> Option<String> {
        let policy = self.annotation("tls-cipher-policy");
        (!policy.is_empty()).then(|| policy.to_owned())
    }

    /// Checks the listeners of a Network Load Balancer; returns their protocols.
    pub(super) fn network_listeners(&self, decision: &mut Decision) -> Result<Vec<String>, Stop> {
        let mut protocols: Vec<String> = Vec::new();
        for port in &self.service.ports {
            let at = format!("build listener from servicePort {} error: ", port.port);
            protocols.push(self.network_listener(port, decision).map_err(super::within(&at))?);
        }
        if self.is_since(11) {
            let all: Vec<(&str, i64)> =
                protocols.iter().map(String::as_str).zip(self.service.ports.iter().map(|port| port.port)).collect();
            for (index, (protocol, port)) in all.iter().enumerate() {
                if all.iter().skip(index + 1).any(|other| other == &(*protocol, *port)) {
                    return Stop::error(format!("port of listener [{port}] overlaps with listener [{port}]"));
                }
            }
        }
        Ok(protocols)
    }

    fn network_listener(&self, port: &ServicePort, decision: &mut Decision) -> Result<String, Stop> {
        let protocol = self.protocol(port, &["TCP", "UDP", "TCPSSL"], str::to_uppercase, |got| {
            format!("port protocol format must be either [TCP|UDP|TCPSSL], protocol not supported with [{got}]\n")
        })?;
        if !self.annotation("listener-port-range").is_empty() {
            match self.config.has_pods_as_backends(self.service) {
                Answer::Is(true) => drop(self.port_range(port)?),
                Answer::Is(false) => {
                    return Stop::error("listener port range can only be used for eni backend type service");
                }
                _ => decision.may_fail("`listener-port-range` needs Pods as servers, which is not known"),
            }
        }
        if self.reads_own_groups() {
            self.own_group(port, "server group id and protocol format must be like 'sg-xxx:443'")?;
        }
        for (name, word) in [("idle-timeout", "IdleTimeout"), ("cps", "Mss")] {
            let text = self.annotation(name);
            if !text.is_empty() {
                atoi(text, |why| format!("parse {word} error: {why}"))?;
            }
        }
        Ok(protocol)
    }

    /// Checks the attributes of the server groups of a Network Load Balancer; true if addresses of Nodes are backends.
    pub(super) fn network_group_attributes(&self) -> Result<bool, Stop> {
        let kind = self.annotation("server-group-type").to_lowercase();
        if !["", "ip", "instance"].contains(&kind.as_str()) {
            return Stop::error("unsupport server ServerGroupType []");
        }
        let number = |name: &str, message: &dyn Fn(&str) -> String| {
            let text = self.annotation(name);
            if text.is_empty() { Ok(()) } else { atoi(text, message).map(drop) }
        };
        number("connection-drain-timeout", &|why| format!("ConnectionDrainTimeout parse error: {why}"))?;
        if self.annotation("health-check-flag").eq_ignore_ascii_case("on") {
            for (name, word) in HEALTH_NUMBERS {
                number(name, &|why| format!("{word} parse error: [{why}]"))?;
            }
        }
        let weight = self.annotation("default-weight");
        if !weight.is_empty() {
            let number = atoi(weight, |why| format!("default weight parse error: [{why}]"))?;
            if !(0..=100).contains(&number) {
                return Stop::error(format!("default weight must be integer in range [0,100] , got [{weight}]"));
            }
        }
        Ok(kind == "ip")
    }

    /// Protocol of a listener: that of `protocol-port`, else that of the port. Items after the one of the port are not read.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#protocol`,
    /// `pkg/controller/service/nlbv2/listeners.go#nlbListenerProtocol`.
    fn protocol(
        &self,
        port: &ServicePort,
        known: &[&str],
        written: impl Fn(&str) -> String,
        unknown: impl Fn(&str) -> String,
    ) -> Result<String, Stop> {
        let text = self.annotation("protocol-port");
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let mut parts = item.split(':');
            let (Some(protocol), Some(number)) = (parts.next(), parts.next()) else {
                return Stop::error(format!(
                    "port and protocol format must be like 'https:443' with colon separated. got=[{}]",
                    go_items(item)
                ));
            };
            let protocol = (written(protocol), protocol);
            if !known.contains(&protocol.0.as_str()) {
                return Stop::error(unknown(protocol.1));
            }
            if number == port.port.to_string() {
                return Ok(protocol.0);
            }
        }
        let own = written(&port.protocol);
        Ok(if known.contains(&"tcp") { own.to_lowercase() } else { own })
    }

    /// First and last port of a listener, if `listener-port-range` has the port.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/nlbv2/listeners.go#portRange`.
    pub(super) fn port_range(&self, port: &ServicePort) -> Result<Option<(i64, i64)>, Stop> {
        let text = self.annotation("listener-port-range");
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let format = || format!("listener port range must be like 1000-2000:80 with colon separated. got [{item}]");
            let parts: Vec<&str> = item.split(':').collect();
            let [range, number] = parts.as_slice() else { return Stop::error(format()) };
            if *number != port.port.to_string() {
                continue;
            }
            let ends: Vec<&str> = range.split('-').collect();
            let [first, last] = ends.as_slice() else { return Stop::error(format()) };
            let read = |end: &str| atoi(end, |why| format!("failed to convert port range [{item}] to int: {why}"));
            let (first, last) = (read(first)?, read(last)?);
            if first >= last {
                return Stop::error(format!("start port should be smaller than end port for port range [{item}]"));
            }
            if first < 1 || last > 65_535 {
                return Stop::error(format!("port range [{item}] is invalid"));
            }
            return Ok(Some((first, last)));
        }
        Ok(None)
    }

    /// The server group of the user for a port; `None` if the annotation names none.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#vgroup`,
    /// `pkg/controller/service/nlbv2/listeners.go#serverGroup`.
    pub(super) fn own_group(&self, port: &ServicePort, format: &str) -> Result<Option<&str>, Stop> {
        for item in self.annotation("vgroup-port").split(',') {
            let mut parts = item.split(':');
            let (Some(id), Some(number)) = (parts.next(), parts.next()) else {
                return Stop::error(format!("{format} with colon separated. got=[{}]", go_items(item)));
            };
            if number == port.port.to_string() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// Port to which `forward-port` redirects a port.
fn forward(text: &str, port: i64) -> Option<i64> {
    let mut pairs = text.split(',').filter_map(|item| item.split_once(':'));
    let (_, to) = pairs.find(|(from, _)| *from == port.to_string())?;
    to.parse().ok().filter(|to| *to != 0)
}

/// Checks `forward-port`: `FROM:TO`, separated by commas.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/listeners.go#forwardPort`.
fn check_forward(text: &str, port: i64) -> Result<(), Stop> {
    for item in text.split(',') {
        let parts: Vec<&str> = item.split(':').collect();
        let [from, to] = parts.as_slice() else {
            return Stop::error(format!("forward port format error: {text}, expect 80:443,88:6443 "));
        };
        if *from == port.to_string() {
            if !to.is_empty() {
                atoi(to, |_| format!("forward port is not an integer, {to} "))?;
            }
            break;
        }
    }
    Ok(())
}
