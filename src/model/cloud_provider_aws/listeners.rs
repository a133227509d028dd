//! Listeners, one for each port with a node port.

use crate::kubernetes::ServicePort;
use crate::model::Listener;

use super::Request;

impl Request<'_> {
    /// Sources: `pkg/providers/v1/aws.go#EnsureLoadBalancer` (`nlbPortMapping`), `#buildListener`.
    pub(super) fn listeners(&self) -> Vec<Listener> {
        let ports = self.service.ports.iter();
        ports
            .filter(|port| port.node_port.is_some() || self.service.awaits_node_port(port))
            .map(|port| if self.is_nlb { self.network_listener(port) } else { self.classic_listener(port) })
            .collect()
    }

    /// The certificate of a port.
    fn certificate(&self, port: &ServicePort) -> Option<&str> {
        let certificate = self.annotation("aws-load-balancer-ssl-cert").filter(|arn| !arn.is_empty());
        certificate.filter(|_| self.is_tls_port(port.port))
    }

    fn with_certificate(&self, listener: Listener, certificate: &str) -> Listener {
        let policy = self.annotation("aws-load-balancer-ssl-negotiation-policy").filter(|policy| !policy.is_empty());
        Listener { certificates: vec![certificate.to_owned()], ssl_policy: policy.map(str::to_owned), ..listener }
    }

    fn network_listener(&self, port: &ServicePort) -> Listener {
        let plain = Listener {
            target_port: port.node_port,
            target_protocol: Some(port.protocol.clone()),
            ..Listener::new(port.port, &port.protocol)
        };
        let Some(certificate) = self.certificate(port).filter(|_| port.protocol != "UDP") else { return plain };
        let is_ssl = self.annotation("aws-load-balancer-backend-protocol") == Some("ssl");
        let target_protocol = if is_ssl { Some("TLS".to_owned()) } else { plain.target_protocol.clone() };
        self.with_certificate(Listener { protocol: "TLS".to_owned(), target_protocol, ..plain }, certificate)
    }

    fn classic_listener(&self, port: &ServicePort) -> Listener {
        let asked = self.annotation("aws-load-balancer-backend-protocol").unwrap_or_default();
        let certificate = self.certificate(port);
        let own = port.protocol.as_str();
        let (protocol, of_instances) = match (certificate, asked) {
            (Some(_), "https") => ("HTTPS", "HTTPS"),
            (Some(_), "http") => ("HTTPS", "HTTP"),
            (Some(_), "ssl") => ("SSL", "SSL"),
            (Some(_), _) => ("SSL", "TCP"),
            (None, "http") => ("HTTP", "HTTP"),
            (None, _) => (own, own),
        };
        let listener = Listener {
            target_port: port.node_port,
            target_protocol: Some(of_instances.to_owned()),
            ..Listener::new(port.port, protocol)
        };
        match certificate {
            Some(certificate) => self.with_certificate(listener, certificate),
            None => listener,
        }
    }
}
