//! CloudFormation templates, as JSON or YAML.

use std::collections::{BTreeMap, BTreeSet};

use super::functions::{self, choice, function, is_no_value, referred, resolve};
use super::{Decision, Found, FoundPolicy, FoundRole, Pseudo, Use, guarded, nested};
use crate::json::{JsonError, Node, Value};
use crate::text::Text;

/// Elements of a template, by which one is recognised. Source: AWS CloudFormation User Guide, "Template sections".
pub(super) const SECTIONS: &[&str] = &[
    "AWSTemplateFormatVersion",
    "Resources",
    "Transform",
    "Parameters",
    "Mappings",
    "Conditions",
    "Outputs",
    "Globals",
];

/// A resource that holds policies of its own.
struct Holder<'t> {
    name: &'t str,
    node: &'t Node,
    /// Property that says its name.
    named_by: &'static str,
    /// Properties of a policy that list such holders.
    listed_by: &'static [&'static str],
}

/// Types that hold identity policies: the property of their name, and the properties by which a policy names them.
const HOLDERS: &[(&str, &str, &[&str])] = &[
    ("AWS::IAM::Role", "RoleName", &["Roles", "RoleName"]),
    ("AWS::IAM::User", "UserName", &["Users", "UserName"]),
    ("AWS::IAM::Group", "GroupName", &["Groups", "GroupName"]),
];

/// Types that are an identity policy.
const POLICIES: &[(&str, Use)] = &[
    ("AWS::IAM::ManagedPolicy", Use::Managed),
    ("AWS::IAM::Policy", Use::Inline),
    ("AWS::IAM::RolePolicy", Use::Inline),
    ("AWS::IAM::UserPolicy", Use::Inline),
    ("AWS::IAM::GroupPolicy", Use::Inline),
];

/// Properties that hold a policy which is none of an identity.
const OTHER_DOCUMENTS: &[&str] =
    &["PolicyDocument", "KeyPolicy", "ResourcePolicy", "RepositoryPolicyText", "Policy", "Policies", "PolicyText"];

struct Template<'t> {
    file: &'t str,
    pseudo: &'t Pseudo,
    resources: Vec<(&'t str, &'t Node)>,
    documents: BTreeMap<&'t str, FoundPolicy>,
    found: Found,
}

fn kind(resource: &Node) -> &str {
    resource.get("Type").and_then(Node::as_str).unwrap_or_default()
}

fn property<'n>(resource: &'n Node, name: &str) -> Option<&'n Node> {
    resource.at(&["Properties", name]).filter(|node| !is_no_value(node))
}

/// The values that a property may have, each with the conditions of the stack under which it has it.
fn alternatives<'n>(node: &'n Node, decisions: &[Decision], found: &mut Vec<(Vec<Decision>, &'n Node)>) {
    if is_no_value(node) {
        return;
    }
    if let Some((condition, then, otherwise)) = choice(node) {
        for (branch, holds) in [(then, true), (otherwise, false)] {
            alternatives(branch, &[decisions, &[(condition.to_owned(), holds)]].concat(), found);
        }
    } else if let Some(items) = node.items() {
        for item in items {
            alternatives(item, decisions, found);
        }
    } else {
        found.push((decisions.to_vec(), node));
    }
}

impl<'t> Template<'t> {
    /// A document, which the property may also give as JSON text.
    fn document(&self, node: &Node) -> Result<Node, JsonError> {
        let values = BTreeMap::new();
        let filled = |text: &str, node: &Node, values: &BTreeMap<String, Text>| {
            let mut document = match nested::parse(text, node.span, self.file) {
                Ok(document) => document,
                // What is filled in is a part of the document's own syntax.
                Err(error) if self.file.get(error.offset..).is_some_and(|rest| rest.starts_with('$')) => {
                    return Ok(Node { span: node.span, value: Value::String(Text::unknown(text)) });
                }
                Err(error) => return Err(error),
            };
            nested::fill(&mut document, values, self.pseudo);
            Ok(document)
        };
        match (&node.value, function(node)) {
            (Value::String(text), _) => nested::parse(text, node.span, self.file),
            (_, Some(("Fn::Sub", argument))) => match &argument.value {
                Value::String(text) => filled(text, argument, &values),
                Value::Array(parts) => match parts.first().map(|first| (first, first.as_str())) {
                    Some((first, Some(text))) => {
                        filled(text, first, &functions::substitutes(parts.get(1), self.pseudo))
                    }
                    _ => Ok(self.unknown(node)),
                },
                _ => Ok(self.unknown(node)),
            },
            _ => match resolve(node, self.pseudo) {
                // Text that a function joins is text of a document too, where all of it is known.
                Some(Node { value: Value::String(text), .. }) if text.is_known() => {
                    nested::parse(&text, node.span, self.file)
                }
                Some(document) => Ok(document),
                None => Ok(self.unknown(node)),
            },
        }
    }

    /// What stands for a document of which nothing is known.
    fn unknown(&self, node: &Node) -> Node {
        let text = functions::text(node, self.pseudo);
        Node { span: node.span, value: Value::String(if text.is_known() { Text::unknown(&text) } else { text }) }
    }

    fn policy(&self, address: String, used_as: Use, node: &Node, decisions: &[Decision]) -> FoundPolicy {
        let document = self.document(node).map(|document| guarded(document, decisions));
        FoundPolicy { address, used_as, document }
    }

    /// The condition that a resource hangs on, where its holder does not hang on the same.
    fn own_condition(resource: &Node, holder: Option<&Node>) -> Vec<Decision> {
        let of = |node: &Node| node.get("Condition").and_then(Node::as_str).map(str::to_owned);
        let own = of(resource).filter(|own| holder.and_then(of).as_ref() != Some(own));
        own.map(|condition| (condition, true)).into_iter().collect()
    }

    fn read_documents(&mut self) {
        for (name, resource) in self.resources.clone() {
            let used_as = POLICIES.iter().find(|(known, _)| *known == kind(resource)).map(|(_, used_as)| *used_as);
            if let (Some(used_as), Some(document)) = (used_as, property(resource, "PolicyDocument")) {
                let policy = self.policy(format!("Resources.{name}"), used_as, document, &[]);
                self.documents.insert(name, policy);
            }
        }
    }

    /// The policy that a holder gets, with the conditions of the stack that decide about it.
    fn given(&self, name: &str, holder: &Node, decisions: &[Decision]) -> Option<FoundPolicy> {
        let policy = self.documents.get(name)?.clone();
        let resource = self.resources.iter().find(|(known, _)| *known == name)?.1;
        let decisions = [decisions, &Self::own_condition(resource, Some(holder))].concat();
        Some(FoundPolicy { document: policy.document.map(|document| guarded(document, &decisions)), ..policy })
    }

    fn holder(&mut self, holder: &Holder<'t>) -> FoundRole {
        let address = format!("Resources.{}", holder.name);
        let mut role = FoundRole { address: address.clone(), ..FoundRole::default() };
        for (at, (decisions, inline)) in listed(holder.node, "Policies").into_iter().enumerate() {
            let label = inline.get("PolicyName").map(|name| functions::text(name, self.pseudo).to_string());
            let address = format!("{address}.Policies.{}", label.unwrap_or_else(|| at.to_string()));
            if let Some(document) = inline.get("PolicyDocument") {
                role.policies.push(self.policy(address, Use::Inline, document, &decisions));
            } else {
                self.found.unknown.push(format!("{address}: an inline policy is known when the stack is made only"));
                let document = Ok(guarded(self.unknown(inline), &decisions));
                role.policies.push(FoundPolicy { address, used_as: Use::Inline, document });
            }
        }
        for (decisions, arn) in listed(holder.node, "ManagedPolicyArns") {
            if let Some(policy) = referred(arn).and_then(|target| self.given(target, holder.node, &decisions)) {
                role.policies.push(policy);
                continue;
            }
            let text = functions::text(arn, self.pseudo);
            self.found.unknown.push(format!("{address}: the managed policy \"{text}\" is not in the template"));
            role.policies.push(FoundPolicy::not_here(&text, arn.span));
        }
        if let Some(boundary) = property(holder.node, "PermissionsBoundary") {
            if let Some(policy) = referred(boundary).and_then(|target| self.given(target, holder.node, &[])) {
                role.boundary = Some(policy);
            } else {
                let text = functions::text(boundary, self.pseudo);
                self.found
                    .unknown
                    .push(format!("{address}: the permissions boundary \"{text}\" is not in the template"));
                role.boundary = Some(FoundPolicy::not_here(&text, boundary.span));
            }
        }
        self.attach(holder, &mut role);
        role
    }

    /// Policies that name the holder.
    fn attach(&self, holder: &Holder<'t>, role: &mut FoundRole) {
        for (name, resource) in &self.resources {
            if !self.documents.contains_key(name) {
                continue;
            }
            for listed_by in holder.listed_by {
                for (decisions, target) in listed(resource, listed_by) {
                    if self.is_meant(holder, target)
                        && let Some(policy) = self.given(name, holder.node, &decisions)
                    {
                        role.policies.push(policy);
                    }
                }
            }
        }
    }

    /// By reference, or by the name that the template gives the holder.
    fn is_meant(&self, holder: &Holder<'t>, target: &Node) -> bool {
        if let Some(name) = referred(target) {
            return name == holder.name;
        }
        let own = property(holder.node, holder.named_by).and_then(|name| resolve(name, self.pseudo));
        own.is_some_and(|own| resolve(target, self.pseudo).is_some_and(|target| own.value == target.value))
    }

    /// Policies that name a holder which is not in the template, and documents that are none of an identity.
    fn note_the_rest(&mut self, holders: &[Holder<'t>]) {
        for (name, resource) in self.resources.clone() {
            if self.documents.contains_key(name) {
                let targets = HOLDERS.iter().flat_map(|(_, _, listed_by)| *listed_by).collect::<BTreeSet<_>>();
                let targets: Vec<_> = targets.into_iter().flat_map(|by| listed(resource, by)).collect();
                let is_here = |target: &Node| holders.iter().any(|holder| self.is_meant(holder, target));
                let strangers = targets.iter().filter(|(_, target)| !is_here(target)).count();
                if strangers > 0 {
                    let what = "it is put into a role that is not in the template";
                    self.found.unknown.push(format!("Resources.{name}: {what}"));
                }
                continue;
            }
            self.trust(name, resource);
            let is_holder = HOLDERS.iter().any(|(known, ..)| *known == kind(resource));
            let other = OTHER_DOCUMENTS.iter().find(|one| !is_holder && property(resource, one).is_some());
            match (kind(resource), other) {
                ("AWS::SSO::PermissionSet", _) => self.single(name, resource, "InlinePolicy", Use::Document),
                ("AWS::Organizations::Policy", _)
                    if property(resource, "Type").and_then(Node::as_str) == Some("SERVICE_CONTROL_POLICY") =>
                {
                    self.single(name, resource, "Content", Use::Control);
                }
                (kind, Some(other)) => {
                    self.found.left_out.push(format!("Resources.{name}.{other} ({kind}), no policy of an identity"));
                }
                _ => {}
            }
        }
    }

    fn trust(&mut self, name: &str, resource: &Node) {
        if kind(resource) == "AWS::IAM::Role"
            && let Some(document) = property(resource, "AssumeRolePolicyDocument")
        {
            let address = format!("Resources.{name}.AssumeRolePolicyDocument");
            self.found.trusts.push(self.policy(address, Use::Trust, document, &[]));
        }
    }

    fn single(&mut self, name: &str, resource: &Node, at: &str, used_as: Use) {
        if let Some(document) = property(resource, at) {
            let policy = self.policy(format!("Resources.{name}.{at}"), used_as, document, &[]);
            self.found.policies.push(policy);
        }
    }
}

/// Finds the policies of a template. The places are those of the file.
pub(super) fn find(file: &str, template: &Node, pseudo: &Pseudo) -> Found {
    let resources = template.get("Resources").and_then(Node::members).unwrap_or_default();
    let mut template = Template {
        file,
        pseudo,
        resources: resources.iter().map(|member| (&*member.key, &member.value)).collect(),
        documents: BTreeMap::new(),
        found: Found { is_template: true, ..Found::default() },
    };
    template.read_documents();
    let mut holders: Vec<Holder<'_>> = Vec::new();
    for (name, node) in &template.resources {
        if let Some((_, named_by, listed_by)) = HOLDERS.iter().find(|(known, ..)| *known == kind(node)) {
            holders.push(Holder { name, node, named_by, listed_by });
        }
    }
    holders.sort_by_key(|holder| holder.name);
    let mut roles: Vec<FoundRole> = Vec::new();
    for holder in &holders {
        let role = template.holder(holder);
        // A user or group without any policy is no principal to compare.
        if holder.named_by == "RoleName" || !role.policies.is_empty() {
            roles.push(role);
        }
    }
    template.note_the_rest(&holders);
    let Template { mut found, documents, .. } = template;
    let addresses = |role: &FoundRole| {
        let all = role.policies.iter().chain(&role.boundary);
        all.map(|policy| policy.address.clone()).collect::<Vec<_>>()
    };
    let used: BTreeSet<String> = roles.iter().flat_map(addresses).collect();
    found.policies.extend(documents.into_values().filter(|policy| !used.contains(&policy.address)));
    found.roles = roles;
    found
}

/// The items of a property that is a list, each with the decisions that lead to it.
fn listed<'n>(resource: &'n Node, name: &str) -> Vec<(Vec<Decision>, &'n Node)> {
    let mut found = Vec::new();
    if let Some(node) = property(resource, name) {
        alternatives(node, &[], &mut found);
    }
    found
}
