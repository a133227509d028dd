//! What differs between the policy languages of clouds that look alike.

use super::json::{Node, Value};
use super::methods::{METHODS, Method, RAM_METHODS};
use super::operator::{OPERATORS, Operators, RAM_OPERATORS};

/// What a policy is attached to; decides what may be in it and how long it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    /// A customer managed policy, also as a permissions boundary.
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
    /// A session policy, handed over when a role is assumed.
    Session,
    /// Not known: a document with principals is taken for a trust policy, any other for a managed one without regard to
    /// its length.
    Unknown,
}

/// A policy language. What is not in it is the same for all: statements with an effect, actions and resources, wildcards, and
/// a Deny that wins within its stage.
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a language, each with its source")]
pub struct Dialect {
    /// What it is called.
    pub name: &'static str,
    /// Who evaluates it.
    pub vendor: &'static str,
    /// Versions that a document may name, the newest last.
    pub versions: &'static [&'static str],
    /// Whether `${…}` stands for a value under the newest version.
    pub has_variables: bool,
    /// The first part of the names of resources.
    pub resource_prefix: &'static str,
    /// How many parts the names of resources have, at most six; the last may hold colons.
    pub resource_parts: usize,
    /// How a name of a resource is written.
    pub resource_form: &'static str,
    /// Condition operators.
    pub operators: &'static Operators,
    /// Whether it is documented what a condition on a key comes to that a request does not carry.
    pub absent_keys_decide: bool,
    /// Whether policies may hold in a resource group only; such a language has no permissions boundaries.
    pub has_resource_groups: bool,
    /// Whether the part of an action before the colon may hold wildcards.
    pub has_service_wildcards: bool,
    /// Whether the catalogue knows on which resources actions are done, and which condition keys requests carry.
    pub knows_resources: bool,
    /// Elements that are read though the documents of the language do not have them.
    pub undocumented_elements: &'static [&'static str],
    /// Characters that a document may hold; `None` where nobody says.
    pub takes: Option<fn(char) -> bool>,
    /// The action that hands a role to a service.
    pub pass_role: &'static str,
    /// Ways from rights to more rights.
    pub methods: &'static [Method],
    /// Characters that a policy of a kind may have; `None` where the kind is not known.
    pub quota: fn(PolicyKind) -> Option<usize>,
}

impl Dialect {
    /// The newest version.
    #[must_use]
    pub fn newest_version(&self) -> &'static str {
        self.versions.last().copied().unwrap_or_default()
    }

    /// The language of a document by what it says of itself: its version, or the names of its resources where it names no
    /// version; `None` where neither tells.
    #[must_use]
    pub fn of(root: &Node) -> Option<&'static Self> {
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

    /// Whether `${…}` stands for a value in a document of a version.
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

/// The language of AWS IAM. Sources: AWS IAM User Guide, "IAM JSON policy elements"; quotas of IAM and Organizations, white
/// space not counted but in control policies.
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
    takes: Some(|character| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{ff}')),
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

/// The language of Alibaba Cloud Resource Access Management. Sources, all of the RAM documentation: "Policy structure and
/// syntax" (2021-05), "Policy elements" (2026-05-20), "Condition operators" (2025-12-09), "Limits" (2025-12-16); session
/// policies: STS 2015-04-01, `AssumeRole`. Wildcards before the colon: the policy document in the examples of
/// cloudsso 2021-05-15, `AddPermissionPolicyToAccessConfiguration` (`*:Describe*`). `NotResource` and `Sid` are in no current list of elements;
/// what a condition on a missing key comes to is written nowhere, nor which characters are taken.
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
    takes: None,
    pass_role: "ram:PassRole",
    methods: RAM_METHODS,
    quota: |kind| match kind {
        PolicyKind::Managed => Some(6_144),
        PolicyKind::Session => Some(2_048),
        // Every policy has a name; trust and control policies have limits that are not published.
        PolicyKind::Inline
        | PolicyKind::UserInline
        | PolicyKind::GroupInline
        | PolicyKind::Trust
        | PolicyKind::Control
        | PolicyKind::ResourceControl
        | PolicyKind::Unknown => None,
    },
};

/// Every language.
pub static DIALECTS: [&Dialect; 2] = [&IAM, &RAM];
