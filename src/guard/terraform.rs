//! A plan as `terraform show -json` or `tofu show -json` prints it, or what a change set of CloudFormation is read as.
//! Source: hashicorp/terraform `internal/command/jsonplan/plan.go`; developer.hashicorp.com, Terraform, "JSON Output
//! Format": minor versions only add keys, and a reader must refuse an unknown major version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json_input::{self, JsonError};
use crate::text::encoding::in_utf8;

/// Newest major version of the format that is understood.
const MAJOR: u64 = 1;

/// The part of a plan that decides what it changes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Document {
    format_version: Option<String>,
    /// Version of the tool that wrote it.
    pub(super) terraform_version: Option<String>,
    /// Omitted if nothing changes, and if the document is not a plan.
    pub(super) resource_changes: Vec<RawChange>,
    /// Resources before the plan.
    pub(super) prior_state: State,
    pub(super) configuration: Value,
    pub(super) variables: BTreeMap<String, Variable>,
    /// Changes that were put off.
    deferred_changes: Vec<Deferred>,
    planned_values: Option<Value>,
    /// Only a state has it.
    values: Option<Value>,
    /// Only a change set of CloudFormation has it.
    #[serde(rename = "StackName")]
    stack_name: Option<Value>,
    #[serde(rename = "AWSTemplateFormatVersion", alias = "ROSTemplateFormatVersion")]
    template_version: Option<Value>,
    /// Account of a change set.
    #[serde(skip)]
    pub(super) account: Option<String>,
    /// Parts that a change set does not hold.
    #[serde(skip)]
    pub(super) notes: Vec<String>,
    /// Changes of a change set that cannot be judged, each with the reason.
    #[serde(skip)]
    pub(super) open: Vec<(String, String)>,
    /// Only the machine-readable output of `terraform plan -json` has it.
    #[serde(rename = "@message")]
    message: Option<Value>,
    /// True if planning failed: the rest is what was planned until then.
    pub(super) errored: bool,
    /// False if the plan changes nothing or cannot be applied; absent before Terraform 1.8.
    pub(super) applyable: Option<bool>,
    /// False if a part of the configuration was not planned; absent before Terraform 1.8.
    pub(super) complete: Option<bool>,
}

/// A variable of the root module.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Variable {
    #[serde(default)]
    pub(super) value: Value,
}

/// A change that was put off, with the reason.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Deferred {
    resource_change: RawChange,
}

/// Resources of a state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State {
    values: StateValues,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateValues {
    root_module: StateModule,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateModule {
    resources: Vec<StateResource>,
    child_modules: Vec<StateModule>,
}

/// A resource of a state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StateResource {
    pub(super) address: String,
    pub(super) mode: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) provider_name: String,
    pub(super) values: Value,
}

impl State {
    /// Every resource, module by module.
    pub(super) fn resources(&self) -> Vec<&StateResource> {
        let mut found = Vec::new();
        let mut modules = vec![&self.values.root_module];
        while let Some(module) = modules.pop() {
            found.extend(&module.resources);
            modules.extend(&module.child_modules);
        }
        found
    }
}

/// An entry of `resource_changes`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawChange {
    pub(super) address: String,
    pub(super) module_address: String,
    pub(super) mode: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: String,
    /// A number for `count`, a text for `for_each`; absent for a single resource.
    pub(super) index: Option<Value>,
    pub(super) provider_name: String,
    /// The type in the words of another tool.
    #[serde(skip)]
    pub(super) shown_kind: Option<String>,
    pub(super) change: RawDifference,
}

/// The values of a resource before and after.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RawDifference {
    pub(super) actions: Vec<String>,
    pub(super) before: Option<Map<String, Value>>,
    pub(super) after: Option<Map<String, Value>>,
    #[serde(deserialize_with = "object_or_flag")]
    pub(super) after_unknown: Map<String, Value>,
    pub(super) before_sensitive: Value,
    pub(super) after_sensitive: Value,
}

/// Terraform writes `false` in place of an object for what does not exist.
fn object_or_flag<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(map) => map,
        _ => Map::new(),
    })
}

/// A text that is not a plan, or one that must not be tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error("the input is empty")]
    Empty,
    #[error("this is a plan file, not its JSON form")]
    Binary,
    #[error("this is a plan in text form, not its JSON form")]
    Text,
    #[error("this is a template, not a plan: it does not state what changes")]
    Template,
    #[error("this is the output of `terraform plan -json`: messages, not the plan")]
    Stream,
    #[error("these are several plans: give one at a time")]
    Several,
    #[error("this is a state, not a plan")]
    State,
    #[error("the change set has no property values")]
    WithoutValues,
    #[error("this is a change set of Resource Orchestration Service, which has no values of properties")]
    OfRos,
    #[error("the change set failed: {0}")]
    FailedChangeSet(String),
    #[error("the change set cannot be executed: {0}")]
    UnreadyChangeSet(String),
    #[error("this is a JSON document, but not a plan: it has neither `planned_values` nor `configuration`")]
    Other,
    #[error("format version `{0}` is not supported: versions 0.1 to {MAJOR}.x are")]
    Version(String),
    #[error("the plan is not valid JSON, or does not have the form of a plan")]
    Json(#[from] JsonError),
}

/// Reads a change set of CloudFormation.
pub(super) type ReadChangeSet = fn(&[u8]) -> Result<Document, PlanError>;

impl Document {
    /// Reads a plan. `change_set` reads a CloudFormation change set.
    ///
    /// # Errors
    /// If the text is anything else.
    pub(super) fn from_slice(bytes: &[u8], change_set: ReadChangeSet) -> Result<Self, PlanError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(PlanError::Empty);
        }
        // `terraform plan -out` writes an archive.
        if bytes.starts_with(b"PK\x03\x04") {
            return Err(PlanError::Binary);
        }
        let decoded = in_utf8(bytes);
        let text = document(&decoded).ok_or_else(|| not_json(&decoded))?;
        let document: Self = json_input::parse_first(text)?;
        if document.stack_name.is_some() {
            return change_set(text);
        }
        document.check()?;
        if is_followed_by_another(text) {
            return Err(PlanError::Several);
        }
        Ok(document)
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.message.is_some() {
            return Err(PlanError::Stream);
        }
        if let Some(version) = &self.format_version {
            let major = version.split('.').next().and_then(|major| major.parse::<u64>().ok());
            if major.is_none_or(|major| major > MAJOR) {
                return Err(PlanError::Version(version.clone()));
            }
        }
        let is_plan = self.planned_values.is_some() || self.configuration.is_object();
        if !is_plan && self.template_version.is_some() {
            return Err(PlanError::Template);
        }
        match (is_plan, &self.values) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(PlanError::State),
            // A state without resources has a version and nothing else.
            (false, None) if self.format_version.is_some() && self.terraform_version.is_none() => Err(PlanError::State),
            (false, None) => Err(PlanError::Other),
        }
    }

    /// Addresses of changes that were put off.
    pub(super) fn deferred(&self) -> impl Iterator<Item = &RawChange> {
        self.deferred_changes.iter().map(|deferred| &deferred.resource_change)
    }
}

/// True if another document follows the first one.
fn is_followed_by_another(text: &[u8]) -> bool {
    let mut documents = serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
    let _ = documents.next();
    text.get(documents.byte_offset()..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

/// What a text without a JSON document is: templates of CloudFormation and of Resource Orchestration Service begin with a
/// version.
fn not_json(bytes: &[u8]) -> PlanError {
    let keys = ["AWSTemplateFormatVersion", "ROSTemplateFormatVersion"];
    let mut lines = bytes.split(|byte| *byte == b'\n').take(64);
    let is_template = lines.any(|line| keys.iter().any(|key| line.starts_with(key.as_bytes())));
    if is_template { PlanError::Template } else { PlanError::Text }
}

/// The document within a text: wrappers of Terraform print a line before it and one after it.
fn document(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut rest = bytes;
    for _ in 0..16 {
        let trimmed = rest.trim_ascii_start();
        if trimmed.starts_with(b"{") {
            return Some(trimmed);
        }
        let end = trimmed.iter().position(|byte| *byte == b'\n')?;
        rest = trimmed.get(end..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> PlanError {
        Document::from_slice(text, |_| Ok(Document::default())).expect_err("this is not a plan")
    }

    #[test]
    fn refuses_everything_that_is_no_plan_by_name() {
        assert_eq!(refused(b" \n"), PlanError::Empty);
        assert_eq!(refused(b"PK\x03\x04\x14"), PlanError::Binary);
        assert_eq!(refused(b"Terraform will perform the following actions:\n\n  # aws_vpc.a\n"), PlanError::Text);
        assert_eq!(refused(b"# network\nROSTemplateFormatVersion: '2015-09-01'\n"), PlanError::Template);
        assert_eq!(refused(b"{\"AWSTemplateFormatVersion\": \"2010-09-09\"}"), PlanError::Template);
        assert_eq!(
            refused(b"{\"@level\": \"info\", \"@message\": \"Terraform 1.11\", \"type\": \"version\"}\n{}"),
            PlanError::Stream
        );
        assert_eq!(
            refused(b"{\"format_version\": \"1.0\", \"terraform_version\": \"1.11.4\", \"values\": {}}"),
            PlanError::State
        );
        assert_eq!(refused(b"{\"format_version\": \"1.0\"}"), PlanError::State);
        assert_eq!(refused(b"{\"items\": []}"), PlanError::Other);
        assert_eq!(
            refused(b"{\"format_version\": \"2.0\", \"planned_values\": {}}"),
            PlanError::Version("2.0".to_owned())
        );
        assert!(matches!(refused(b"{\"planned_values\": "), PlanError::Json(_)));
    }

    #[test]
    fn reads_a_plan_in_any_encoding_and_between_the_lines_of_a_wrapper() {
        let plan = "{\"format_version\": \"1.2\", \"planned_values\": {}, \"errored\": true}";
        let wrapped = format!("[command]/usr/bin/terraform show -json plan\n{plan}\n::debug::stdout\n");
        let marked = format!("\u{feff}{plan}");
        let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(plan.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        for text in [plan.as_bytes(), wrapped.as_bytes(), marked.as_bytes(), &wide] {
            assert!(Document::from_slice(text, |_| Ok(Document::default())).expect("it is a plan").errored);
        }
    }
}
