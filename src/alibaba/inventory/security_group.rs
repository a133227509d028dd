//! Inbound rules of a security group.

use serde::{Deserialize, Serialize};

/// What a rule does with the traffic that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulePolicy {
    /// `Accept`.
    Accept,
    /// `Drop`.
    Drop,
}

/// An inbound rule. Rules of all groups of an interface apply together: the smallest priority first, and of one
/// priority `drop` before `accept`.
/// Source: ECS 2014-05-26 `DescribeSecurityGroupAttribute`, `AuthorizeSecurityGroup`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroupRule {
    /// 1 to 100.
    pub priority: u8,
    pub policy: RulePolicy,
    /// `TCP`, `UDP`, `ICMP`, `ICMPv6`, `GRE` or `ALL`.
    pub protocol: String,
    /// Destination ports, `80/443` or `-1/-1` for all; absent if the rule names a list of ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// IPv4 or IPv6 range, security group or prefix list that it names as its source.
    pub source: String,
    /// Source ports, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ports: Option<String>,
    /// Destination addresses, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

impl SecurityGroupRule {
    /// True if the rule matches any traffic to a port; `None` if that depends on a list that is not recorded.
    #[must_use]
    pub fn matches_port(&self, protocol: &str, port: i64) -> Option<bool> {
        if !self.protocol.eq_ignore_ascii_case("all") && !self.protocol.eq_ignore_ascii_case(protocol) {
            return Some(false);
        }
        let (first, last) = self.ports.as_deref()?.split_once('/')?;
        let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some((first, last) == (-1, -1) || (first <= port && port <= last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(protocol: &str, ports: Option<&str>) -> SecurityGroupRule {
        SecurityGroupRule {
            priority: 1,
            policy: RulePolicy::Drop,
            protocol: protocol.to_owned(),
            ports: ports.map(str::to_owned),
            source: "0.0.0.0/0".to_owned(),
            source_ports: None,
            destination: None,
        }
    }

    #[test]
    fn a_rule_matches_by_protocol_and_range() {
        for (protocol, ports, expected) in [
            ("TCP", Some("80/443"), Some(true)),
            ("tcp", Some("81/443"), Some(false)),
            ("UDP", Some("80/443"), Some(false)),
            ("ALL", Some("-1/-1"), Some(true)),
            ("ICMP", Some("-1/-1"), Some(false)),
            ("TCP", None, None),
            ("TCP", Some("all"), None),
        ] {
            assert_eq!(rule(protocol, ports).matches_port("TCP", 80), expected, "{protocol} {ports:?}");
        }
    }
}
