//! Terraform plans and states, in the format of `terraform show -json`. A known value determines the associations; if
//! the value is known only after apply, the references in the configuration do, provided that they identify exactly one
//! resource. All others are possible associations.

use std::collections::BTreeSet;

use super::{Found, FoundPolicy, FoundRole, Use, nested};
use crate::dialect::{Dialect, IAM, RAM};
use crate::json::{Node, Value};
use crate::text::Text;

mod boundary;
mod identities;
mod references;

use boundary::{merge_boundaries, with_conditions};
use identities::{HOLDERS, HolderType, MEMBERSHIPS, POLICIES, PolicyType, REQUIRED, SEVERAL, policy_type};
use references::{Address, Configuration};

/// A resource of a plan.
struct Resource<'v> {
    address: &'v str,
    kind: &'v str,
    values: &'v Node,
    place: Address,
}

/// Collects every resource of a plan's modules.
fn planned<'v>(module: &'v Node, found: &mut Vec<Resource<'v>>) {
    for resource in module.get("resources").and_then(Node::items).unwrap_or_default() {
        let text = |key: &str| resource.get(key).and_then(Node::as_str).unwrap_or_default();
        if let Some(values) = resource.get("values")
            && text("mode") != "data"
        {
            let address = text("address");
            found.push(Resource { address, kind: text("type"), values, place: Address::parse(address) });
        }
    }
    for child in module.get("child_modules").and_then(Node::items).unwrap_or_default() {
        planned(child, found);
    }
}

fn text_value<'v>(values: &'v Node, key: &str) -> Option<&'v str> {
    values.get(key).and_then(Node::as_str)
}

/// First of several arguments that is set.
fn first_value<'v>(values: &'v Node, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| text_value(values, key))
}

/// Resources of a type to which an argument refers.
#[derive(Debug, Default)]
struct Matches {
    /// Indices of resources to which it certainly refers.
    certain: Vec<usize>,
    /// Indices of resources to which it may refer.
    possible: Vec<usize>,
    /// True if it may refer to something that is not in the plan.
    is_open: bool,
    /// Names that none of the resources has.
    unknown_names: Vec<String>,
}

impl Matches {
    /// All indices; the flag is true if the reference is certain.
    fn all(&self) -> impl Iterator<Item = (usize, bool)> {
        self.certain.iter().map(|one| (*one, true)).chain(self.possible.iter().map(|one| (*one, false)))
    }
}

/// A policy of a holder, with the conditions under which it is attached.
type Attached = (FoundPolicy, Vec<String>);

/// A parsed Terraform plan.
struct Plan<'v> {
    file: &'v str,
    resources: Vec<Resource<'v>>,
    configuration: Configuration<'v>,
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
        let found = Found { is_template: true, ..Found::default() };
        Self { file, resources, configuration: Configuration::new(plan), found, used: BTreeSet::new() }
    }

    /// Document of an argument, which is JSON text; notes a document that is known only after apply.
    fn policy(&mut self, address: &str, used_as: Use, dialect: &'static Dialect, value: Option<&Node>) -> FoundPolicy {
        let value = value.filter(|node| node.value != Value::Null);
        let document = if let Some((node, Some(text))) = value.map(|node| (node, node.as_str())) {
            nested::parse(text, node.span, self.file)
        } else {
            self.note(format!("{address}: its document is known only after apply"));
            let span = value.map(|node| node.span).unwrap_or_default();
            Ok(Node { span, value: Value::String(Text::unknown(address)) })
        };
        FoundPolicy { address: address.to_owned(), used_as, dialect: Some(dialect), document }
    }

    /// Notes a fact that the plan does not have, without duplicates.
    fn note(&mut self, what: String) {
        if !self.found.unknown.contains(&what) {
            self.found.unknown.push(what);
        }
    }

    fn resources_by_kind(&self, kind: &str) -> Vec<usize> {
        let all = self.resources.iter().enumerate();
        all.filter(|(_, resource)| resource.kind == kind).map(|(index, _)| index).collect()
    }

    /// Resources of a type to which an argument refers. A known value is compared with their `key`. `planned_values`
    /// has null for a value known to be absent, drops an unknown value, and has null for an unknown element.
    fn match_resources(&self, by: &Resource<'v>, argument: &str, kind: &str, keys: &[&str]) -> Matches {
        let mut meant = Matches::default();
        let candidates = self.resources_by_kind(kind);
        let value = by.values.get(argument);
        let (known, unknown): (Vec<&str>, Option<usize>) = match value.map(|value| (value, &value.value)) {
            Some((_, Value::Null)) => return meant,
            Some((_, Value::Array(items))) => {
                let known: Vec<&str> = items.iter().filter_map(Node::as_str).collect();
                let unknown = items.len() - known.len();
                (known, Some(unknown))
            }
            Some((value, _)) => (value.as_str().filter(|text| !text.is_empty()).into_iter().collect(), Some(0)),
            None => (Vec::new(), None),
        };
        for text in known {
            self.by_name(by, text, (&candidates, keys), &mut meant);
        }
        if unknown == Some(0) {
            // A known name may belong to a holder whose own name is unknown: in that case use the reference.
            let targets = self.referenced_candidates(by, argument, &candidates);
            let is_unnamed =
                |one: &&usize| self.resources.get(**one).is_some_and(|one| first_value(one.values, keys).is_none());
            let unnamed: Vec<usize> = targets.0.iter().filter(is_unnamed).copied().collect();
            if !meant.unknown_names.is_empty() && !unnamed.is_empty() {
                meant.unknown_names.clear();
                if unnamed.len() == 1 { meant.certain.extend(unnamed) } else { meant.possible.extend(unnamed) }
            }
            return meant;
        }
        // A required argument is present even if a plan without its configuration lacks it.
        let is_required = REQUIRED.contains(&argument);
        let is_said = self.configuration.has_references(&by.place, argument);
        let may_be_absent = !is_required || self.configuration.has_resource(&by.place);
        if unknown.is_none() && !is_said && may_be_absent {
            return meant;
        }
        let (targets, is_open) = self.referenced_candidates(by, argument, &candidates);
        let is_open = is_open || !is_said;
        let rest: Vec<usize> = targets.into_iter().filter(|one| !meant.certain.contains(one)).collect();
        let is_single = unknown.is_none() && !SEVERAL.contains(&argument);
        let is_exact = !is_open
            && match unknown {
                // The elements of a set differ: if there are as many as candidates, they are all of them.
                Some(count) => count == rest.len(),
                None => is_single && rest.len() == 1,
            };
        if is_exact {
            meant.certain.extend(rest);
        } else {
            let others = if is_open && is_name(keys) { candidates } else { Vec::new() };
            meant.possible.extend(rest.iter().copied().chain(others.into_iter().filter(|one| !rest.contains(one))));
            meant.possible.retain(|one| !meant.certain.contains(one));
            meant.is_open |= is_open || rest.is_empty();
        }
        meant
    }

    /// Candidates to which the configuration of an argument refers; true if it may refer to others.
    fn referenced_candidates(&self, by: &Resource<'v>, argument: &str, candidates: &[usize]) -> (Vec<usize>, bool) {
        let targets = self.configuration.targets(&by.place, argument);
        let mut is_open = targets.is_open;
        let mut found = Vec::new();
        for target in &targets.resources {
            let is_it = |one: &&usize| self.resources.get(**one).is_some_and(|one| target.covers(&one.place));
            let before = found.len();
            found.extend(candidates.iter().filter(is_it).copied());
            // The outputs of another resource may derive from anything.
            is_open |= found.len() == before;
        }
        found.sort_unstable();
        found.dedup();
        (found, is_open)
    }

    /// Names are unique in an account: if two resources have the same one, the reference is to that of the same
    /// provider.
    fn by_name(&self, by: &Resource<'v>, text: &str, (candidates, keys): (&[usize], &[&str]), meant: &mut Matches) {
        let named = candidates.iter().filter_map(|index| Some((*index, self.resources.get(*index)?)));
        let named: Vec<_> = named.filter(|(_, one)| first_value(one.values, keys) == Some(text)).collect();
        let own = self.configuration.provider_credentials(&by.place);
        let is_own = |one: &Resource<'v>| {
            let other = self.configuration.provider_credentials(&one.place);
            !is_name(keys) || own.is_none() || other.is_none() || own == other
        };
        let surely: Vec<usize> = named.iter().filter(|(_, one)| is_own(one)).map(|(index, _)| *index).collect();
        match (surely.as_slice(), named.is_empty()) {
            (_, true) => meant.unknown_names.push(text.to_owned()),
            ([], false) => meant.possible.extend(named.iter().map(|(index, _)| *index)),
            (_, false) => meant.certain.extend(surely),
        }
    }

    /// Managed policies to which an argument refers, with a placeholder for one that is not in the plan.
    fn attached(&mut self, what: &str, by: usize, argument: &str, of: &PolicyType) -> Vec<Attached> {
        let Some(resource) = self.resources.get(by) else { return Vec::new() };
        let (address, span) =
            (resource.address, resource.values.get(argument).map(|node| node.span).unwrap_or_default());
        // A system policy of RAM may have the name of a custom one.
        let is_system = text_value(resource.values, "policy_type") == Some("System");
        let kind = if is_system { "" } else { of.kind };
        let meant = self.match_resources(resource, argument, kind, of.keys);
        let mut found = Vec::new();
        for (index, is_sure) in meant.all() {
            let Some(policy) = self.resources.get(index) else { continue };
            let (name, document) = (policy.address, of.documents.iter().find_map(|key| policy.values.get(key)));
            let policy = self.policy(name, Use::Managed, of.dialect, document);
            self.used.insert(name.to_owned());
            if !is_sure {
                self.note(format!("{address}: it is known only after apply if {name} is its {what}"));
            }
            found.push((policy, if is_sure { Vec::new() } else { vec![format!("{address} names {name}")] }));
        }
        for arn in &meant.unknown_names {
            self.note(format!("{address}: the {what} {arn} is not in the plan"));
            found.push((FoundPolicy::placeholder(&Text::from(arn.as_str()), span), Vec::new()));
        }
        if meant.is_open {
            self.note(format!(
                "{address}: the {what} from a data source, a local value or another module is not in the plan"
            ));
            found.push((FoundPolicy::placeholder(&Text::from(format!("that {address} names")), span), Vec::new()));
        }
        found
    }

    /// Holders to which a resource refers; an uncertain one has its condition and is noted.
    fn holders(&mut self, by: usize, argument: &str, of: &HolderType) -> Vec<(usize, Option<String>)> {
        let Some(resource) = self.resources.get(by) else { return Vec::new() };
        let address = resource.address;
        let meant = self.match_resources(resource, argument, of.kind, of.names);
        let mut found = Vec::new();
        for (index, is_sure) in meant.all() {
            let Some(holder) = self.resources.get(index).map(|holder| holder.address) else { continue };
            if !is_sure {
                self.note(format!("{address}: it is known only after apply if its `{argument}` is {holder}"));
            }
            found.push((index, (!is_sure).then(|| format!("{address} belongs to {holder}"))));
        }
        found
    }

    /// Policies of each holder, by its index, in the order of the plan.
    fn links(&mut self) -> Vec<Vec<Attached>> {
        let mut links: Vec<Vec<Attached>> = self.resources.iter().map(|_| Vec::new()).collect();
        for by in 0..self.resources.len() {
            let Some((kind, address, document)) =
                self.resources.get(by).map(|one| (one.kind, one.address, one.values.get("policy")))
            else {
                continue;
            };
            for of in HOLDERS {
                let argument = match kind {
                    _ if kind == of.inline || kind == of.attachment => of.argument,
                    "aws_iam_policy_attachment" if !of.listed.is_empty() => of.listed,
                    _ => continue,
                };
                let holders = self.holders(by, argument, of);
                if holders.is_empty() {
                    continue;
                }
                let policies = if kind == of.inline {
                    self.used.insert(address.to_owned());
                    vec![(self.policy(address, of.use_of_inline, of.dialect, document), Vec::new())]
                } else {
                    let managed = policy_type(of.dialect);
                    self.attached("managed policy", by, managed.named_by, managed)
                };
                for (index, condition) in holders {
                    let given = policies.iter().cloned().map(|(policy, mut conditions)| {
                        conditions.extend(condition.clone());
                        (policy, conditions)
                    });
                    links.get_mut(index).into_iter().for_each(|link| link.extend(given.clone()));
                }
            }
        }
        links
    }

    /// Groups of each user, with the conditions of the membership. Source: IAM User Guide, "IAM user groups".
    fn memberships(&mut self) -> Vec<(usize, usize, Vec<String>)> {
        let mut found = Vec::new();
        for by in 0..self.resources.len() {
            let Some(kind) = self.resources.get(by).map(|one| one.kind) else { continue };
            let Some((_, user, group)) = MEMBERSHIPS.iter().find(|(known, ..)| *known == kind) else { continue };
            let is_of = |of: &&HolderType| of.kind.starts_with("aws_") == kind.starts_with("aws_");
            let of_group = HOLDERS.iter().filter(is_of).find(|of| of.kind.ends_with("_group"));
            let of_user = HOLDERS.iter().filter(is_of).find(|of| of.kind.ends_with("_user"));
            let (Some(of_user), Some(of_group)) = (of_user, of_group) else { continue };
            let (users, groups) = (self.holders(by, user, of_user), self.holders(by, group, of_group));
            for (user, of_user) in &users {
                for (group, of_group) in &groups {
                    found.push((*user, *group, of_user.iter().chain(of_group).cloned().collect()));
                }
            }
        }
        found
    }

    /// A role, user or group with its policies.
    fn holder(
        &mut self,
        index: usize,
        of: &HolderType,
        links: &[Vec<Attached>],
        groups: &[(usize, Vec<String>)],
    ) -> FoundRole {
        let Some((address, values)) = self.resources.get(index).map(|one| (one.address, one.values)) else {
            return FoundRole::default();
        };
        let mut attached: Vec<Attached> = Vec::new();
        for inline in values.get("inline_policy").and_then(Node::items).unwrap_or_default() {
            let label = text_value(inline, "name").unwrap_or_default();
            // For a role without inline policies the provider writes one with empty name and text.
            if label.is_empty() && text_value(inline, "policy").is_some_and(str::is_empty) {
                continue;
            }
            let address = format!("{address}.inline_policy.{label}");
            let policy = self.policy(&address, Use::Inline, of.dialect, inline.get("policy"));
            attached.push((policy, Vec::new()));
        }
        attached.extend(self.attached("managed policy", index, "managed_policy_arns", policy_type(of.dialect)));
        attached.extend(links.get(index).into_iter().flatten().cloned());
        for (group, conditions) in groups {
            attached.extend(links.get(*group).into_iter().flatten().cloned().map(|(policy, mut own)| {
                own.extend(conditions.iter().cloned());
                (policy, own)
            }));
        }
        let policies = attached.into_iter().map(|(policy, conditions)| with_conditions(policy, &conditions)).collect();
        let bounds = self.attached("permissions boundary", index, "permissions_boundary", policy_type(of.dialect));
        let boundary = merge_boundaries(bounds, address);
        FoundRole { address: address.to_owned(), dialect: Some(of.dialect), policies, boundary }
    }

    /// Adds a policy that belongs to no role, if its document is set.
    fn found_alone(&mut self, address: &str, used_as: Use, dialect: &'static Dialect, document: Option<&Node>) {
        if let Some(document) = document {
            let policy = self.policy(address, used_as, dialect, Some(document));
            self.found.policies.push(policy);
        }
    }

    /// Collects trust policies, control policies, permission sets, and documents that are not identity policies.
    fn collect_remaining_policies(&mut self) {
        for index in 0..self.resources.len() {
            let Some((address, kind, values)) =
                self.resources.get(index).map(|one| (one.address, one.kind, one.values))
            else {
                continue;
            };
            let known = |key: &str| values.get(key).filter(|node| node.as_str().is_some_and(|text| !text.is_empty()));
            match kind {
                "aws_iam_role" | "alicloud_ram_role" => {
                    let arguments = ["assume_role_policy", "assume_role_policy_document", "document"];
                    if let Some((argument, document)) = arguments.into_iter().find_map(|key| Some((key, known(key)?))) {
                        let of = if kind == "aws_iam_role" { &IAM } else { &RAM };
                        let trust = self.policy(&format!("{address}.{argument}"), Use::Trust, of, Some(document));
                        self.found.trusts.push(trust);
                    }
                }
                "aws_organizations_policy"
                    if matches!(text_value(values, "type"), None | Some("SERVICE_CONTROL_POLICY")) =>
                {
                    self.found_alone(address, Use::Control, &IAM, known("content"));
                }
                "alicloud_resource_manager_control_policy" => {
                    self.found_alone(address, Use::Control, &RAM, known("policy_document"));
                }
                "alicloud_resource_manager_policy" => {
                    self.found_alone(address, Use::Managed, &RAM, known("policy_document"));
                }
                "aws_ssoadmin_permission_set_inline_policy" => {
                    self.found_alone(address, Use::Document, &IAM, known("inline_policy"));
                }
                "aws_ssoadmin_managed_policy_attachment" => {
                    let arn = text_value(values, "managed_policy_arn").unwrap_or("of a data source");
                    self.note(format!("{address}: the managed policy {arn} of a permission set is not compared"));
                }
                _ if self.used.contains(address) => {}
                kind if HOLDERS.iter().any(|of| of.inline == kind) => {
                    let of = HOLDERS.iter().find(|of| of.inline == kind);
                    let used_as = of.map_or(Use::Inline, |of| of.use_of_inline);
                    let policy = self.policy(address, used_as, &IAM, values.get("policy"));
                    self.found.policies.push(policy);
                }
                kind if POLICIES.iter().any(|of| of.kind == kind) => {
                    for of in POLICIES.iter().filter(|of| of.kind == kind) {
                        let document = of.documents.iter().find_map(|key| values.get(key));
                        let policy = self.policy(address, Use::Managed, of.dialect, document);
                        self.found.policies.push(policy);
                    }
                }
                kind => {
                    let is_document = |text: &str| text.trim_start().starts_with('{') && text.contains("Statement");
                    let other = OTHER_POLICY_ARGUMENTS.into_iter();
                    let mut other = other.filter(|key| text_value(values, key).is_some_and(is_document));
                    if let Some(key) = other.next() {
                        let what = match kind {
                            "aws_organizations_policy" => "not a service control policy",
                            _ => "not an identity policy",
                        };
                        self.found.skipped.push(format!("{address}.{key} ({kind}), {what}"));
                    }
                }
            }
        }
    }
}

/// True if the keys of resources are their names, which are unique in an account.
fn is_name(keys: &[&str]) -> bool {
    keys.iter().any(|key| key.ends_with("name"))
}

/// Arguments with policies that are not compared.
const OTHER_POLICY_ARGUMENTS: [&str; 8] = [
    "policy",
    "access_policies",
    "resource_policy",
    "content",
    "policy_document",
    "document",
    "assume_role_policy_document",
    "access_policy",
];

pub(super) fn find(file: &str, plan: &Node) -> Found {
    let mut plan = Plan::new(file, plan);
    let links = plan.links();
    let memberships = plan.memberships();
    for index in 0..plan.resources.len() {
        let Some(kind) = plan.resources.get(index).map(|one| one.kind) else { continue };
        if let Some(of) = HOLDERS.iter().find(|of| of.kind == kind) {
            let own = memberships.iter().filter(|(user, ..)| *user == index);
            let groups: Vec<(usize, Vec<String>)> =
                own.map(|(_, group, conditions)| (*group, conditions.clone())).collect();
            let role = plan.holder(index, of, &links, &groups);
            // Skip users and groups without policies: there is nothing to compare.
            if of.is_role || !role.policies.is_empty() {
                plan.found.roles.push(role);
            }
        }
    }
    plan.collect_remaining_policies();
    plan.found
}
