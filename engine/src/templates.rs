//! Policies within infrastructure code: Terraform plans as JSON, and templates of CloudFormation and ROS as JSON or
//! YAML. Each
//! policy has its address as its name; roles, users and groups list their policies. All positions refer to the file.

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

/// Maximum size of a template in bytes.
pub const MAX_TEMPLATE_BYTES: u64 = 256 * 1024 * 1024;

/// Use of a policy in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The file itself, or a policy of unknown use.
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
    /// A policy that is not in the file: only its name is known.
    Missing,
}

impl Use {
    /// Kind of policy for lint checks.
    #[must_use]
    pub fn kind(self) -> PolicyKind {
        match self {
            Self::Document | Self::Missing => PolicyKind::Unknown,
            Self::Managed => PolicyKind::Managed,
            Self::Inline => PolicyKind::Inline,
            Self::UserInline => PolicyKind::UserInline,
            Self::GroupInline => PolicyKind::GroupInline,
            Self::Trust => PolicyKind::Trust,
            Self::Control => PolicyKind::Control,
        }
    }
}

/// A policy found in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPolicy {
    /// Address in the template, such as `aws_iam_role_policy.worker`; empty for a file that is a policy itself.
    pub address: String,
    /// Use of the policy.
    pub used_as: Use,
    /// Language of the policy, if the type of its resource states it.
    pub dialect: Option<&'static Dialect>,
    /// Document, with its positions in the file; an error if the text is not JSON.
    pub document: Result<Node, JsonError>,
}

/// Error for a policy that cannot be evaluated.
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
    /// Creates a placeholder for a policy that the file names but does not contain.
    fn placeholder(name: &Text, span: Span) -> Self {
        let stand_in = if name.is_known() { Text::unknown(name) } else { name.clone() };
        let document = Ok(Node { span, value: Value::String(stand_in) });
        Self { address: name.to_string(), used_as: Use::Missing, dialect: None, document }
    }

    /// The policy under decisions made at deployment.
    fn under(self, decisions: &[Decision]) -> Self {
        Self { document: self.document.map(|document| guarded(document, decisions)), ..self }
    }

    /// Offset of its first byte in the file.
    fn offset(&self) -> usize {
        self.document.as_ref().map_or_else(|error| error.offset, |node| node.span.start)
    }

    /// True if a placeholder may deny: few of AWS's managed policies do.
    /// Source: AWS Managed Policy Reference.
    fn may_deny(&self) -> bool {
        let of_aws = self.address.split_once(":iam::aws:policy/").map(|(_, name)| name);
        of_aws.is_none_or(managed::denies)
    }

    /// Document for evaluation. A policy that is not in the file may allow anything, and possibly deny it.
    ///
    /// # Errors
    /// If the text is not JSON, or not a policy document.
    pub fn evaluable(&self, dialect: &'static Dialect) -> Result<Document, PolicyError> {
        if self.used_as == Use::Missing {
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

/// A role, user or group with its policies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundRole {
    /// Address in the template.
    pub address: String,
    /// Language of its policies, if its type states it.
    pub dialect: Option<&'static Dialect>,
    /// Inline and attached policies.
    pub policies: Vec<FoundPolicy>,
    /// Permissions boundary.
    pub boundary: Option<FoundPolicy>,
}

/// Content of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// True for a template or plan, false for a policy.
    pub is_template: bool,
    /// Roles, users and groups with their policies.
    pub roles: Vec<FoundRole>,
    /// Policies without a role in the file.
    pub policies: Vec<FoundPolicy>,
    /// Trust policies of the roles.
    pub trusts: Vec<FoundPolicy>,
    /// Facts missing from the file: documents known only after it is applied, managed policies that are not in it.
    pub unknown: Vec<String>,
    /// Documents that are not identity policies, and are skipped.
    pub skipped: Vec<String>,
}

impl Found {
    /// Every policy of the file, without duplicates, ordered by address.
    #[must_use]
    pub fn all(&self) -> Vec<&FoundPolicy> {
        let of_roles = self.roles.iter().flat_map(|role| role.policies.iter().chain(&role.boundary));
        let mut all: Vec<&FoundPolicy> = of_roles.chain(&self.policies).chain(&self.trusts).collect();
        all.retain(|policy| policy.used_as != Use::Missing);
        // A policy of several roles may depend on different stack conditions for each. Two branches of a condition may
        // have policies with the same name.
        all.sort_by(|a, b| (&a.address, a.offset()).cmp(&(&b.address, b.offset())));
        all.dedup_by(|a, b| a.address == b.address && a.offset() == b.offset());
        all
    }
}

/// Error for an unreadable file.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// Not valid YAML.
    #[error("{0}")]
    Yaml(JsonError),
    /// Neither a policy nor a file with policies.
    #[error("no policy document, Terraform plan, CloudFormation or ROS template: {0}")]
    Unknown(&'static str),
}

/// Values of the environment for `AWS::Partition`, `AWS::Region` and `AWS::AccountId`.
#[derive(Debug, Clone, Default)]
pub struct Pseudo {
    /// Partition; `None` if unknown.
    pub partition: Option<String>,
    /// Region; `None` if unknown.
    pub region: Option<String>,
    /// Account id; `None` if unknown.
    pub account_id: Option<String>,
    /// True if the question concerns the account and region of the stack: an ARN with these values then matches any.
    pub is_home: bool,
}

/// Finds the policies of a file.
///
/// # Errors
/// If the file is not of a known kind.
pub fn find(text: &str, pseudo: &Pseudo) -> Result<Found, TemplateError> {
    let trimmed = text.trim_start();
    if document::source(text) != text {
        let node = Node::parse(&document::source(text)).map_err(TemplateError::Json)?;
        return Ok(plain(node));
    }
    let node = if trimmed.starts_with(['{', '[', '\u{feff}']) {
        match Node::parse(text) {
            Ok(node) => node,
            // YAML also uses braces, and allows a trailing comma.
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
    let policy = FoundPolicy { address: String::new(), used_as: Use::Document, dialect: None, document: Ok(node) };
    Found { policies: vec![policy], ..Found::default() }
}

/// A decision made at deployment, such as a stack condition, with the required result.
type Decision = (String, bool);

/// Makes the statements of a document conditional on decisions made at deployment.
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
