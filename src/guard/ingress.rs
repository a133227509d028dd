//! Ingress rules of a security group, one by one, as a plan adds and removes them. EC2 groups rules by protocol and
//! ports.

use serde_json::{Map, Value};

use crate::aws::{IngressPermission, RuleSource, SecurityGroup};

/// One ingress rule: one source on one range of ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    protocol: String,
    ports: (Option<i32>, Option<i32>),
    source: Source,
    description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A range of addresses or a prefix list.
    Range(String),
    Group(String),
}

impl Rule {
    /// True if EC2 keeps only one of them: the description is not part of a rule.
    fn is_same(&self, other: &Self) -> bool {
        (&self.protocol, self.ports, &self.source) == (&other.protocol, other.ports, &other.source)
    }
}

/// Ports as EC2 reports them: a rule for all protocols has none.
fn ports(protocol: &str, from: Option<i32>, to: Option<i32>) -> (Option<i32>, Option<i32>) {
    if protocol == "-1" { (None, None) } else { (from, to) }
}

/// Protocols of rules, as EC2 reports them.
/// Source: hashicorp/terraform-provider-aws `internal/service/ec2/vpc_security_group.go#ProtocolForValue`.
fn protocol(text: &str) -> String {
    match text.to_ascii_lowercase().as_str() {
        "all" | "-1" => "-1".to_owned(),
        "6" => "tcp".to_owned(),
        "17" => "udp".to_owned(),
        "1" => "icmp".to_owned(),
        "58" => "icmpv6".to_owned(),
        other => other.to_owned(),
    }
}

/// The rules of a block, as in `ingress` of a group: one for each source.
pub(super) fn rules_of_block(block: &Map<String, Value>, group: &str) -> Vec<Rule> {
    let texts = |key: &str| -> Vec<String> { super::change::texts(block.get(key)) };
    let text = |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let port = |key: &str| block.get(key).and_then(Value::as_i64).and_then(|port| i32::try_from(port).ok());
    let protocol = protocol(&text("protocol").unwrap_or_default());
    let ports = ports(&protocol, port("from_port"), port("to_port"));
    let ranges = ["cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids"].into_iter().flat_map(texts).map(Source::Range);
    let own = (block.get("self") == Some(&Value::Bool(true))).then(|| group.to_owned());
    let groups = texts("security_groups").into_iter().chain(own).map(Source::Group);
    let rule = |source| Rule { protocol: protocol.clone(), ports, source, description: text("description") };
    ranges.chain(groups).map(rule).collect()
}

/// The rules of all blocks of a group.
pub(super) fn rules_of_blocks(value: Option<&Value>, group: &str) -> Vec<Rule> {
    let blocks = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    blocks.iter().filter_map(Value::as_object).flat_map(|block| rules_of_block(block, group)).collect()
}

/// A rule with one source.
pub(super) fn rules_of_one(
    name: &str,
    (from, to): (Option<i32>, Option<i32>),
    range: Option<String>,
    group: Option<String>,
    description: Option<String>,
) -> Vec<Rule> {
    let protocol = protocol(name);
    let source = range.map(Source::Range).or_else(|| group.map(Source::Group));
    let ports = ports(&protocol, from, to);
    source.map(|source| Rule { protocol, ports, source, description }).into_iter().collect()
}

/// The rules of a group, one by one.
#[cfg(test)]
fn flat(group: &SecurityGroup) -> Vec<Rule> {
    let of = |permission: &IngressPermission| {
        let ports = (permission.from_port, permission.to_port);
        let protocol = permission.protocol.clone();
        let rule = move |source, description| Rule { protocol: protocol.clone(), ports, source, description };
        let ranges = permission.ranges.iter().map(|one| (Source::Range(one.source.clone()), one.description.clone()));
        let groups = permission.groups.iter().map(|one| (Source::Group(one.source.clone()), one.description.clone()));
        ranges.chain(groups).map(|(source, description)| rule(source, description)).collect::<Vec<_>>()
    };
    group.ingress.iter().flat_map(of).collect()
}

/// Adds rules to a group that it lacks.
pub(super) fn add(group: &mut SecurityGroup, rules: &[Rule]) {
    for rule in rules {
        let (from_port, to_port) = rule.ports;
        let is_place = |one: &IngressPermission| {
            (one.protocol.as_str(), one.from_port, one.to_port) == (rule.protocol.as_str(), from_port, to_port)
        };
        let at = group.ingress.iter().position(is_place).unwrap_or_else(|| {
            let protocol = rule.protocol.clone();
            let new = IngressPermission { protocol, from_port, to_port, ranges: Vec::new(), groups: Vec::new() };
            group.ingress.push(new);
            group.ingress.len() - 1
        });
        let Some(permission) = group.ingress.get_mut(at) else { continue };
        let list = match &rule.source {
            Source::Range(_) => &mut permission.ranges,
            Source::Group(_) => &mut permission.groups,
        };
        let (Source::Range(source) | Source::Group(source)) = &rule.source;
        if !list.iter().any(|held| held.source == *source) {
            list.push(RuleSource { source: source.clone(), account_id: None, description: rule.description.clone() });
        }
    }
}

/// Removes rules from a group.
pub(super) fn remove(group: &mut SecurityGroup, rules: &[Rule]) {
    for permission in &mut group.ingress {
        let ports = (permission.from_port, permission.to_port);
        let protocol = permission.protocol.clone();
        let is_removed = |source: Source| {
            let rule = Rule { protocol: protocol.clone(), ports, source, description: None };
            rules.iter().any(|one| one.is_same(&rule))
        };
        permission.ranges.retain(|one| !is_removed(Source::Range(one.source.clone())));
        permission.groups.retain(|one| !is_removed(Source::Group(one.source.clone())));
    }
    group.ingress.retain(|one| !one.ranges.is_empty() || !one.groups.is_empty());
}

/// Replaces some rules by others: rules that are in both stay.
pub(super) fn change(group: &mut SecurityGroup, old: &[Rule], new: &[Rule]) {
    let without = |rules: &[Rule], others: &[Rule]| -> Vec<Rule> {
        rules.iter().filter(|rule| !others.iter().any(|other| other.is_same(rule))).cloned().collect()
    };
    remove(group, &without(old, new));
    add(group, &without(new, old));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group() -> SecurityGroup {
        serde_json::from_value(json!({
            "id": "sg-1", "name": "nodes",
            "ingress": [{"protocol": "tcp", "from_port": 80, "to_port": 80,
                "ranges": [{"source": "0.0.0.0/0", "description": "web"}], "groups": [{"source": "sg-1"}]}],
        }))
        .unwrap()
    }

    #[test]
    fn a_block_removes_what_it_added() {
        let block = json!([{
            "protocol": "tcp", "from_port": 30000, "to_port": 32767, "cidr_blocks": ["10.0.0.0/8", "0.0.0.0/0"],
            "ipv6_cidr_blocks": [], "prefix_list_ids": null, "security_groups": ["sg-2"], "self": true, "description": "",
        }]);
        let rules = rules_of_blocks(Some(&block), "sg-1");
        assert_eq!(rules.len(), 4);
        let mut changed = group();
        add(&mut changed, &rules);
        assert_eq!(flat(&changed).len(), 6);
        remove(&mut changed, &rules);
        assert_eq!(changed, group());
    }

    #[test]
    fn a_rule_for_all_protocols_has_no_ports() {
        let block = json!([{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"]}]);
        let [rule] = rules_of_blocks(Some(&block), "sg-1").try_into().expect("one source, one rule");
        assert_eq!(rule.ports, (None, None));
    }

    #[test]
    fn rules_on_both_sides_stay_with_their_description() {
        let both = rules_of_one("6", (Some(80), Some(80)), Some("0.0.0.0/0".to_owned()), None, None);
        let mut changed = group();
        change(&mut changed, &both, &both);
        assert_eq!(changed, group());
    }
}
