//! The JSON Schema of a configuration, for editors.

use serde_json::{Map, Value, json};

use crate::finding::Severity;
use crate::rules::RULES;

use super::{OptionSpec, Takes};

/// The schema of a configuration with these options.
#[must_use]
pub(crate) fn schema(options: &[OptionSpec]) -> Value {
    let options: Map<String, Value> =
        options.iter().map(|option| (option.name.clone(), option_schema(option))).collect();
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let severities: Vec<&str> = Severity::WORST_FIRST.iter().map(|severity| severity.name()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "tagaudit.config",
        "title": "Configuration of tagaudit (tagaudit.toml)",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "scan": {
                "description": "Options of `tagaudit scan`; the command line and the environment override them",
                "type": "object",
                "additionalProperties": false,
                "properties": options,
            },
            "severity": {
                "description": "Severities of rules",
                "type": "object",
                "propertyNames": {"enum": rules},
                "additionalProperties": {"enum": severities},
            },
            "target": {
                "description": "Accounts to audit, each with the role to assume in it",
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "anyOf": [{"required": ["account"]}, {"required": ["role"]}],
                    "properties": {
                        "account": {"description": "Account id", "type": "string", "pattern": "^[0-9]{12}$"},
                        "role": {"description": "The role to assume, by ARN or name; by default --target-role", "type": "string", "minLength": 1},
                        "external-id": {"description": "External id for that role", "type": "string", "minLength": 1},
                        "regions": {"description": "Regions; by default those of the scan", "type": "array", "items": {"type": "string", "minLength": 1}},
                        "cluster-ids": {"description": "Clusters; by default all that are found", "type": "array", "items": {"type": "string", "minLength": 1}},
                        "kube-context": {"description": "Contexts of the kubeconfig through which its clusters are read, also patterns with `*` and `?`", "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]},
                        "kubernetes": {"description": "Files or folders with evidence, each about one of its clusters", "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]},
                    },
                },
            },
            "waiver": {
                "description": "Findings that are accepted for a time",
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["rule", "resource", "reason", "expires"],
                    "properties": {
                        "rule": {"description": "Rule id", "enum": rules},
                        "resource": {
                            "description": "Id or ARN; `*` and `?` are wildcards. A finding is waived only if all of its resources are",
                            "type": "string",
                            "minLength": 1,
                        },
                        "reason": {"description": "Reason", "type": "string", "minLength": 1},
                        "expires": {"description": "The last valid day, in UTC", "type": "string", "format": "date"},
                        "owner": {"description": "Person who decided it", "type": "string", "minLength": 1},
                    },
                },
            },
        },
    })
}

fn option_schema(option: &OptionSpec) -> Value {
    let one = if option.choices.is_empty() {
        json!({"type": ["string", "integer"]})
    } else {
        json!({"enum": option.choices})
    };
    let mut value = match option.takes {
        Takes::Flag => json!({"type": "boolean"}),
        Takes::One => one,
        Takes::Many => json!({"anyOf": [one, {"type": "array", "items": one}]}),
    };
    if let Value::Object(fields) = &mut value {
        fields.insert("description".to_owned(), Value::String(option.help.clone()));
    }
    value
}
