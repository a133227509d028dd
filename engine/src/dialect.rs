//! Differences between the similar policy languages of clouds.

use super::json::{Node, Value};
use super::methods::{METHODS, Method, RAM_METHODS};
use super::operator::{OPERATORS, Operators, RAM_OPERATORS};

/// Kind of a policy by its attachment; determines the elements that it may have and its maximum length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    /// A customer managed policy, including one used as a permissions boundary.
    Managed,
    /// An inline policy of a role.
    Inline,
    /// An inline policy of a user.
    UserInline,
    /// An inline policy of a group.
    GroupInline,
    /// A service control policy.
    Control,
    /// A resource control policy.
    ResourceControl,
    /// The trust policy of a role.
    Trust,
    /// A session policy, passed when a role is assumed.
    Session,
    /// Unknown: a document with principals is treated as a trust policy, any other as a managed one of any length.
    Unknown,
}

/// A policy language. Everything else is common to all: statements with an effect, actions and resources, wildcards,
/// and a Deny that wins within its stage.
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a language, each with its source")]
pub struct Dialect {
    /// Name of the language.
    pub name: &'static str,
    /// Cloud vendor that evaluates it.
    pub vendor: &'static str,
    /// Versions that a document may declare, the newest last.
    pub versions: &'static [&'static str],
    /// True if `${…}` is a variable under the newest version.
    pub has_variables: bool,
    /// First part of resource names.
    pub resource_prefix: &'static str,
    /// Number of parts in resource names, at most six; the last may hold colons.
    pub resource_parts: usize,
    /// Form of a resource name, for messages.
    pub resource_form: &'static str,
    /// Condition operators.
    pub operators: &'static Operators,
    /// True if the result of a condition on a key that the request does not carry is documented.
    pub absent_keys_decide: bool,
    /// True if policies may be confined to a resource group; such a language has no permissions boundaries.
    pub has_resource_groups: bool,
    /// True if the part of an action before the colon may hold wildcards.
    pub has_service_wildcards: bool,
    /// True if the catalogue has the resources of actions, and the condition keys of requests.
    pub knows_resources: bool,
    /// Elements that are accepted although the documentation of the language does not list them.
    pub undocumented_elements: &'static [&'static str],
    /// Returns true for characters that a document may hold; `None` if undocumented.
    pub accepts: Option<fn(char) -> bool>,
    /// Action that passes a role to a service.
    pub pass_role: &'static str,
    /// Privilege escalation paths.
    pub methods: &'static [Method],
    /// Maximum number of characters in a policy of a kind; `None` if unknown.
    pub quota: fn(PolicyKind) -> Option<usize>,
}

impl Dialect {
    /// Newest version.
    #[must_use]
    pub fn newest_version(&self) -> &'static str {
        self.versions.last().copied().unwrap_or_default()
    }

    /// Detects the language of a document from its version, or, if it has none, from its resource names; `None` if
    /// neither identifies it.
    #[must_use]
    pub fn detect(root: &Node) -> Option<&'static Self> {
        let by = |is: &dyn Fn(&Self) -> bool| DIALECTS.into_iter().find(|dialect| is(dialect));
        match root.get("Version").map(|version| &version.value) {
            Some(Value::String(text)) => by(&|dialect| dialect.versions.contains(&&**text)),
            Some(_) => None,
            None => {
                let statements = root.get("Statement")?;
                let resources = statements.items().unwrap_or(std::slice::from_ref(statements)).iter();
                let texts = resources.filter_map(|one| one.get("Resource").or_else(|| one.get("NotResource")));
                let mut texts = texts.flat_map(|found| found.items().unwrap_or(std::slice::from_ref(found)));
                texts.find_map(|node| match &node.value {
                    Value::String(text) => {
                        let prefix = text.split_once(':')?.0;
                        by(&|dialect| dialect.resource_prefix == prefix)
                    }
                    _ => None,
                })
            }
        }
    }

    /// True if `${…}` is a variable in a document of a version.
    pub(super) fn reads_variables(&self, version: Option<&str>) -> bool {
        self.has_variables && version == Some(self.newest_version())
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Dialect {}

/// Language of AWS IAM. Sources: AWS IAM User Guide, "IAM JSON policy elements"; quotas of IAM and Organizations, which
/// do not count white space except in control policies.
pub static IAM: Dialect = Dialect {
    name: "IAM",
    vendor: "AWS",
    versions: &["2008-10-17", "2012-10-17"],
    has_variables: true,
    resource_prefix: "arn",
    resource_parts: 6,
    resource_form: "an ARN of six parts",
    operators: OPERATORS,
    absent_keys_decide: true,
    has_resource_groups: false,
    has_service_wildcards: false,
    knows_resources: true,
    undocumented_elements: &[],
    accepts: Some(|character| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{ff}')),
    pass_role: "iam:PassRole",
    methods: METHODS,
    quota: |kind| match kind {
        PolicyKind::Managed => Some(6_144),
        PolicyKind::Inline => Some(10_240),
        PolicyKind::Control | PolicyKind::ResourceControl | PolicyKind::GroupInline => Some(5_120),
        PolicyKind::UserInline | PolicyKind::Trust | PolicyKind::Session => Some(2_048),
        PolicyKind::Unknown => None,
    },
};

/// Language of Alibaba Cloud Resource Access Management. Sources, all from the RAM documentation: "Policy structure and
/// syntax" (2021-05), "Policy elements" (2026-05-20), "Condition operators" (2025-12-09), "Limits" (2025-12-16);
/// session policies: STS 2015-04-01, `AssumeRole`. Wildcards before the colon: the policy document in the examples of
/// cloudsso 2021-05-15, `AddPermissionPolicyToAccessConfiguration` (`*:Describe*`). `NotResource` and `Sid` are in no
/// current list of elements; neither the result of a condition on a missing key nor the accepted characters are
/// documented.
pub static RAM: Dialect = Dialect {
    name: "RAM",
    vendor: "Alibaba Cloud",
    versions: &["1"],
    has_variables: false,
    resource_prefix: "acs",
    resource_parts: 5,
    resource_form: "acs:SERVICE:REGION:ACCOUNT:RESOURCE",
    operators: RAM_OPERATORS,
    absent_keys_decide: false,
    has_resource_groups: true,
    has_service_wildcards: true,
    knows_resources: false,
    undocumented_elements: &["Id", "NotPrincipal", "NotResource", "Sid"],
    accepts: None,
    pass_role: "ram:PassRole",
    methods: RAM_METHODS,
    quota: |kind| match kind {
        PolicyKind::Managed => Some(6_144),
        PolicyKind::Session => Some(2_048),
        // Every policy has a name; the limits of trust and control policies are not published.
        PolicyKind::Inline
        | PolicyKind::UserInline
        | PolicyKind::GroupInline
        | PolicyKind::Trust
        | PolicyKind::Control
        | PolicyKind::ResourceControl
        | PolicyKind::Unknown => None,
    },
};

/// All languages.
pub static DIALECTS: [&Dialect; 2] = [&IAM, &RAM];
