//! Policies inside of infrastructure code: Terraform plans as JSON, and CloudFormation templates as JSON or YAML. Each is
//! named by its address; the roles, users and groups say which of them belong together. All places are those of the file.

use super::dialect::Dialect;
use super::document::{Document, Malformed};
use super::json::{Either, JsonError, Node, Span, Value};
use super::lint::PolicyKind;
use super::text::Text;
use super::{document, yaml};

mod cloudformation;
mod functions;
mod managed;
mod nested;
mod terraform;

/// Most characters of a template that are read.
pub const MAX_TEMPLATE_BYTES: u64 = 256 * 1024 * 1024;

/// What a policy that was found is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The file itself, or one of which nothing more is known.
    Document,
    /// A managed policy.
    Managed,
    /// An inline policy of a role.
    Inline,
    /// An inline policy of a user.
    UserInline,
    /// An inline policy of a group.
    GroupInline,
    /// The trust policy of a role.
    Trust,
    /// A service control policy.
    Control,
    /// It is not in the file: only its name is known.
    NotHere,
}

impl Use {
    /// What a lint goes by.
    #[must_use]
    pub fn kind(self) -> PolicyKind {
        match self {
            Self::Document | Self::NotHere => PolicyKind::Unknown,
            Self::Managed => PolicyKind::Managed,
            Self::Inline => PolicyKind::Inline,
            Self::UserInline => PolicyKind::UserInline,
            Self::GroupInline => PolicyKind::GroupInline,
            Self::Trust => PolicyKind::Trust,
            Self::Control => PolicyKind::Control,
        }
    }
}

/// A policy that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPolicy {
    /// Address in the template, such as `aws_iam_role_policy.worker`; empty for a file that is a policy itself.
    pub address: String,
    /// What it is for.
    pub used_as: Use,
    /// The document, with its places in the file; an error where the template holds text that is none.
    pub document: Result<Node, JsonError>,
}

/// A policy of a template that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Its text is not JSON.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// Its JSON is not a policy document.
    #[error("{} at {}", .0.reason, .0.pointer)]
    Document(Malformed),
}

impl FoundPolicy {
    /// What stands for a policy that a file names and does not hold.
    fn not_here(name: &Text, span: Span) -> Self {
        let stand_in = if name.is_known() { Text::unknown(name) } else { name.clone() };
        let document = Ok(Node { span, value: Value::String(stand_in) });
        Self { address: name.to_string(), used_as: Use::NotHere, document }
    }

    /// Its first byte in the file.
    fn offset(&self) -> usize {
        self.document.as_ref().map_or_else(|error| error.offset, |node| node.span.start)
    }

    /// True if what stands for it may deny: of AWS's own managed policies few do.
    /// Source: AWS Managed Policy Reference.
    fn may_deny(&self) -> bool {
        let of_aws = self.address.split_once(":iam::aws:policy/").map(|(_, name)| name);
        of_aws.is_none_or(managed::denies)
    }

    /// The document that it stands for; one that is not in the file may allow anything, and where that can be, deny it.
    ///
    /// # Errors
    /// If the text is not JSON, or not a policy document.
    pub fn evaluable(&self, dialect: &'static Dialect) -> Result<Document, PolicyError> {
        if self.used_as == Use::NotHere {
            return Ok(Document::unknown(&format!("the policy {}", self.address), self.may_deny(), dialect));
        }
        let node = self.document.clone().map_err(PolicyError::Json)?;
        let (document, malformed) = Document::from_node(String::new(), node, dialect);
        match malformed.into_iter().next() {
            Some(problem) => Err(PolicyError::Document(problem)),
            None => Ok(document),
        }
    }
}

/// A role, user or group that was found, with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundRole {
    /// Address in the template.
    pub address: String,
    /// Inline and attached policies.
    pub policies: Vec<FoundPolicy>,
    /// Permissions boundary.
    pub boundary: Option<FoundPolicy>,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Whether it is a template or plan, rather than a policy.
    pub is_template: bool,
    /// Roles, users and groups with their policies.
    pub roles: Vec<FoundRole>,
    /// Policies that belong to no role of the file.
    pub policies: Vec<FoundPolicy>,
    /// Trust policies of the roles.
    pub trusts: Vec<FoundPolicy>,
    /// What the file does not tell: documents known only after it is applied, managed policies that are not in it.
    pub unknown: Vec<String>,
    /// Documents that are policies of something else than an identity, and are not looked at.
    pub left_out: Vec<String>,
}

impl Found {
    /// Every policy of the file, each once, in the order of their addresses.
    #[must_use]
    pub fn all(&self) -> Vec<&FoundPolicy> {
        let of_roles = self.roles.iter().flat_map(|role| role.policies.iter().chain(&role.boundary));
        let mut all: Vec<&FoundPolicy> = of_roles.chain(&self.policies).chain(&self.trusts).collect();
        all.retain(|policy| policy.used_as != Use::NotHere);
        // A policy that several roles have may hang on other conditions of the stack with each. Two branches of a condition may
        // have policies of one name.
        all.sort_by(|a, b| (&a.address, a.offset()).cmp(&(&b.address, b.offset())));
        all.dedup_by(|a, b| a.address == b.address && a.offset() == b.offset());
        all
    }
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// Meant to be YAML, and is not.
    #[error("{0}")]
    Yaml(JsonError),
    /// Neither a policy nor anything that holds some.
    #[error("no policy document, Terraform plan or CloudFormation template: {0}")]
    Unknown(&'static str),
}

/// Values of the environment for `AWS::Partition`, `AWS::Region` and `AWS::AccountId`.
#[derive(Debug, Clone, Default)]
pub struct Pseudo {
    /// Partition, if it is known.
    pub partition: Option<String>,
    /// Region, if it is known.
    pub region: Option<String>,
    /// Account id, if it is known.
    pub account_id: Option<String>,
    /// Whether what is asked is about the account and region of the stack: an ARN of these is then one of any.
    pub is_home: bool,
}

/// Finds the policies of a file.
///
/// # Errors
/// When it is none of the kinds that are known.
pub fn find(text: &str, pseudo: &Pseudo) -> Result<Found, TemplateError> {
    let trimmed = text.trim_start();
    if document::source(text) != text {
        let node = Node::parse(&document::source(text)).map_err(TemplateError::Json)?;
        return Ok(plain(node));
    }
    let node = if trimmed.starts_with(['{', '[', '\u{feff}']) {
        match Node::parse(text) {
            Ok(node) => node,
            // YAML has braces too, and takes a comma before the last of them.
            Err(error) => {
                let template = yaml::parse(text).ok().filter(|node| node.get("Resources").is_some());
                template.ok_or(TemplateError::Json(error))?
            }
        }
    } else {
        yaml::parse(text).map_err(TemplateError::Yaml)?
    };
    if node.get("Statement").is_some() || (node.get("Version").is_some() && node.get("Resources").is_none()) {
        return Ok(plain(node));
    }
    let has = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
    if has(&["planned_values", "resource_changes"]) || (has(&["values"]) && has(&["terraform_version"])) {
        return Ok(terraform::find(text, &node));
    }
    if has(&["format_version"]) || (has(&["terraform_version"]) && has(&["resources"])) {
        return Err(TemplateError::Unknown(
            "a Terraform state or configuration; `terraform show -json PLAN` writes a plan",
        ));
    }
    if has(cloudformation::SECTIONS) {
        return Ok(cloudformation::find(text, &node, pseudo));
    }
    Err(TemplateError::Unknown("it has no `Statement`, no `Resources` and no `planned_values`"))
}

fn plain(node: Node) -> Found {
    let policy = FoundPolicy { address: String::new(), used_as: Use::Document, document: Ok(node) };
    Found { policies: vec![policy], ..Found::default() }
}

/// A decision that deployment makes, such as a condition of the stack, with the outcome that is needed.
type Decision = (String, bool);

/// A document whose statements are there only if what decides at deployment turns out as said.
fn guarded(mut document: Node, decisions: &[Decision]) -> Node {
    if let Value::Object(members) = &mut document.value {
        for member in members.iter_mut().filter(|member| *member.key == *"Statement") {
            for (condition, holds) in decisions {
                let inner = Some(member.value.clone());
                let (then, otherwise) = if *holds { (inner, None) } else { (None, inner) };
                let either = Either { condition: condition.clone(), then, otherwise };
                member.value.value = Value::Either(Box::new(either));
            }
        }
    }
    document
}

#[cfg(test)]
mod tests;
