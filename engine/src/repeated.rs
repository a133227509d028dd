//! Repeated keys of an object.

use std::collections::HashMap;

use super::json::{Member, Node, Span, Value};

/// A repeated key of an object; the last value wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKey {
    /// Repeated key.
    pub key: String,
    /// Position of the earlier one.
    pub earlier: Span,
    /// Position of the later one.
    pub later: Span,
    /// True if both have the same value.
    pub is_same: bool,
}

impl Node {
    /// Keeps the last value of each repeated key of an object, as `kubectl` does, and returns those keys in the order
    /// of the text.
    /// Source: <https://github.com/kubernetes/kubernetes/issues/99286>.
    pub fn deduplicate_keys(&mut self) -> Vec<RepeatedKey> {
        let mut found = Vec::new();
        keep_last(self, &mut found);
        found.sort_by_key(|one| one.later.start);
        // Aliases repeat the same position: report it once.
        found.dedup_by_key(|one| one.later.start);
        found
    }
}

fn keep_last(node: &mut Node, found: &mut Vec<RepeatedKey>) {
    match &mut node.value {
        Value::Array(items) => {
            for item in items {
                keep_last(item, found);
            }
        }
        Value::Object(members) => {
            if may_repeat(members) {
                let mut replaced = replaced(members, found).into_iter();
                members.retain(|_| !replaced.next().unwrap_or_default());
            }
            for member in members.iter_mut() {
                keep_last(&mut member.value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Either(_) => {}
    }
}

/// Maximum number of members whose keys are compared pairwise, which is cheaper than a table of them.
const PAIRWISE_LIMIT: usize = 16;

/// True if a key may be repeated; exact for few members.
fn may_repeat(members: &[Member]) -> bool {
    let mut rest = members;
    if members.len() > PAIRWISE_LIMIT {
        return true;
    }
    while let Some((first, behind)) = rest.split_first() {
        if behind.iter().any(|one| *one.key == *first.key) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Marks each member whose key is repeated later.
fn replaced(members: &[Member], found: &mut Vec<RepeatedKey>) -> Vec<bool> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(members.len());
    let mut replaced = vec![false; members.len()];
    for (at, member) in members.iter().enumerate() {
        let Some(before) = places.insert(&member.key, at) else { continue };
        let Some(earlier) = members.get(before) else { continue };
        if let Some(is_replaced) = replaced.get_mut(before) {
            *is_replaced = true;
        }
        found.push(RepeatedKey {
            key: member.key.to_string(),
            earlier: earlier.key_span,
            later: member.key_span,
            is_same: earlier.value.to_string() == member.value.to_string(),
        });
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_value_for_a_repeated_key() {
        let text = r#"{"a": 1, "b": [{"c": 1, "d": 2, "c": 1, "c": 3}], "a": {"x": 0, "x": 1}}"#;
        let mut node = Node::parse(text).unwrap();
        let found = node.deduplicate_keys();
        assert_eq!(node.to_string(), r#"{"b":[{"d":2,"c":3}],"a":{"x":1}}"#);
        let told: Vec<(&str, usize, bool)> =
            found.iter().map(|one| (one.key.as_str(), one.later.start, one.is_same)).collect();
        let at = |part: &str| text.find(part).unwrap();
        assert_eq!(
            told,
            [
                ("c", at(r#""c": 1, "c": 3"#), true),
                ("c", at(r#""c": 3"#), false),
                ("a", at(r#""a": {"#), false),
                ("x", at(r#""x": 1"#), false)
            ]
        );
        assert_eq!(node.deduplicate_keys(), []);
        // Independent of the number of members.
        for count in [2, PAIRWISE_LIMIT, PAIRWISE_LIMIT + 1, 100] {
            let members: Vec<String> = (0..count).map(|number| format!("\"k{number}\": {number}")).collect();
            let mut node = Node::parse(&format!("{{{}, \"k1\": null}}", members.join(", "))).unwrap();
            assert_eq!(node.deduplicate_keys().len(), 1, "{count}");
            assert_eq!((node.members().unwrap().len(), &node.get("k1").unwrap().value), (count, &Value::Null));
        }
    }
}
