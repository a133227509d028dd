//! What differs between the policy languages of clouds that look alike.

use super::operator::{OPERATORS, Operators};

/// What a policy is attached to; decides what may be in it and how long it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    /// A customer managed policy, also as a permissions boundary.
    Managed,
    /// An inline policy of a role.
    Inline,
    /// A service control policy.
    Control,
    /// The trust policy of a role.
    Trust,
    /// Not known: a document with principals is taken for a trust policy, any other for a managed one without regard to
    /// its length.
    Unknown,
}

/// A policy language. What is not in it is the same for all: statements with an effect, actions and resources, wildcards, and
/// a Deny that wins.
pub struct Dialect {
    /// Whose it is, in a sentence.
    pub name: &'static str,
    /// Versions that a document may name, the newest last. Under it `${…}` stands for a value.
    pub versions: &'static [&'static str],
    /// The first part of the names of resources.
    pub resource_prefix: &'static str,
    /// Condition operators without prefix and suffix: as they are spelt, how they compare, whether they are negated.
    pub operators: &'static Operators,
    /// Characters that a policy of a kind may have; `None` where the kind is not known.
    pub quota: fn(PolicyKind) -> Option<usize>,
}

impl Dialect {
    /// The newest version.
    #[must_use]
    pub fn newest_version(&self) -> &'static str {
        self.versions.last().copied().unwrap_or_default()
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
    versions: &["2008-10-17", "2012-10-17"],
    resource_prefix: "arn",
    operators: OPERATORS,
    quota: |kind| match kind {
        PolicyKind::Managed => Some(6_144),
        PolicyKind::Inline => Some(10_240),
        PolicyKind::Control => Some(5_120),
        PolicyKind::Trust => Some(2_048),
        PolicyKind::Unknown => None,
    },
};
