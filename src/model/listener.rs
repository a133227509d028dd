//! Listeners of load balancers.

use serde::Serialize;

/// A listener of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Listener {
    /// Its port, or the first one of a range.
    pub(crate) port: i64,
    /// Last port of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_port: Option<i64>,
    /// In the words of the API: `TCP`, `UDP`, `TCP_UDP`, `TLS`, `SSL`, `HTTP`, `HTTPS`; at Alibaba Cloud `TCPSSL` too.
    pub(crate) protocol: String,
    /// Protocol of the instances of a Classic Load Balancer, or of the target group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_protocol: Option<String>,
    /// Port of the instances, or of the target group, if it is a number and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_port: Option<i64>,
    /// Certificates, the default one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) certificates: Vec<String>,
    /// Policy for TLS, if the object sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ssl_policy: Option<String>,
    /// Port to which it redirects all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirects_to: Option<i64>,
}

impl Listener {
    /// A listener without TLS.
    pub(crate) fn new(port: i64, protocol: &str) -> Self {
        Self { port, protocol: protocol.to_owned(), ..Self::default() }
    }

    /// `443 TLS to 30443 TCP`.
    pub(crate) fn describe(&self) -> String {
        let last = self.last_port.map(|last| format!("-{last}")).unwrap_or_default();
        let mut words = vec![format!("{}{last} {}", self.port, self.protocol)];
        match (self.target_port, &self.target_protocol) {
            (Some(port), Some(protocol)) => words.push(format!("to {port} {protocol}")),
            (None, Some(protocol)) => words.push(format!("to {protocol}")),
            (Some(port), None) => words.push(format!("to {port}")),
            (None, None) => {}
        }
        words.extend(self.redirects_to.map(|port| format!("redirects to {port}")));
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::Listener;

    #[test]
    fn a_listener_shows_what_is_known_of_its_targets() {
        let one =
            Listener { target_port: Some(30443), target_protocol: Some("TCP".to_owned()), ..Listener::new(443, "TLS") };
        assert_eq!(one.describe(), "443 TLS to 30443 TCP");
        assert_eq!(Listener { last_port: Some(90), ..Listener::new(80, "TCP") }.describe(), "80-90 TCP");
        assert_eq!(
            Listener { redirects_to: Some(443), ..Listener::new(80, "HTTP") }.describe(),
            "80 HTTP redirects to 443"
        );
    }
}
