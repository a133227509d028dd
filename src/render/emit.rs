//! The plan as text for others to apply: for infrastructure that is managed as code. Every value is quoted by
//! construction, whatever it holds; comments hold only visible characters of one line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::fix::plan::{Plan, PlannedChange};
use crate::inventory::Provider;
use crate::text;
use crate::transition::{Attribute, Call, Transition, calls, managed_policy_path};

mod alibaba;

/// Language of an emitted plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitFormat {
    /// Terraform, HCL
    Terraform,
    /// A CloudFormation template, YAML
    Cloudformation,
    /// A POSIX shell script of AWS CLI commands
    AwsCli,
    /// A POSIX shell script of `aliyun` commands
    AliyunCli,
}

/// Prints the plan in a language.
#[must_use]
pub fn emit(plan: &Plan, format: EmitFormat) -> String {
    match format {
        // The Terraform provider has other resource types; the remaining languages belong to one cloud.
        EmitFormat::Terraform if plan.partition == Provider::Alibaba.name() => alibaba::terraform(plan),
        EmitFormat::Terraform => terraform(plan),
        EmitFormat::Cloudformation => cloudformation(plan),
        EmitFormat::AwsCli => script(plan, "aws sts get-caller-identity --query Account --output text"),
        EmitFormat::AliyunCli => script(plan, alibaba::WHO),
    }
}

fn heading(plan: &Plan) -> String {
    let mut page = String::new();
    comment(
        &mut page,
        &format!(
            "tagaudit plan {} for cluster {} in account {}: {}",
            plan.short_id(),
            plan.cluster_id,
            plan.account_id,
            text::count(plan.changes.len(), "change")
        ),
    );
    page
}

fn comment(page: &mut String, body: &str) {
    let _ = writeln!(page, "# {}", text::printable(body));
}

/// Writes the rules and the reason above a change.
fn because(page: &mut String, change: &PlannedChange) {
    comment(page, &format!("{}: {}", change.rules.join(", "), change.reason));
}

/// A string of HCL. Characters that could begin an interpolation or end the string are escaped, so that no text can;
/// the usual `$${` is read differently by different parsers if dollars precede it.
fn hcl_string(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for character in value.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' if !matches!(character, '$' | '%') => quoted.push(character),
            _ if u32::from(character) <= 0xffff => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(character));
            }
        }
    }
    quoted.push('"');
    quoted
}

fn block(page: &mut String, kind: &str, name: &str, fields: &[(&str, &str)]) {
    let width = fields.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let _ = writeln!(page, "resource \"{kind}\" \"{name}\" {{");
    for (key, value) in fields {
        let _ = writeln!(page, "  {key:<width$} = {}", hcl_string(value));
    }
    page.push_str("}\n");
}

fn terraform(plan: &Plan) -> String {
    let mut page = heading(plan);
    comment(&mut page, "If Terraform already manages a resource, set the tag in its own `tags` instead:");
    comment(&mut page, "Terraform removes a tag that it does not know at its next apply.");
    let several = plan.regions.len() > 1;
    for change in &plan.changes {
        page.push('\n');
        because(&mut page, change);
        let Transition { target, attribute, old, new } = &change.transition;
        if let Some(region) = target.region.as_deref().filter(|_| several) {
            comment(&mut page, &format!("use the provider of {region}"));
        }
        let id = target.id.as_str();
        let name = format!("tagaudit_{}", change.id);
        let text = new.as_ref().map(ToString::to_string);
        match (attribute, text.as_deref()) {
            (Attribute::Tag { key }, Some(value)) => {
                block(&mut page, "aws_ec2_tag", &name, &[("resource_id", id), ("key", key), ("value", value)]);
            }
            (Attribute::InlinePolicy { name: policy }, Some(document)) => {
                block(&mut page, "aws_iam_role_policy", &name, &[("name", policy), ("role", id), ("policy", document)]);
            }
            (Attribute::ManagedPolicy {}, Some(document)) => {
                let (path, policy) = managed_policy_path(id);
                if old.is_some() {
                    // It exists, and Terraform would create it a second time.
                    let _ = writeln!(page, "import {{\n  to = aws_iam_policy.{name}\n  id = {}\n}}\n", hcl_string(id));
                }
                block(&mut page, "aws_iam_policy", &name, &[("name", policy), ("path", &path), ("policy", document)]);
            }
            (Attribute::AttachedPolicy { policy_arn }, Some(_)) => {
                let made = plan.changes.iter().find(|other| other.transition.target.id == *policy_arn);
                // By reference if the plan creates the policy, which has to exist first.
                let arn = match made {
                    Some(policy) => format!("aws_iam_policy.tagaudit_{}.arn", policy.id),
                    None => hcl_string(policy_arn),
                };
                let role = hcl_string(id);
                let _ = writeln!(
                    page,
                    "resource \"aws_iam_role_policy_attachment\" \"{name}\" {{\n  role       = {role}\n  policy_arn = {arn}\n}}"
                );
            }
            (Attribute::GroupTag { key }, Some(_)) => {
                let Some(crate::transition::Value::GroupTag { value, propagates }) = new else { continue };
                let (group, key, value) = (hcl_string(id), hcl_string(key), hcl_string(value));
                let _ = writeln!(
                    page,
                    "resource \"aws_autoscaling_group_tag\" \"{name}\" {{\n  autoscaling_group_name = {group}\n\n  tag {{\n    key                 = {key}\n    value               = {value}\n    propagate_at_launch = {propagates}\n  }}\n}}"
                );
            }
            (_, None)
            | (
                Attribute::MetadataOption { .. }
                | Attribute::VpcAttribute { .. }
                | Attribute::SourceDestCheck {}
                | Attribute::TemplateTags { .. }
                | Attribute::Resource {}
                | Attribute::IngressRule { .. },
                _,
            ) => {
                comment(&mut page, &by_hand(&change.transition));
            }
        }
    }
    page
}

/// Instruction for a change that is not a separate resource: it has to be made in the definition of its resource.
fn by_hand(transition: &Transition) -> String {
    let Transition { target, attribute, old, new } = transition;
    let text = |value: &Option<crate::transition::Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
    let new = text(new);
    let what = match attribute {
        Attribute::Tag { key } if transition.new.is_some() => {
            format!("set the tag {} to {}", json!(key), json!(new))
        }
        Attribute::Tag { key } => {
            format!("remove the tag {} with the value {}", json!(key), json!(text(old)))
        }
        Attribute::MetadataOption { option } => {
            format!("in its metadata options set {} to {}", option.name().replace('-', "_"), json!(new))
        }
        Attribute::VpcAttribute { attribute } => format!("set {} to {new}", attribute.name().replace('-', "_")),
        Attribute::SourceDestCheck {} => format!("set source_dest_check to {new}"),
        Attribute::InlinePolicy { name } => format!("remove the inline policy {}", json!(name)),
        Attribute::ManagedPolicy {} => "remove the policy".to_owned(),
        Attribute::AttachedPolicy { policy_arn } => format!("detach {}", json!(policy_arn)),
        Attribute::GroupTag { key } if transition.new.is_some() => {
            format!("set the tag {} to {}", json!(key), json!(new))
        }
        Attribute::GroupTag { key } => format!("remove the tag {}", json!(key)),
        Attribute::TemplateTags { version } => {
            format!("make a new version of {} with the tag specifications {new}", version.name())
        }
        Attribute::Resource {} => "delete it; nothing restores it".to_owned(),
        Attribute::IngressRule { rule } if transition.new.is_some() => format!("add the inbound rule {rule}"),
        Attribute::IngressRule { rule } => format!("remove the inbound rule {rule}"),
    };
    format!("{} {}: {what}", target.kind.noun(), target.id)
}

/// A logical id: letters and digits.
fn logical_id(text: &str) -> String {
    let mut id = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut characters = word.chars();
        id.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        id.push_str(characters.as_str());
    }
    id
}

fn cloudformation(plan: &Plan) -> String {
    let mut page = heading(plan);
    comment(&mut page, "A fragment: merge the properties into the template that creates each resource, found by its");
    comment(&mut page, "PhysicalResourceId. Resources of AWS::IAM can be deployed as they are.");
    let mut resources: BTreeMap<String, Fragment> = BTreeMap::new();
    for change in &plan.changes {
        let Transition { target, attribute, new, .. } = &change.transition;
        let id = target.id.as_str();
        let own = format!("Tagaudit{}", logical_id(&change.id));
        let document = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let on_resource = || Fragment {
            kind: target.kind.cloudformation_type().unwrap_or_default(),
            physical_id: Some(id.to_owned()),
            ..Fragment::default()
        };
        let text = new.as_ref().map(ToString::to_string);
        match (attribute, text.as_deref()) {
            (Attribute::InlinePolicy { name }, Some(text)) => {
                let mut fragment = Fragment { kind: "AWS::IAM::RolePolicy", ..Fragment::default() };
                fragment.set("RoleName", id);
                fragment.set("PolicyName", name.as_str());
                fragment.set("PolicyDocument", document(text));
                resources.insert(own, fragment);
            }
            (Attribute::ManagedPolicy {}, Some(text)) => {
                let (path, name) = managed_policy_path(id);
                let attached = plan.changes.iter().filter(
                    |other| matches!(&other.transition.attribute, Attribute::AttachedPolicy { policy_arn } if policy_arn == id),
                );
                let mut fragment = Fragment { kind: "AWS::IAM::ManagedPolicy", ..Fragment::default() };
                fragment.set("ManagedPolicyName", name);
                fragment.set("Path", path);
                fragment.set("PolicyDocument", document(text));
                fragment.set("Roles", attached.map(|other| other.transition.target.id.as_str()).collect::<Vec<_>>());
                resources.insert(own, fragment);
            }
            // The policy that is attached names the role.
            (Attribute::AttachedPolicy { .. }, Some(_)) => {}
            (Attribute::Tag { key }, Some(value)) => {
                let fragment = resources.entry(logical_id(id)).or_insert_with(on_resource);
                fragment.tags.push(json!({"Key": key, "Value": value}));
            }
            (Attribute::VpcAttribute { attribute }, Some(value)) => {
                let fragment = resources.entry(logical_id(id)).or_insert_with(on_resource);
                fragment.set(attribute.property(), value == "true");
            }
            (Attribute::SourceDestCheck {}, Some(value)) => {
                let fragment = resources.entry(logical_id(id)).or_insert_with(on_resource);
                fragment.set("SourceDestCheck", value == "true");
            }
            (Attribute::MetadataOption { option }, Some(value)) => {
                let fragment = resources.entry(logical_id(id)).or_insert_with(on_resource);
                let value = value.parse::<i32>().map_or_else(|_| json!(value), |number| json!(number));
                fragment.metadata_options.insert(option.property().to_owned(), value);
            }
            (Attribute::GroupTag { key }, Some(_)) => {
                let Some(crate::transition::Value::GroupTag { value, propagates }) = new else { continue };
                let fragment = resources.entry(logical_id(id)).or_insert_with(|| Fragment {
                    kind: "AWS::AutoScaling::AutoScalingGroup",
                    physical_id: Some(id.to_owned()),
                    ..Fragment::default()
                });
                fragment.tags.push(json!({"Key": key, "Value": value, "PropagateAtLaunch": propagates}));
            }
            (_, None)
            | (Attribute::TemplateTags { .. } | Attribute::Resource {} | Attribute::IngressRule { .. }, _) => {
                comment(&mut page, &by_hand(&change.transition));
            }
        }
    }
    let resources: BTreeMap<String, Value> =
        resources.into_iter().map(|(id, fragment)| (id, fragment.into_value())).collect();
    let template = json!({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources});
    // CloudFormation reads YAML 1.1, where `on` is a truth value and `2010-09-09` a date: every string is quoted.
    let options = serde_saphyr::ser_options! { quote_all: true };
    // Plain data without keys other than strings: it always has a YAML form.
    page.push_str(&serde_saphyr::to_string_with_options(&template, options).unwrap_or_default());
    page
}

/// A resource of the template.
#[derive(Default)]
struct Fragment {
    kind: &'static str,
    physical_id: Option<String>,
    properties: Map<String, Value>,
    tags: Vec<Value>,
    metadata_options: Map<String, Value>,
}

impl Fragment {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.properties.insert(name.to_owned(), value.into());
    }

    fn into_value(mut self) -> Value {
        if !self.tags.is_empty() {
            self.properties.insert("Tags".to_owned(), self.tags.into());
        }
        if !self.metadata_options.is_empty() {
            self.properties.insert("MetadataOptions".to_owned(), self.metadata_options.into());
        }
        let mut resource = Map::new();
        resource.insert("Type".to_owned(), self.kind.into());
        if let Some(id) = self.physical_id {
            resource.insert("Metadata".to_owned(), json!({"PhysicalResourceId": id}));
        }
        resource.insert("Properties".to_owned(), self.properties.into());
        resource.into()
    }
}

/// A script that stops at the first error, and before any change if the account is not the plan's; `who` prints the
/// account.
fn script(plan: &Plan, who: &str) -> String {
    let mut page = String::from("#!/bin/sh\n");
    page.push_str(&heading(plan));
    comment(&mut page, "It neither checks before it writes nor keeps a journal: `tagaudit apply` does both.");
    page.push_str("set -eu\n");
    let account = text::shell_quote(&plan.account_id);
    let _ = writeln!(page, "test \"$({who})\" = {account}");
    for batch in crate::fix::plan::batches(&plan.changes.iter().collect::<Vec<_>>()) {
        let Some(first) = batch.first() else { continue };
        page.push('\n');
        because(&mut page, first);
        for command in calls(batch.iter().map(|change| &change.transition)).iter().flat_map(Call::commands) {
            let _ = writeln!(page, "{command}");
        }
    }
    page
}
