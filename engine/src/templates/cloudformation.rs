//! Reads templates of CloudFormation and of Alibaba Cloud's ROS, as JSON or YAML. Types of ROS: ROS documentation,
//! `ALIYUN::RAM::Role`, `ALIYUN::RAM::ManagedPolicy`, `ALIYUN::RAM::AttachPolicyToRole`.

use std::collections::{BTreeMap, BTreeSet};

use super::functions::{self, choice, function, is_no_value, may_be_equal, referenced_name, resolve};
use super::{Decision, Found, FoundPolicy, FoundRole, Pseudo, Use, guarded, nested};
use crate::dialect::{Dialect, IAM, RAM};
use crate::json::{JsonError, Node, Value};
use crate::text::Text;

mod ros;
mod serverless;

/// Sections by which a template is recognised. Source: AWS CloudFormation User Guide, "Template sections".
pub(super) const SECTIONS: &[&str] = &[
    "AWSTemplateFormatVersion",
    "ROSTemplateFormatVersion",
    "Resources",
    "Transform",
    "Parameters",
    "Mappings",
    "Conditions",
    "Outputs",
    "Globals",
];

/// A resource with policies.
struct Holder<'t> {
    name: &'t str,
    node: &'t Node,
    /// Property for its name.
    named_by: &'static str,
    /// Properties of a policy that list such holders.
    listed_by: &'static [&'static str],
}

/// Types with identity policies: the property for their name, and the properties with which a policy references them.
const HOLDERS: &[(&str, &str, &[&str])] = &[
    ("AWS::IAM::Role", "RoleName", &["Roles", "RoleName"]),
    ("AWS::IAM::User", "UserName", &["Users", "UserName"]),
    ("AWS::IAM::Group", "GroupName", &["Groups", "GroupName"]),
    ("ALIYUN::RAM::Role", "RoleName", &["Roles"]),
    ("ALIYUN::RAM::User", "UserName", &["Users"]),
    ("ALIYUN::RAM::Group", "GroupName", &["Groups"]),
];

/// Types that add users to groups.
const ADDITIONS: [&str; 2] = ["AWS::IAM::UserToGroupAddition", "ALIYUN::RAM::UserToGroupAddition"];

/// Language of the policies of a type.
fn dialect_of(kind: &str) -> &'static Dialect {
    if kind.starts_with("ALIYUN::") { &RAM } else { &IAM }
}

/// Types that are identity policies.
const POLICIES: &[(&str, Use)] = &[
    ("AWS::IAM::ManagedPolicy", Use::Managed),
    ("AWS::IAM::Policy", Use::Inline),
    ("AWS::IAM::RolePolicy", Use::Inline),
    ("AWS::IAM::UserPolicy", Use::UserInline),
    ("AWS::IAM::GroupPolicy", Use::GroupInline),
    ("ALIYUN::RAM::ManagedPolicy", Use::Managed),
];

/// Properties with policies that are not identity policies.
const OTHER_DOCUMENTS: &[&str] =
    &["PolicyDocument", "KeyPolicy", "ResourcePolicy", "RepositoryPolicyText", "Policy", "Policies", "PolicyText"];

/// Certainty with which a value identifies a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Certain,
    Possible,
}

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

/// Document of a policy. ROS ignores `PolicyDocument` if both are set.
fn policy_document(resource: &Node) -> Option<&Node> {
    property(resource, "PolicyDocumentUnchecked").or_else(|| property(resource, "PolicyDocument"))
}

fn property<'n>(resource: &'n Node, name: &str) -> Option<&'n Node> {
    resource.at(&["Properties", name]).filter(|node| !is_no_value(node))
}

/// Possible values of a property, each with the stack conditions under which it applies.
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

/// Converts numeric ids to text, as CloudFormation does for text properties. Source: AWS CloudFormation User Guide,
/// `AWS::EventSchemas::RegistryPolicy`, example with `Sid: 1`.
fn with_text_ids(mut document: Node) -> Node {
    fn convert_ids(statement: &mut Node) {
        match &mut statement.value {
            Value::Array(items) => items.iter_mut().for_each(convert_ids),
            Value::Either(either) => {
                either.then.iter_mut().chain(&mut either.otherwise).for_each(convert_ids);
            }
            Value::Object(members) => {
                for member in members.iter_mut().filter(|member| *member.key == *"Sid") {
                    if let Value::Number(number) = &member.value.value {
                        member.value.value = Value::String(number.as_str().into());
                    }
                }
            }
            _ => {}
        }
    }
    if let Value::Object(members) = &mut document.value {
        members.iter_mut().filter(|member| *member.key == *"Statement").for_each(|one| convert_ids(&mut one.value));
    }
    document
}

impl<'t> Template<'t> {
    /// Reads a document; the property may also have it as JSON text.
    fn document(&self, node: &Node) -> Result<Node, JsonError> {
        let values = BTreeMap::new();
        let filled = |text: &str, node: &Node, values: &BTreeMap<String, Text>| {
            let mut document = match nested::parse(text, node.span, self.file) {
                Ok(document) => document,
                // The inserted value is a part of the document's own syntax.
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
                // Text joined by a function is a document too if all of it is known.
                Some(Node { value: Value::String(text), .. }) if text.is_known() => {
                    nested::parse(&text, node.span, self.file)
                }
                Some(document) => Ok(document),
                None => Ok(self.unknown(node)),
            },
        }
    }

    /// Placeholder for an unknown document.
    fn unknown(&self, node: &Node) -> Node {
        let text = functions::text(node, self.pseudo);
        Node { span: node.span, value: Value::String(if text.is_known() { Text::unknown(&text) } else { text }) }
    }

    fn policy(&self, address: String, used_as: Use, dialect: &'static Dialect, node: &Node) -> FoundPolicy {
        let document = self.document(node).map(with_text_ids);
        FoundPolicy { address, used_as, dialect: Some(dialect), document }
    }

    /// Condition of a resource, unless its holder has the same one.
    fn own_condition(resource: &Node, holder: Option<&Node>) -> Vec<Decision> {
        let of = |node: &Node| node.get("Condition").and_then(Node::as_str).map(str::to_owned);
        let own = of(resource).filter(|own| holder.and_then(of).as_ref() != Some(own));
        own.map(|condition| (condition, true)).into_iter().collect()
    }

    fn read_documents(&mut self) {
        for (name, resource) in self.resources.clone() {
            let used_as = POLICIES.iter().find(|(known, _)| *known == kind(resource)).map(|(_, used_as)| *used_as);
            // A policy of several holders has the smallest of their quotas.
            let used_as = used_as.map(|used_as| match used_as {
                Use::Inline if property(resource, "Users").is_some() => Use::UserInline,
                Use::Inline if property(resource, "Groups").is_some() => Use::GroupInline,
                used_as => used_as,
            });
            if let (Some(used_as), Some(document)) = (used_as, policy_document(resource)) {
                let policy = self.policy(format!("Resources.{name}"), used_as, dialect_of(kind(resource)), document);
                self.documents.insert(name, policy);
            }
        }
    }

    /// Policy of a holder, with the stack conditions that decide about it.
    fn attached_policy(&self, name: &str, holder: &Node, decisions: &[Decision]) -> Option<FoundPolicy> {
        let policy = self.documents.get(name)?.clone();
        let resource = self.resources.iter().find(|(known, _)| *known == name)?.1;
        let decisions = [decisions, &Self::own_condition(resource, Some(holder))].concat();
        Some(policy.under(&decisions))
    }

    fn holder(&mut self, holder: &Holder<'t>) -> FoundRole {
        let address = format!("Resources.{}", holder.name);
        let dialect = dialect_of(kind(holder.node));
        let mut role = FoundRole { address: address.clone(), dialect: Some(dialect), ..FoundRole::default() };
        let used_as = match kind(holder.node) {
            "AWS::IAM::User" => Use::UserInline,
            "AWS::IAM::Group" => Use::GroupInline,
            _ => Use::Inline,
        };
        for (at, (decisions, inline)) in listed(holder.node, "Policies").into_iter().enumerate() {
            let label = inline.get("PolicyName").map(|name| functions::text(name, self.pseudo).to_string());
            let address = format!("{address}.Policies.{}", label.unwrap_or_else(|| at.to_string()));
            if let Some(document) = inline.get("PolicyDocument") {
                role.policies.push(self.policy(address, used_as, dialect, document).under(&decisions));
            } else {
                self.found.unknown.push(format!("{address}: an inline policy is known only when the stack is created"));
                let document = Ok(guarded(self.unknown(inline), &decisions));
                role.policies.push(FoundPolicy { address, used_as, dialect: Some(dialect), document });
            }
        }
        for (decisions, arn) in listed(holder.node, "ManagedPolicyArns") {
            if let Some(policy) =
                referenced_name(arn).and_then(|target| self.attached_policy(target, holder.node, &decisions))
            {
                role.policies.push(policy);
                continue;
            }
            role.policies.push(self.missing_policy(&address, arn));
        }
        role.boundary = self.boundary(&address, holder.node);
        self.attach(holder, &mut role);
        self.attach_of_ros(holder, &mut role);
        role
    }

    fn boundary(&mut self, address: &str, holder: &'t Node) -> Option<FoundPolicy> {
        let boundary = property(holder, "PermissionsBoundary")?;
        if let Some(policy) = referenced_name(boundary).and_then(|target| self.attached_policy(target, holder, &[])) {
            return Some(policy);
        }
        let text = functions::text(boundary, self.pseudo);
        self.found.unknown.push(format!("{address}: the permissions boundary \"{text}\" is not in the template"));
        Some(FoundPolicy::placeholder(&text, boundary.span))
    }

    /// Adds the policies that name the holder.
    fn attach(&self, holder: &Holder<'t>, role: &mut FoundRole) {
        for (name, resource) in &self.resources {
            if !self.documents.contains_key(name) {
                continue;
            }
            for listed_by in holder.listed_by {
                for (_, decisions) in self.named(name, resource, listed_by, std::slice::from_ref(holder)) {
                    role.policies.extend(self.attached_policy(name, holder.node, &decisions));
                }
            }
        }
    }

    /// Matches a reference, or the name that the template gives the holder. Values that are not fully known until the
    /// stack is created may match.
    fn match_holder(&self, holder: &Holder<'t>, target: &Node) -> Option<Certainty> {
        let reference = referenced_name(target).filter(|name| self.resources.iter().any(|(known, _)| known == name));
        if let Some(name) = reference {
            return (name == holder.name).then_some(Certainty::Certain);
        }
        let target = functions::text(target, self.pseudo);
        if target == Text::unknown(holder.name) {
            return Some(Certainty::Certain);
        }
        // A name generated by CloudFormation cannot be given by anyone.
        let own = functions::text(property(holder.node, holder.named_by)?, self.pseudo);
        if own == target {
            return Some(Certainty::Certain);
        }
        may_be_equal(&own, &target).then_some(Certainty::Possible)
    }

    /// Holders in a list, each with the decisions under which it is included.
    fn named<'h>(
        &self,
        who: &str,
        resource: &'t Node,
        property: &str,
        holders: &'h [Holder<'t>],
    ) -> Vec<(&'h Holder<'t>, Vec<Decision>)> {
        let mut found = Vec::new();
        for (decisions, target) in listed(resource, property) {
            for holder in holders {
                if let Some(meant) = self.match_holder(holder, target) {
                    let open = (meant == Certainty::Possible).then(|| (format!("{who} names {}", holder.name), true));
                    found.push((holder, decisions.iter().cloned().chain(open).collect()));
                }
            }
        }
        found
    }

    /// Groups of a user, each with the decisions under which the user is a member. Source: IAM User Guide, "IAM user
    /// groups".
    fn groups<'h>(&self, user: &Holder<'t>, holders: &'h [Holder<'t>]) -> Vec<(&'h Holder<'t>, Vec<Decision>)> {
        let mut found = self.named(user.name, user.node, "Groups", holders);
        let additions = self.resources.iter().filter(|(_, node)| ADDITIONS.contains(&kind(node)));
        for (name, addition) in additions {
            let users = self.named(name, addition, "Users", std::slice::from_ref(user));
            for (_, of_user) in users {
                let own = [of_user, Self::own_condition(addition, Some(user.node))].concat();
                for (group, of_group) in self.named(name, addition, "GroupName", holders) {
                    found.push((group, [own.clone(), of_group].concat()));
                }
            }
        }
        found.retain(|(group, _)| group.named_by == "GroupName");
        found
    }

    /// Collects policies whose holder is not in the template, and documents that are not identity policies.
    fn collect_remaining_policies(&mut self, holders: &[Holder<'t>]) {
        for (name, resource) in self.resources.clone() {
            if self.documents.contains_key(name) {
                let targets = HOLDERS.iter().flat_map(|(_, _, listed_by)| *listed_by).collect::<BTreeSet<_>>();
                let targets: Vec<_> = targets.into_iter().flat_map(|by| listed(resource, by)).collect();
                let is_here = |target: &Node| {
                    holders.iter().any(|holder| self.match_holder(holder, target) == Some(Certainty::Certain))
                };
                let strangers = targets.iter().filter(|(_, target)| !is_here(target)).count();
                if strangers > 0 {
                    let what = "its role, user or group is not in the template, or unknown until the stack is created";
                    self.found.unknown.push(format!("Resources.{name}: {what}"));
                }
                continue;
            }
            self.trust(name, resource);
            let is_holder = HOLDERS.iter().any(|(known, ..)| *known == kind(resource))
                || serverless::TYPES.contains(&kind(resource));
            let other = OTHER_DOCUMENTS.iter().find(|one| !is_holder && property(resource, one).is_some());
            match (kind(resource), other) {
                ("AWS::SSO::PermissionSet", _) => {}
                ("AWS::Organizations::Policy", _)
                    if property(resource, "Type").and_then(Node::as_str) == Some("SERVICE_CONTROL_POLICY") =>
                {
                    self.single(name, resource, "Content", Use::Control);
                }
                (kind, Some(other)) => {
                    self.found.skipped.push(format!("Resources.{name}.{other} ({kind}), not an identity policy"));
                }
                _ => {}
            }
        }
    }

    fn trust(&mut self, name: &str, resource: &Node) {
        if matches!(kind(resource), "AWS::IAM::Role" | "ALIYUN::RAM::Role")
            && let Some(document) = property(resource, "AssumeRolePolicyDocument")
        {
            let address = format!("Resources.{name}.AssumeRolePolicyDocument");
            let dialect = dialect_of(kind(resource));
            self.found.trusts.push(self.policy(address, Use::Trust, dialect, document));
        }
    }

    /// A permission set with its policies; policies referenced by name are not in the template.
    fn permission_set(&mut self, name: &str, resource: &'t Node) -> Option<FoundRole> {
        if kind(resource) != "AWS::SSO::PermissionSet" {
            return None;
        }
        let address = format!("Resources.{name}");
        let mut set = FoundRole { address: address.clone(), dialect: Some(&IAM), ..FoundRole::default() };
        if let Some(document) = property(resource, "InlinePolicy") {
            set.policies.push(self.policy(format!("{address}.InlinePolicy"), Use::Document, &IAM, document));
        }
        for (_, arn) in listed(resource, "ManagedPolicies") {
            set.policies.push(self.missing_policy(&address, arn));
        }
        for (_, reference) in listed(resource, "CustomerManagedPolicyReferences") {
            set.policies.push(self.missing_policy(&address, reference.get("Name").unwrap_or(reference)));
        }
        if let Some(boundary) = property(resource, "PermissionsBoundary") {
            self.found.unknown.push(format!("{address}: the permissions boundary is not in the template"));
            set.boundary = Some(FoundPolicy::placeholder(&Text::unknown("its boundary"), boundary.span));
        }
        (!set.policies.is_empty()).then_some(set)
    }

    /// Placeholder for a managed policy that a holder references but the template does not contain.
    fn missing_policy(&mut self, address: &str, arn: &Node) -> FoundPolicy {
        let text = functions::text(arn, self.pseudo);
        self.found.unknown.push(format!("{address}: the managed policy \"{text}\" is not in the template"));
        FoundPolicy::placeholder(&text, arn.span)
    }

    fn single(&mut self, name: &str, resource: &Node, at: &str, used_as: Use) {
        if let Some(document) = property(resource, at) {
            let policy = self.policy(format!("Resources.{name}.{at}"), used_as, &IAM, document);
            self.found.policies.push(policy);
        }
    }
}

/// Finds the policies of a template. Positions refer to the file.
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
    let own: Vec<FoundRole> = holders.iter().map(|holder| template.holder(holder)).collect();
    let mut roles: Vec<FoundRole> = Vec::new();
    for (holder, role) in holders.iter().zip(&own) {
        let mut role = role.clone();
        if holder.named_by == "UserName" {
            for (group, decisions) in template.groups(holder, &holders) {
                let of_group = holders.iter().position(|one| one.name == group.name).and_then(|at| own.get(at));
                let policies = of_group.into_iter().flat_map(|group| group.policies.iter().cloned());
                role.policies.extend(policies.map(|policy| FoundPolicy {
                    document: policy.document.map(|document| guarded(document, &decisions)),
                    ..policy
                }));
            }
        }
        // Skip users and groups without policies: there is nothing to compare.
        if holder.named_by == "RoleName" || !role.policies.is_empty() {
            roles.push(role);
        }
    }
    for (name, node) in template.resources.clone() {
        roles.extend(template.permission_set(name, node));
        roles.extend(template.execution_role(name, node));
        if name.starts_with("Fn::ForEach::") && holds_identities(node) {
            template
                .found
                .unknown
                .push(format!("Resources.{name}: its resources are known only when the stack is created"));
        }
    }
    template.collect_remaining_policies(&holders);
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

/// True if a value holds an IAM resource, or one that creates a role.
fn holds_identities(node: &Node) -> bool {
    let is_one = |kind: &str| {
        ["AWS::IAM::", "ALIYUN::RAM::"].iter().any(|prefix| kind.starts_with(prefix))
            || serverless::TYPES.contains(&kind)
    };
    node.get("Type").and_then(Node::as_str).is_some_and(is_one)
        || node.members().unwrap_or_default().iter().any(|member| holds_identities(&member.value))
        || node.items().unwrap_or_default().iter().any(holds_identities)
}

/// Items of a list property, each with the decisions that lead to it.
fn listed<'n>(resource: &'n Node, name: &str) -> Vec<(Vec<Decision>, &'n Node)> {
    let mut found = Vec::new();
    if let Some(node) = property(resource, name) {
        alternatives(node, &[], &mut found);
    }
    found
}
