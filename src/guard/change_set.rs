//! A change set of CloudFormation, as `aws cloudformation describe-change-set --include-property-values` prints it, read as the
//! changes of a plan.
//! Sources: AWS CloudFormation API Reference, `DescribeChangeSet`, `ResourceChange`: `BeforeContext` and `AfterContext` are JSON
//! in a text, with `Properties`; aws/aws-cdk-cli `packages/@aws-cdk/cloudformation-diff`: a value that is known only later is
//! `{{changeSet:KNOWN_AFTER_APPLY}}`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::terraform::{Document, PlanError, RawChange, RawDifference};

mod properties;
mod types;

use properties::{Part, expanded};
use types::{Row, row};

/// A value that is known only after the change set is executed.
pub(super) const UNKNOWN: &str = "{{changeSet:KNOWN_AFTER_APPLY}}";

/// Provider by which the changes count as those of AWS.
const PROVIDER: &str = "registry.terraform.io/hashicorp/aws";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ChangeSet {
    stack_id: String,
    status: String,
    status_reason: String,
    execution_status: String,
    changes: Vec<Entry>,
    tags: Value,
    next_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Entry {
    resource_change: Option<ResourceChange>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ResourceChange {
    /// `Delete`, `Retain`, `Snapshot`, `ReplaceAndDelete`, `ReplaceAndRetain`, `ReplaceAndSnapshot`.
    policy_action: String,
    action: String,
    logical_resource_id: String,
    physical_resource_id: String,
    resource_type: String,
    replacement: String,
    /// Attributes that change: `Properties`, `Tags`, `Metadata` and others.
    scope: Vec<String>,
    change_set_id: Option<String>,
    module_info: Option<ModuleInfo>,
    before_context: Option<String>,
    after_context: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ModuleInfo {
    logical_id_hierarchy: String,
}

/// The part of a context that is read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Context {
    properties: Map<String, Value>,
}

/// Reads a plan of Terraform or OpenTofu, or a change set.
///
/// # Errors
/// If the text is anything else, or must not be tried.
pub(crate) fn read_plan(bytes: &[u8]) -> Result<Document, PlanError> {
    Document::from_slice(bytes, |text| {
        let set: ChangeSet = crate::json_input::parse_first(text)?;
        set.into_document()
    })
}

impl ChangeSet {
    /// The changes as those of a plan.
    ///
    /// # Errors
    /// If the change set failed, or does not have the values of properties.
    pub(super) fn into_document(self) -> Result<Document, PlanError> {
        let mut kinds = self.changes.iter().filter_map(|entry| Some(&entry.resource_change.as_ref()?.resource_type));
        if kinds.any(|kind| kind.starts_with("ALIYUN::") || kind.starts_with("DATASOURCE::")) {
            return Err(PlanError::OfRos);
        }
        match self.status.as_str() {
            "FAILED" if self.changes.is_empty() && is_empty_by_reason(&self.status_reason) => {}
            "FAILED" => return Err(PlanError::FailedChangeSet(self.status_reason)),
            "" | "CREATE_COMPLETE" => {}
            other => return Err(PlanError::UnreadyChangeSet(format!("its status is {other}"))),
        }
        if !matches!(self.execution_status.as_str(), "" | "AVAILABLE" | "UNAVAILABLE") {
            let reason = format!("its execution status is {}", self.execution_status);
            return Err(PlanError::UnreadyChangeSet(reason));
        }
        // `arn:PARTITION:cloudformation:REGION:ACCOUNT:stack/NAME/ID`
        let parts: Vec<&str> = self.stack_id.split(':').collect();
        let region = parts.get(3).copied().unwrap_or_default();
        let mut document = Document::default();
        document.account = parts.get(4).map(|id| (*id).to_owned());
        if self.next_token.is_some() {
            let part = "the change set has further pages (`NextToken`): only the first is judged";
            document.notes.push(part.to_owned());
        }
        let mut configured: Vec<Value> = Vec::new();
        for change in self.changes.into_iter().filter_map(|entry| entry.resource_change) {
            change.add(region, &self.tags, &mut document, &mut configured)?;
        }
        note_moved_policies(&mut document);
        document.configuration = json!({"root_module": {"resources": configured}});
        Ok(document)
    }
}

/// CloudFormation removes what a stack no longer has after everything else: an inline policy that moves to another resource
/// under its name is removed from the role again.
fn note_moved_policies(document: &mut Document) {
    let text = |side: &Map<String, Value>, key: &str| side.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut written: Vec<(String, String)> = Vec::new();
    for change in &document.resource_changes {
        let Some(after) = &change.change.after else { continue };
        match change.kind.as_str() {
            "aws_iam_role_policy" => written.extend(text(after, "role").zip(text(after, "name"))),
            "aws_iam_role" => {
                let blocks = after.get("inline_policy").and_then(Value::as_array).into_iter().flatten();
                let names = blocks.filter_map(|block| block.get("name")?.as_str().map(str::to_owned));
                let role = text(after, "name").unwrap_or_default();
                written.extend(names.map(|name| (role.clone(), name)));
            }
            _ => {}
        }
    }
    let is_removed = |change: &&RawChange| change.kind == "aws_iam_role_policy" && change.change.after.is_none();
    let moved = document.resource_changes.iter().filter(is_removed).filter_map(|change| {
        let before = change.change.before.as_ref()?;
        let key = (text(before, "role")?, text(before, "name")?);
        let why =
            format!("it removes the policy `{}` of the role `{}` after another resource has written it", key.1, key.0);
        written.contains(&key).then(|| (change.address.clone(), why))
    });
    let moved: Vec<(String, String)> = moved.collect();
    document.open.extend(moved);
}

/// CloudFormation reports a change set without changes as failed.
/// Source: aws/aws-cli `awscli/customizations/cloudformation/deployer.py#wait_for_changeset`.
fn is_empty_by_reason(reason: &str) -> bool {
    ["The submitted information didn't contain changes.", "No updates are to be performed"]
        .iter()
        .any(|text| reason.contains(text))
}

/// The change of a resource, as actions of a plan.
enum Planned {
    /// Terraform's names of the actions.
    Actions(&'static [&'static str]),
    /// Nothing in the account changes.
    Nothing,
    /// It is not known before the change set is executed.
    Open(&'static str),
}

impl ResourceChange {
    fn address(&self) -> String {
        match &self.module_info {
            Some(module) if !module.logical_id_hierarchy.is_empty() => {
                format!("{}/{}", module.logical_id_hierarchy, self.logical_resource_id)
            }
            _ => self.logical_resource_id.clone(),
        }
    }

    fn planned(&self) -> Planned {
        match (self.action.as_str(), self.replacement.as_str(), self.policy_action.as_str()) {
            ("Import", ..) | ("Remove", _, "Retain") => Planned::Nothing,
            ("Add", ..) => Planned::Actions(&["create"]),
            ("Remove", ..) => Planned::Actions(&["delete"]),
            // The old one stays, and the stack no longer manages it.
            ("Modify", "True", "ReplaceAndRetain") => Planned::Actions(&["create", "forget"]),
            ("Modify", "True", _) => Planned::Actions(&["create", "delete"]),
            ("Modify", "Conditional", _) => {
                Planned::Open("its replacement is known only after the change set is executed")
            }
            ("Modify", ..) => Planned::Actions(&["update"]),
            ("Dynamic", ..) => Planned::Open("its change is known only after the change set is executed"),
            _ => Planned::Open("its action is not known"),
        }
    }

    fn add(
        self,
        region: &str,
        stack_tags: &Value,
        document: &mut Document,
        configured: &mut Vec<Value>,
    ) -> Result<(), PlanError> {
        let address = self.address();
        if self.resource_type == "AWS::CloudFormation::Stack" {
            let name = self.change_set_id.as_deref().unwrap_or(&self.physical_resource_id);
            let nested = format!("{address}: the nested stack has a separate change set, `{name}`");
            document.notes.push(nested);
            return Ok(());
        }
        let Some(row) = row(&self.resource_type) else { return Ok(()) };
        let actions = match self.planned() {
            Planned::Nothing => return Ok(()),
            Planned::Actions(actions) => actions,
            Planned::Open(why) => {
                document.open.push((address, why.to_owned()));
                return Ok(());
            }
        };
        let before = properties_of(self.before_context.as_deref())?;
        let mut after = properties_of(self.after_context.as_deref())?;
        if before.is_none() && actions != ["create"] || after.is_none() && actions != ["delete"] {
            return Err(PlanError::WithoutValues);
        }
        if let Some(after) = after.as_mut().filter(|_| actions != ["update"]) {
            properties::add_tags(row, after, stack_tags);
        }
        let tags = |side: &Option<Map<String, Value>>| side.as_ref().and_then(|one| one.get("Tags").cloned());
        if self.scope.iter().any(|one| one == "Tags") && row.takes_tags() && tags(&before) == tags(&after) {
            let why = "the stack tags change, and the change set does not show which of them the resource gets";
            document.open.push((address.clone(), why.to_owned()));
        }
        if properties::has_unknown_roles(row, after.as_ref()) {
            let why = "its roles are known only after the change set is executed";
            document.open.push((address.clone(), why.to_owned()));
        }
        // A logical id is unique within its module alone.
        let own = address.replace('/', "-");
        let (logical, id) = (own.as_str(), self.physical_resource_id.as_str());
        for Part { kind, name, before, after } in expanded(row, (logical, id), before, after) {
            let row = properties::kind(row, kind);
            document.resource_changes.push(self.raw(
                &address,
                (row, &name),
                (before, after),
                (actions, region),
                configured,
            ));
        }
        Ok(())
    }

    fn raw(
        &self,
        address: &str,
        (row, name): (&Row, &str),
        (before, after): (Option<Map<String, Value>>, Option<Map<String, Value>>),
        (actions, region): (&[&str], &str),
        configured: &mut Vec<Value>,
    ) -> RawChange {
        // A part that only one side has is made or taken away by an update.
        let actions = match (&before, &after) {
            (None, Some(_)) => &["create"][..],
            (Some(_), None) => &["delete"],
            _ => actions,
        };
        // With `forget` the old object stays, and the new one has another id.
        let is_new = before.is_none() || actions.contains(&"forget");
        let id = &self.physical_resource_id;
        let side = |properties: Map<String, Value>, has_id: bool| {
            let (mut values, mut unknown) = row.attributes(&properties);
            if has_id {
                values.insert("id".to_owned(), id.clone().into());
                row.name_by(id, &mut values, &mut unknown);
            }
            if !region.is_empty() && !row.kind.starts_with("aws_iam_") {
                values.insert("region".to_owned(), region.into());
            }
            (values, unknown)
        };
        let before = before.map(|properties| side(properties, true).0);
        let (after, after_unknown) = after.map(|properties| side(properties, !is_new)).unzip();
        let after_unknown: Map<String, Value> = after_unknown.unwrap_or_default();
        let expressions = after.iter().flatten().map(|(key, _)| key).chain(after_unknown.keys());
        let references = |key: &str| match key {
            // The policy of the same resource.
            "policy_arn" => json!({"references": [format!("aws_iam_policy.{}", address.replace('/', "-"))]}),
            _ => json!({"references": []}),
        };
        let expressions: Map<String, Value> = expressions.map(|key| (key.clone(), references(key))).collect();
        configured.push(json!({
            "address": address, "mode": "managed", "type": row.kind, "name": name, "expressions": expressions
        }));
        RawChange {
            address: address.to_owned(),
            mode: "managed".to_owned(),
            kind: row.kind.to_owned(),
            name: name.to_owned(),
            provider_name: PROVIDER.to_owned(),
            shown_kind: Some(self.resource_type.clone()),
            change: RawDifference {
                actions: actions.iter().map(|action| (*action).to_owned()).collect(),
                before,
                after,
                after_unknown,
                ..RawDifference::default()
            },
            ..RawChange::default()
        }
    }
}

fn properties_of(context: Option<&str>) -> Result<Option<Map<String, Value>>, PlanError> {
    let Some(text) = context else { return Ok(None) };
    let context: Context = crate::json_input::parse_first(text.as_bytes())?;
    Ok(Some(context.properties))
}

#[cfg(test)]
mod tests;
