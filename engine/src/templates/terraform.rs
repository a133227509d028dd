//! Terraform plans and states, as `terraform show -json` writes them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, FoundPolicy, FoundRole, Use, nested};
use crate::json::{Node, Value};
use crate::text::Text;

/// A resource of a plan.
#[derive(Clone, Copy)]
struct Resource<'v> {
    address: &'v str,
    kind: &'v str,
    values: &'v Node,
}

/// Types that hold identity policies: the type of their inline policies, the type that attaches a managed one, the argument
/// that names the holder, and the argument of `aws_iam_policy_attachment`.
const HOLDERS: &[(&str, &str, &str, &str, &str)] = &[
    ("aws_iam_role", "aws_iam_role_policy", "aws_iam_role_policy_attachment", "role", "roles"),
    ("aws_iam_user", "aws_iam_user_policy", "aws_iam_user_policy_attachment", "user", "users"),
    ("aws_iam_group", "aws_iam_group_policy", "aws_iam_group_policy_attachment", "group", "groups"),
];

/// Every resource of a plan's modules.
fn planned<'v>(module: &'v Node, found: &mut Vec<Resource<'v>>) {
    for resource in module.get("resources").and_then(Node::items).unwrap_or_default() {
        let text = |key: &str| resource.get(key).and_then(Node::as_str).unwrap_or_default();
        if let Some(values) = resource.get("values")
            && text("mode") != "data"
        {
            found.push(Resource { address: text("address"), kind: text("type"), values });
        }
    }
    for child in module.get("child_modules").and_then(Node::items).unwrap_or_default() {
        planned(child, found);
    }
}

/// What the configuration of a resource refers to, by address and argument.
fn references(module: &Node, prefix: &str, found: &mut BTreeMap<(String, String), Vec<String>>) {
    for resource in module.get("resources").and_then(Node::items).unwrap_or_default() {
        let address = resource.get("address").and_then(Node::as_str).unwrap_or_default();
        for member in resource.get("expressions").and_then(Node::members).unwrap_or_default() {
            let names = member.value.get("references").and_then(Node::items).unwrap_or_default();
            let names: Vec<String> =
                names.iter().filter_map(Node::as_str).map(|name| format!("{prefix}{name}")).collect();
            if !names.is_empty() {
                found.insert((format!("{prefix}{address}"), member.key.to_string()), names);
            }
        }
    }
    for call in module.get("module_calls").and_then(Node::members).unwrap_or_default() {
        if let Some(inner) = call.value.get("module") {
            references(inner, &format!("{prefix}module.{}.", call.key), found);
        }
    }
}

/// An address without the index of `count` or `for_each`, as configurations write it.
fn without_index(address: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for character in address.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            other if depth == 0 => out.push(other),
            _ => {}
        }
    }
    out
}

/// The index of an address, such as `["a"]`; empty without one.
fn index_of(address: &str) -> &str {
    address.rfind('[').filter(|_| address.ends_with(']')).and_then(|at| address.get(at..)).unwrap_or_default()
}

fn text_of<'v>(values: &'v Node, key: &str) -> Option<&'v str> {
    values.get(key).and_then(Node::as_str)
}

/// A Terraform plan, taken apart.
struct Plan<'v> {
    file: &'v str,
    resources: Vec<Resource<'v>>,
    /// What each argument of the configuration refers to.
    refers: BTreeMap<(String, String), Vec<String>>,
    /// Managed policies: address, ARN if it is known, document.
    managed: Vec<(&'v str, Option<&'v str>, FoundPolicy)>,
    found: Found,
    /// Addresses of policies that belong to a role.
    used: BTreeSet<String>,
}

impl<'v> Plan<'v> {
    fn new(file: &'v str, plan: &'v Node) -> Self {
        let mut resources = Vec::new();
        let root = plan.at(&["planned_values", "root_module"]).or_else(|| plan.at(&["values", "root_module"]));
        if let Some(root) = root {
            planned(root, &mut resources);
        }
        let mut refers = BTreeMap::new();
        if let Some(root) = plan.at(&["configuration", "root_module"]) {
            references(root, "", &mut refers);
        }
        let found = Found { is_template: true, ..Found::default() };
        let mut plan = Self { file, resources, refers, managed: Vec::new(), found, used: BTreeSet::new() };
        for resource in plan.resources.clone() {
            if resource.kind == "aws_iam_policy" {
                let policy = plan.policy(resource.address, Use::Managed, resource.values.get("policy"));
                plan.managed.push((resource.address, text_of(resource.values, "arn"), policy));
            }
        }
        plan
    }

    /// The document of an argument, which is JSON as text; one that is known after apply only says so.
    fn policy(&mut self, address: &str, used_as: Use, value: Option<&Node>) -> FoundPolicy {
        let value = value.filter(|node| node.value != Value::Null);
        let document = if let Some((node, Some(text))) = value.map(|node| (node, node.as_str())) {
            nested::parse(text, node.span, self.file)
        } else {
            self.found.unknown.push(format!("{address}: its document is known after apply only"));
            let span = value.map(|node| node.span).unwrap_or_default();
            Ok(Node { span, value: Value::String(Text::unknown(address)) })
        };
        FoundPolicy { address: address.to_owned(), used_as, document }
    }

    /// Whether the configuration of an argument refers to a resource. Instances of `for_each` refer to those of their key.
    fn refers_to(&self, address: &str, argument: &str, target: &str) -> bool {
        let (one, other) = (index_of(address), index_of(target));
        let is_sibling = one.is_empty() || other.is_empty() || one == other;
        let list = self.refers.get(&(without_index(address), argument.to_owned()));
        let target = without_index(target);
        is_sibling
            && list
                .is_some_and(|list| list.iter().any(|name| *name == target || name.starts_with(&format!("{target}."))))
    }

    /// The managed policy that an argument names: by its ARN where that is known, by reference where it is not.
    fn named(&self, address: &str, argument: &str, arn: Option<&str>) -> Option<FoundPolicy> {
        let is_it = |(policy, known, _): &&(&str, Option<&str>, FoundPolicy)| match (arn, known) {
            (Some(arn), Some(known)) => arn == *known,
            _ => self.refers_to(address, argument, policy),
        };
        self.managed.iter().find(is_it).map(|(_, _, policy)| policy.clone())
    }

    /// The managed policy that an argument names, or what stands for one that is not in the plan.
    fn named_or_not_here(&mut self, what: &str, address: &str, argument: &str, arn: Option<&str>) -> FoundPolicy {
        if let Some(policy) = self.named(address, argument, arn) {
            self.used.insert(policy.address.clone());
            return policy;
        }
        let shown = arn.unwrap_or("of a data source");
        self.found.unknown.push(format!("{address}: the {what} {shown} is not in the plan"));
        let text = arn.map_or_else(|| Text::unknown(&format!("{address}.{argument}")), Text::from);
        FoundPolicy::not_here(&text, crate::json::Span::default())
    }

    fn role(&mut self, holder: Resource<'v>) -> FoundRole {
        let address = holder.address;
        let mut role = FoundRole { address: address.to_owned(), ..FoundRole::default() };
        let Some((_, inline, attachment, argument, listed)) = HOLDERS.iter().find(|(kind, ..)| *kind == holder.kind)
        else {
            return role;
        };
        let name = text_of(holder.values, "name");
        for inline in holder.values.get("inline_policy").and_then(Node::items).unwrap_or_default() {
            let label = text_of(inline, "name").unwrap_or_default();
            // The provider writes one without name and text for a role without inline policies.
            if label.is_empty() && text_of(inline, "policy").is_some_and(str::is_empty) {
                continue;
            }
            let address = format!("{address}.inline_policy.{label}");
            let policy = self.policy(&address, Use::Inline, inline.get("policy"));
            role.policies.push(policy);
        }
        for arn in holder.values.get("managed_policy_arns").and_then(Node::items).unwrap_or_default() {
            let policy = self.named_or_not_here("managed policy", address, "managed_policy_arns", arn.as_str());
            role.policies.push(policy);
        }
        for other in self.resources.clone() {
            // What is known decides; a reference does where it is known after apply only.
            let belongs = match text_of(other.values, argument) {
                Some(known) if name.is_some() => Some(known) == name,
                _ => self.refers_to(other.address, argument, address),
            };
            let is_listed = match other.values.get(listed).and_then(Node::items) {
                Some(names) => name.is_some_and(|name| names.iter().any(|one| one.as_str() == Some(name))),
                None => self.refers_to(other.address, listed, address),
            };
            let arn = text_of(other.values, "policy_arn");
            if other.kind == *inline && belongs {
                self.used.insert(other.address.to_owned());
                let policy = self.policy(other.address, Use::Inline, other.values.get("policy"));
                role.policies.push(policy);
            } else if (other.kind == *attachment && belongs) || (other.kind == "aws_iam_policy_attachment" && is_listed)
            {
                let policy = self.named_or_not_here("managed policy", other.address, "policy_arn", arn);
                role.policies.push(policy);
            }
        }
        let arn = text_of(holder.values, "permissions_boundary").filter(|arn| !arn.is_empty());
        let key = (without_index(address), "permissions_boundary".to_owned());
        if arn.is_some() || self.refers.contains_key(&key) {
            role.boundary = Some(self.named_or_not_here("permissions boundary", address, "permissions_boundary", arn));
        }
        role
    }

    /// Trust policies, control policies, permission sets, and documents that are none of an identity.
    fn note_the_rest(&mut self) {
        for Resource { address, kind, values } in self.resources.clone() {
            let known = |key: &str| values.get(key).filter(|node| node.as_str().is_some_and(|text| !text.is_empty()));
            match kind {
                "aws_iam_role" => {
                    if let Some(document) = known("assume_role_policy") {
                        let trust = self.policy(&format!("{address}.assume_role_policy"), Use::Trust, Some(document));
                        self.found.trusts.push(trust);
                    }
                }
                "aws_organizations_policy"
                    if matches!(text_of(values, "type"), None | Some("SERVICE_CONTROL_POLICY")) =>
                {
                    if let Some(document) = known("content") {
                        let policy = self.policy(address, Use::Control, Some(document));
                        self.found.policies.push(policy);
                    }
                }
                "aws_ssoadmin_permission_set_inline_policy" => {
                    if let Some(document) = known("inline_policy") {
                        let policy = self.policy(address, Use::Document, Some(document));
                        self.found.policies.push(policy);
                    }
                }
                kind if HOLDERS.iter().any(|(_, inline, ..)| *inline == kind) => {
                    if !self.used.contains(address) {
                        let policy = self.policy(address, Use::Inline, values.get("policy"));
                        self.found.policies.push(policy);
                    }
                }
                "aws_iam_policy" => {}
                kind => {
                    let is_document = |text: &str| text.trim_start().starts_with('{') && text.contains("Statement");
                    let other = ["policy", "access_policies", "resource_policy"].into_iter();
                    let mut other = other.filter(|key| text_of(values, key).is_some_and(is_document));
                    if let Some(key) = other.next() {
                        self.found.left_out.push(format!("{address}.{key} ({kind}), no policy of an identity"));
                    }
                }
            }
        }
    }
}

pub(super) fn find(file: &str, plan: &Node) -> Found {
    let mut plan = Plan::new(file, plan);
    for resource in plan.resources.clone() {
        if HOLDERS.iter().any(|(kind, ..)| *kind == resource.kind) {
            let role = plan.role(resource);
            // A user or group without any policy is no principal to compare.
            if resource.kind == "aws_iam_role" || !role.policies.is_empty() {
                plan.found.roles.push(role);
            }
        }
    }
    plan.note_the_rest();
    let Plan { mut found, managed, used, .. } = plan;
    let unattached = managed.into_iter().map(|(_, _, policy)| policy);
    found.policies.extend(unattached.filter(|policy| !used.contains(&policy.address)));
    found
}
