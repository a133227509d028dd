//! Terraform plans and states, in the format of `terraform show -json`. A known value determines the associations; if
//! the value is known only after apply, the references in the configuration do, provided that they identify exactly one
//! resource. All others are possible associations.

use std::collections::BTreeSet;

use super::{Found, FoundPolicy, FoundRole, Use, guarded, nested};
use crate::json::{Either, Node, Value};
use crate::text::Text;

mod references;

use references::{Address, Configuration};

/// A resource of a plan.
struct Resource<'v> {
    address: &'v str,
    kind: &'v str,
    values: &'v Node,
    place: Address,
}

/// Types with identity policies: the type of their inline policies, the type that attaches a managed one, the argument
/// for the holder, and the argument of `aws_iam_policy_attachment`.
const HOLDERS: &[(&str, &str, &str, &str, &str)] = &[
    ("aws_iam_role", "aws_iam_role_policy", "aws_iam_role_policy_attachment", "role", "roles"),
    ("aws_iam_user", "aws_iam_user_policy", "aws_iam_user_policy_attachment", "user", "users"),
    ("aws_iam_group", "aws_iam_group_policy", "aws_iam_group_policy_attachment", "group", "groups"),
];

/// Use of an inline policy, by the type of the resource.
fn inline_use(kind: &str) -> Use {
    match kind {
        "aws_iam_user_policy" => Use::UserInline,
        "aws_iam_group_policy" => Use::GroupInline,
        _ => Use::Inline,
    }
}

/// Types that add users to groups: the argument of the user, and that of the group.
const MEMBERSHIPS: [(&str, &str, &str); 2] =
    [("aws_iam_user_group_membership", "user", "groups"), ("aws_iam_group_membership", "users", "group")];

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
    fn policy(&mut self, address: &str, used_as: Use, value: Option<&Node>) -> FoundPolicy {
        let value = value.filter(|node| node.value != Value::Null);
        let document = if let Some((node, Some(text))) = value.map(|node| (node, node.as_str())) {
            nested::parse(text, node.span, self.file)
        } else {
            self.note(format!("{address}: its document is known only after apply"));
            let span = value.map(|node| node.span).unwrap_or_default();
            Ok(Node { span, value: Value::String(Text::unknown(address)) })
        };
        FoundPolicy { address: address.to_owned(), used_as, document }
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
    fn match_resources(&self, by: &Resource<'v>, argument: &str, kind: &str, key: &str) -> Matches {
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
            self.by_name(by, text, (&candidates, key), &mut meant);
        }
        if unknown == Some(0) {
            // A known name may belong to a holder whose own name is unknown: in that case use the reference.
            let targets = self.referenced_candidates(by, argument, &candidates);
            let is_unnamed =
                |one: &&usize| self.resources.get(**one).is_some_and(|one| text_value(one.values, key).is_none());
            let unnamed: Vec<usize> = targets.0.iter().filter(is_unnamed).copied().collect();
            if !meant.unknown_names.is_empty() && !unnamed.is_empty() {
                meant.unknown_names.clear();
                if unnamed.len() == 1 { meant.certain.extend(unnamed) } else { meant.possible.extend(unnamed) }
            }
            return meant;
        }
        // A required argument is present even if a plan without its configuration lacks it.
        let is_required = ["role", "user", "group", "policy_arn"].contains(&argument);
        let is_said = self.configuration.has_references(&by.place, argument);
        let may_be_absent = !is_required || self.configuration.has_resource(&by.place);
        if unknown.is_none() && !is_said && may_be_absent {
            return meant;
        }
        let (targets, is_open) = self.referenced_candidates(by, argument, &candidates);
        let is_open = is_open || !is_said;
        let rest: Vec<usize> = targets.into_iter().filter(|one| !meant.certain.contains(one)).collect();
        let is_single = unknown.is_none() && !["roles", "users", "groups", "managed_policy_arns"].contains(&argument);
        let is_exact = !is_open
            && match unknown {
                // The elements of a set differ: if there are as many as candidates, they are all of them.
                Some(count) => count == rest.len(),
                None => is_single && rest.len() == 1,
            };
        if is_exact {
            meant.certain.extend(rest);
        } else {
            let others = if is_open && key == "name" { candidates } else { Vec::new() };
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
    fn by_name(&self, by: &Resource<'v>, text: &str, (candidates, key): (&[usize], &str), meant: &mut Matches) {
        let named = candidates.iter().filter_map(|index| Some((*index, self.resources.get(*index)?)));
        let named: Vec<_> = named.filter(|(_, one)| text_value(one.values, key) == Some(text)).collect();
        let own = self.configuration.provider_credentials(&by.place);
        let is_own = |one: &Resource<'v>| {
            let other = self.configuration.provider_credentials(&one.place);
            key != "name" || own.is_none() || other.is_none() || own == other
        };
        let surely: Vec<usize> = named.iter().filter(|(_, one)| is_own(one)).map(|(index, _)| *index).collect();
        match (surely.as_slice(), named.is_empty()) {
            (_, true) => meant.unknown_names.push(text.to_owned()),
            ([], false) => meant.possible.extend(named.iter().map(|(index, _)| *index)),
            (_, false) => meant.certain.extend(surely),
        }
    }

    /// Managed policies to which an argument refers, with a placeholder for one that is not in the plan.
    fn attached(&mut self, what: &str, by: usize, argument: &str) -> Vec<Attached> {
        let Some(resource) = self.resources.get(by) else { return Vec::new() };
        let (address, span) =
            (resource.address, resource.values.get(argument).map(|node| node.span).unwrap_or_default());
        let meant = self.match_resources(resource, argument, "aws_iam_policy", "arn");
        let mut found = Vec::new();
        for (index, is_sure) in meant.all() {
            let Some(policy) = self.resources.get(index) else { continue };
            let (name, document) = (policy.address, policy.values.get("policy"));
            let policy = self.policy(name, Use::Managed, document);
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
    fn holders(&mut self, by: usize, argument: &str, kind: &str) -> Vec<(usize, Option<String>)> {
        let Some(resource) = self.resources.get(by) else { return Vec::new() };
        let address = resource.address;
        let meant = self.match_resources(resource, argument, kind, "name");
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
            for (holder, inline, attachment, argument, listed) in HOLDERS {
                let argument = match kind {
                    _ if kind == *inline || kind == *attachment => argument,
                    "aws_iam_policy_attachment" => listed,
                    _ => continue,
                };
                let holders = self.holders(by, argument, holder);
                if holders.is_empty() {
                    continue;
                }
                let policies = if kind == *inline {
                    self.used.insert(address.to_owned());
                    vec![(self.policy(address, inline_use(kind), document), Vec::new())]
                } else {
                    self.attached("managed policy", by, "policy_arn")
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
            let (users, groups) = (self.holders(by, user, "aws_iam_user"), self.holders(by, group, "aws_iam_group"));
            for (user, of_user) in &users {
                for (group, of_group) in &groups {
                    found.push((*user, *group, of_user.iter().chain(of_group).cloned().collect()));
                }
            }
        }
        found
    }

    /// A role, user or group with its policies.
    fn holder(&mut self, index: usize, links: &[Vec<Attached>], groups: &[(usize, Vec<String>)]) -> FoundRole {
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
            let policy = self.policy(&format!("{address}.inline_policy.{label}"), Use::Inline, inline.get("policy"));
            attached.push((policy, Vec::new()));
        }
        attached.extend(self.attached("managed policy", index, "managed_policy_arns"));
        attached.extend(links.get(index).into_iter().flatten().cloned());
        for (group, conditions) in groups {
            attached.extend(links.get(*group).into_iter().flatten().cloned().map(|(policy, mut own)| {
                own.extend(conditions.iter().cloned());
                (policy, own)
            }));
        }
        let policies = attached.into_iter().map(|(policy, conditions)| with_conditions(policy, &conditions)).collect();
        let bounds = self.attached("permissions boundary", index, "permissions_boundary");
        FoundRole { address: address.to_owned(), policies, boundary: merge_boundaries(bounds, address) }
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
                "aws_iam_role" => {
                    if let Some(document) = known("assume_role_policy") {
                        let trust = self.policy(&format!("{address}.assume_role_policy"), Use::Trust, Some(document));
                        self.found.trusts.push(trust);
                    }
                }
                "aws_organizations_policy"
                    if matches!(text_value(values, "type"), None | Some("SERVICE_CONTROL_POLICY")) =>
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
                "aws_ssoadmin_managed_policy_attachment" => {
                    let arn = text_value(values, "managed_policy_arn").unwrap_or("of a data source");
                    self.note(format!("{address}: the managed policy {arn} of a permission set is not compared"));
                }
                kind if HOLDERS.iter().any(|(_, inline, ..)| *inline == kind) => {
                    if !self.used.contains(address) {
                        let policy = self.policy(address, inline_use(kind), values.get("policy"));
                        self.found.policies.push(policy);
                    }
                }
                "aws_iam_policy" => {
                    if !self.used.contains(address) {
                        let policy = self.policy(address, Use::Managed, values.get("policy"));
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
                            kind if kind.starts_with("alicloud_ram_") => {
                                "an Alibaba Cloud RAM policy, which must be in a separate file"
                            }
                            _ => "not an identity policy",
                        };
                        self.found.skipped.push(format!("{address}.{key} ({kind}), {what}"));
                    }
                }
            }
        }
    }
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

/// Makes a policy conditional on all of the conditions.
fn with_conditions(policy: FoundPolicy, conditions: &[String]) -> FoundPolicy {
    let decisions: Vec<(String, bool)> = conditions.iter().map(|condition| (condition.clone(), true)).collect();
    FoundPolicy { document: policy.document.map(|document| guarded(document, &decisions)), ..policy }
}

/// Merges several possible boundaries of a role: the plan does not determine which one applies.
fn merge_boundaries(bounds: Vec<Attached>, address: &str) -> Option<FoundPolicy> {
    let mut bounds = bounds.into_iter();
    let (first, conditions) = bounds.next()?;
    let rest: Vec<Attached> = bounds.collect();
    if rest.is_empty() {
        // If the only candidate is uncertain, the boundary is unknown.
        return Some(if conditions.is_empty() { first } else { unknown_boundary(address, &first) });
    }
    let is_whole = |policy: &FoundPolicy| {
        policy.used_as != Use::Missing
            && policy.document.as_ref().is_ok_and(|node| node.get("Statement").is_some() && node.get("Id").is_none())
    };
    if !is_whole(&first) || !rest.iter().all(|(policy, _)| is_whole(policy)) {
        return Some(unknown_boundary(address, &first));
    }
    let mut names = vec![first.address.clone()];
    let mut choice = first;
    for (policy, conditions) in rest {
        names.push(policy.address.clone());
        let statements =
            |policy: &FoundPolicy| policy.document.as_ref().ok().and_then(|node| node.get("Statement").cloned());
        let (then, otherwise) = (statements(&policy), statements(&choice));
        if let Ok(Node { value: Value::Object(members), .. }) = &mut choice.document {
            for member in members.iter_mut().filter(|member| *member.key == *"Statement") {
                let either =
                    Either { condition: conditions.join(" and "), then: then.clone(), otherwise: otherwise.clone() };
                member.value.value = Value::Either(Box::new(either));
            }
        }
    }
    Some(FoundPolicy { address: names.join(" or "), ..choice })
}

fn unknown_boundary(address: &str, like: &FoundPolicy) -> FoundPolicy {
    let span = like.document.as_ref().map(|node| node.span).unwrap_or_default();
    FoundPolicy::placeholder(&Text::from(format!("that {address} names as its boundary")), span)
}

pub(super) fn find(file: &str, plan: &Node) -> Found {
    let mut plan = Plan::new(file, plan);
    let links = plan.links();
    let memberships = plan.memberships();
    for index in 0..plan.resources.len() {
        let Some(kind) = plan.resources.get(index).map(|one| one.kind) else { continue };
        if HOLDERS.iter().any(|(known, ..)| *known == kind) {
            let own = memberships.iter().filter(|(user, ..)| *user == index);
            let groups: Vec<(usize, Vec<String>)> =
                own.map(|(_, group, conditions)| (*group, conditions.clone())).collect();
            let role = plan.holder(index, &links, &groups);
            // Skip users and groups without policies: there is nothing to compare.
            if kind == "aws_iam_role" || !role.policies.is_empty() {
                plan.found.roles.push(role);
            }
        }
    }
    plan.collect_remaining_policies();
    plan.found
}
