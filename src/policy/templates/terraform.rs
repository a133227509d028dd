//! Terraform plans, as `terraform show -json` writes them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Found, FoundPolicy, FoundRole};

/// Every resource of a plan's modules: address, type, values.
fn planned<'v>(module: &'v Value, found: &mut Vec<(&'v str, &'v str, &'v Value)>) {
    for resource in module.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default();
        if let Some(values) = resource.get("values") {
            found.push((text("address"), text("type"), values));
        }
    }
    for child in module.get("child_modules").and_then(Value::as_array).into_iter().flatten() {
        planned(child, found);
    }
}

/// What the configuration of a resource refers to, by address and argument.
fn references(module: &Value, prefix: &str, found: &mut BTreeMap<(String, String), Vec<String>>) {
    for resource in module.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let address = resource.get("address").and_then(Value::as_str).unwrap_or_default();
        for (argument, expression) in resource.get("expressions").and_then(Value::as_object).into_iter().flatten() {
            let names = expression.get("references").and_then(Value::as_array).into_iter().flatten();
            let names: Vec<String> = names.filter_map(Value::as_str).map(|name| format!("{prefix}{name}")).collect();
            if !names.is_empty() {
                found.insert((format!("{prefix}{address}"), argument.clone()), names);
            }
        }
    }
    for (name, call) in module.get("module_calls").and_then(Value::as_object).into_iter().flatten() {
        if let Some(inner) = call.get("module") {
            references(inner, &format!("{prefix}module.{name}."), found);
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

fn text_of(values: &Value, key: &str) -> Option<String> {
    values.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// A Terraform plan, taken apart.
struct Plan<'v> {
    /// Address, type and values of each resource.
    resources: Vec<(&'v str, &'v str, &'v Value)>,
    /// What each argument of the configuration refers to.
    refers: BTreeMap<(String, String), Vec<String>>,
    /// Managed policies: address, ARN if it is known, document.
    managed: Vec<(&'v str, Option<String>, FoundPolicy)>,
    found: Found,
    /// Addresses of policies that belong to a role.
    used: Vec<String>,
}

impl<'v> Plan<'v> {
    fn new(plan: &'v Value) -> Self {
        let mut resources = Vec::new();
        if let Some(root) = plan.pointer("/planned_values/root_module") {
            planned(root, &mut resources);
        }
        let mut refers = BTreeMap::new();
        if let Some(root) = plan.pointer("/configuration/root_module") {
            references(root, "", &mut refers);
        }
        let (mut found, mut managed) = (Found::default(), Vec::new());
        for (address, kind, values) in &resources {
            if *kind == "aws_iam_policy" {
                match text_of(values, "policy") {
                    Some(text) => {
                        let policy = FoundPolicy { address: (*address).to_owned(), text };
                        managed.push((*address, text_of(values, "arn"), policy));
                    }
                    None => found.unknown.push(format!("{address}: its document is known after apply only")),
                }
            }
        }
        Self { resources, refers, managed, found, used: Vec::new() }
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
        let is_it = |(policy, known, _): &&(&str, Option<String>, FoundPolicy)| match (arn, known) {
            (Some(arn), Some(known)) => arn == known,
            _ => self.refers_to(address, argument, policy),
        };
        self.managed.iter().find(is_it).map(|(_, _, policy)| policy.clone())
    }

    fn attach(&mut self, role: &mut FoundRole, address: &str, argument: &str, arn: Option<&str>) {
        if let Some(policy) = self.named(address, argument, arn) {
            self.used.push(policy.address.clone());
            role.policies.push(policy);
        } else {
            let shown = arn.unwrap_or("of a data source");
            self.found.unknown.push(format!("{address}: the managed policy {shown} is not in the plan"));
        }
    }

    fn role(&mut self, address: &str, values: &Value) -> FoundRole {
        let mut role = FoundRole { address: address.to_owned(), ..FoundRole::default() };
        let name = text_of(values, "name");
        for inline in values.get("inline_policy").and_then(Value::as_array).into_iter().flatten() {
            let label = text_of(inline, "name").unwrap_or_default();
            match text_of(inline, "policy") {
                Some(text) => {
                    role.policies.push(FoundPolicy { address: format!("{address}.inline_policy.{label}"), text });
                }
                None => {
                    self.found.unknown.push(format!("{address}: the inline policy {label} is known after apply only"));
                }
            }
        }
        for arn in values.get("managed_policy_arns").and_then(Value::as_array).into_iter().flatten() {
            self.attach(&mut role, address, "managed_policy_arns", arn.as_str());
        }
        for (other, kind, values) in self.resources.clone() {
            // What is known decides; a reference does where it is known after apply only.
            let belongs = match text_of(values, "role") {
                Some(known) if name.is_some() => Some(known) == name,
                _ => self.refers_to(other, "role", address),
            };
            let listed = values.get("roles").and_then(Value::as_array).is_some_and(|roles| {
                name.as_deref().is_some_and(|name| roles.iter().any(|role| role.as_str() == Some(name)))
            });
            match kind {
                "aws_iam_role_policy" if belongs => match text_of(values, "policy") {
                    Some(text) => {
                        self.used.push(other.to_owned());
                        role.policies.push(FoundPolicy { address: other.to_owned(), text });
                    }
                    None => self.found.unknown.push(format!("{other}: its document is known after apply only")),
                },
                "aws_iam_role_policy_attachment" if belongs => {
                    self.attach(&mut role, other, "policy_arn", text_of(values, "policy_arn").as_deref());
                }
                "aws_iam_policy_attachment" if listed => {
                    self.attach(&mut role, other, "policy_arn", text_of(values, "policy_arn").as_deref());
                }
                _ => {}
            }
        }
        let arn = text_of(values, "permissions_boundary");
        let key = (without_index(address), "permissions_boundary".to_owned());
        if arn.is_some() || self.refers.contains_key(&key) {
            role.boundary = self.named(address, "permissions_boundary", arn.as_deref());
            if let Some(policy) = &role.boundary {
                self.used.push(policy.address.clone());
            } else {
                let arn = arn.unwrap_or_default();
                self.found.unknown.push(format!("{address}: the permissions boundary {arn} is not in the plan"));
            }
        }
        role
    }
}

pub(super) fn find(plan: &Value) -> Found {
    let mut plan = Plan::new(plan);
    for (address, kind, values) in plan.resources.clone() {
        if kind == "aws_iam_role" {
            let role = plan.role(address, values);
            plan.found.roles.push(role);
        }
    }
    for (address, kind, values) in plan.resources.clone() {
        if kind == "aws_iam_role_policy"
            && !plan.used.iter().any(|known| known == address)
            && let Some(text) = text_of(values, "policy")
        {
            plan.found.policies.push(FoundPolicy { address: address.to_owned(), text });
        }
    }
    let Plan { mut found, managed, used, .. } = plan;
    let unattached = managed.into_iter().map(|(_, _, policy)| policy);
    found.policies.extend(unattached.filter(|policy| !used.contains(&policy.address)));
    found
}
