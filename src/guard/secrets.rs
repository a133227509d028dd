//! Sensitive values of a plan: they are judged, and never shown.
//! Source: developer.hashicorp.com, Terraform, "JSON Output Format": sensitive values are in clear text in `before` and
//! `after`; `before_sensitive` and `after_sensitive` have `true` in their places.

use serde_json::Value;

use super::terraform::RawDifference;

/// Length in bytes below which a text is too common to hide.
const SHORTEST: usize = 4;

/// The sensitive texts of a change; of a policy document those that are not parts of its language.
pub(super) fn secrets(change: &RawDifference) -> Vec<String> {
    let mut found = Vec::new();
    for (values, flags) in [(&change.before, &change.before_sensitive), (&change.after, &change.after_sensitive)] {
        for (key, value) in values.iter().flatten() {
            collect(value, flags.get(key).unwrap_or(&Value::Null), &mut found);
        }
    }
    found.retain(|text| text.len() >= SHORTEST);
    found
}

fn collect(value: &Value, flags: &Value, found: &mut Vec<String>) {
    match (value, flags) {
        (_, Value::Bool(true)) => texts(value, found),
        (Value::Object(map), Value::Object(flags)) => {
            for (key, value) in map {
                collect(value, flags.get(key).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(list), Value::Array(flags)) => {
            list.iter().zip(flags).for_each(|(value, flags)| collect(value, flags, found));
        }
        _ => {}
    }
}

/// Every text in a value, and in the JSON document that it is.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(document @ (Value::Object(_) | Value::Array(_))) => of_document(&document, found),
            _ => found.push(text.clone()),
        },
        Value::Array(list) => list.iter().for_each(|one| texts(one, found)),
        Value::Object(map) => {
            for (key, value) in map {
                found.push(key.clone());
                texts(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The texts of a policy document without its version, effects and actions, which are public.
fn of_document(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|one| of_document(one, found)),
        Value::Object(map) => {
            let is_public = |key: &str| matches!(key, "Version" | "Effect" | "Action" | "NotAction");
            map.iter().filter(|(key, _)| !is_public(key)).for_each(|(_, value)| of_document(value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
