//! Inbound rules of a security group, from `DescribeSecurityGroupAttribute`.

use serde::Deserialize;

use crate::alibaba::{RulePolicy, SecurityGroupRule};

use super::{RawSecurityGroupRule, text};

/// Policy of a rule; the answers write it with a capital letter, requests without.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(in super::super) enum RawRulePolicy {
    #[serde(alias = "accept", alias = "ACCEPT")]
    Accept,
    #[default]
    #[serde(alias = "drop", alias = "DROP")]
    Drop,
}

/// Reads a priority: the answers have it as text, files that were edited as a number.
pub(super) fn priority<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u8),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Text(text) => text.trim().parse().map_err(serde::de::Error::custom),
    }
}

/// Value of a field that restricts a rule; `all` are the values that restrict nothing.
fn restricting(value: Option<String>, all: &[&str]) -> Option<String> {
    text(value).filter(|value| !all.contains(&value.as_str()))
}

impl RawSecurityGroupRule {
    /// The rule, if it is for inbound traffic.
    fn into_inbound(self) -> Option<SecurityGroupRule> {
        if self.direction.as_deref().is_some_and(|direction| !direction.eq_ignore_ascii_case("ingress")) {
            return None;
        }
        let sources = [self.source_cidr_ip, self.ipv6_source_cidr_ip, self.source_group_id, self.source_prefix_list_id];
        Some(SecurityGroupRule {
            priority: self.priority,
            policy: match self.policy {
                RawRulePolicy::Accept => RulePolicy::Accept,
                RawRulePolicy::Drop => RulePolicy::Drop,
            },
            protocol: self.ip_protocol,
            ports: text(self.port_range).filter(|_| text(self.port_range_list_id).is_none()),
            source: sources.into_iter().find_map(text).unwrap_or_default(),
            source_ports: restricting(self.source_port_range, &["-1/-1", "1/65535"]),
            destination: restricting(self.dest_cidr_ip, &["0.0.0.0/0"])
                .or_else(|| restricting(self.ipv6_dest_cidr_ip, &["::/0"])),
        })
    }
}

/// Inbound rules of an answer.
pub(in super::super) fn inbound(rules: Vec<RawSecurityGroupRule>) -> Vec<SecurityGroupRule> {
    rules.into_iter().filter_map(RawSecurityGroupRule::into_inbound).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SecurityGroupRules;
    use super::*;

    fn read(rule: &str) -> Result<Vec<SecurityGroupRule>, serde_json::Error> {
        let answer = format!(r#"{{"Permissions": {{"Permission": [{rule}]}}}}"#);
        serde_json::from_str::<SecurityGroupRules>(&answer).map(|answer| inbound(answer.permissions.permission))
    }

    #[test]
    fn a_rule_is_read_as_the_api_writes_it() {
        let rules = read(
            r#"{"SecurityGroupRuleId": "sgr-bp1", "Direction": "ingress", "Policy": "Drop", "Priority": "100", "IpProtocol": "ALL",
                "PortRange": "-1/-1", "SourceCidrIp": "0.0.0.0/0", "Ipv6SourceCidrIp": "", "SourceGroupId": "",
                "SourcePrefixListId": "", "SourcePortRange": "", "DestCidrIp": "", "NicType": "intranet"}"#,
        );
        let rules = rules.unwrap();
        let rule = &rules[0];
        assert_eq!((rule.policy, rule.priority, rule.source.as_str()), (RulePolicy::Drop, 100, "0.0.0.0/0"));
        assert_eq!((&rule.source_ports, &rule.destination), (&None, &None));
        assert_eq!(rules[0].matches_port("TCP", 443), Some(true));
    }

    #[test]
    fn outbound_rules_are_left_out_and_broken_ones_are_an_error() {
        let outbound = r#"{"Direction": "egress", "Policy": "Drop", "Priority": 1, "IpProtocol": "ALL", "DestCidrIp": "0.0.0.0/0"}"#;
        assert_eq!(read(outbound).unwrap(), []);
        assert!(read(r#"{"Policy": "Deny", "Priority": "1", "IpProtocol": "ALL"}"#).is_err());
        assert!(read(r#"{"Policy": "Drop", "Priority": "first", "IpProtocol": "ALL"}"#).is_err());
        assert!(read(r#"{"Policy": "Drop", "IpProtocol": "ALL"}"#).is_err());
    }

    #[test]
    fn a_list_of_ports_is_not_known() {
        let rules = read(
            r#"{"Policy": "Drop", "Priority": "1", "IpProtocol": "TCP", "PortRange": "-1/-1", "PortRangeListId": "pl-bp1", "SourceCidrIp": "0.0.0.0/0"}"#,
        );
        assert_eq!(rules.unwrap()[0].ports, None);
    }
}
