//! Answer for one action.

use super::limit::Limit;

/// Reference to a statement, by policy name and position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StatementRef {
    /// Policy name or ARN.
    pub policy: String,
    /// Zero-based position; absent if the policy decides by a missing Allow, as a boundary does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
}

impl StatementRef {
    /// "statement 2 of `policy`", counted from one as a reader does, or "`policy`". The name is not escaped.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.statement {
            Some(index) => format!("statement {} of `{}`", index + 1, self.policy),
            None => format!("`{}`", self.policy),
        }
    }
}

/// The answer for one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// On every resource, under no condition.
    Granted,
    /// On some resources, or under conditions.
    Partial,
    /// Revoked by a Deny, a boundary or a control policy: adding an Allow cannot help.
    Denied,
    /// No statement grants it.
    Missing,
    /// It depends on values known only at deployment, or the patterns are too many or too intricate to decide within
    /// bounds.
    Undecided,
}

impl Verdict {
    /// Word for the verdict in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Partial => "partial",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Undecided => "undecided",
        }
    }
}

/// A part of the question that is not granted, or only under conditions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct NotGranted {
    /// The action; it matters if the question covers several.
    pub action: String,
    /// Resources, as a pattern.
    pub resource: String,
    /// Patterns excluded from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Conditions under which it is granted; if empty, it is never granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// A resource that shows the gap.
    #[serde(rename = "example_resource")]
    pub witness: String,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assessment {
    /// Verdict on the action.
    pub verdict: Verdict,
    /// Statements that decided the verdict.
    pub because: Vec<StatementRef>,
    /// Limits of the grant; empty when not limited.
    pub limits: Vec<Limit>,
    /// Parts of the question that are not granted.
    pub not_granted: Vec<NotGranted>,
    /// Reasons for the verdict undecided; empty for every other verdict.
    pub undecided_by: Vec<String>,
}

impl Assessment {
    /// Resource patterns that limit the grant, for display (`not …` for excluded ones); empty when not limited.
    #[must_use]
    pub fn only_on(&self) -> Vec<String> {
        self.describe_limits(Limit::limits_resources)
    }

    /// Conditions that limit the grant, for display; empty when not limited.
    #[must_use]
    pub fn only_if(&self) -> Vec<String> {
        self.describe_limits(|limit| !limit.limits_resources())
    }

    /// Descriptions of the limits that `is_wanted` accepts, sorted and without duplicates.
    #[must_use]
    pub fn describe_limits(&self, is_wanted: impl Fn(&Limit) -> bool) -> Vec<String> {
        let limits = self.limits.iter().filter(|limit| is_wanted(limit));
        let mut texts: Vec<String> = limits.map(Limit::describe).filter(|text| !text.is_empty()).collect();
        texts.sort();
        texts.dedup();
        texts
    }

    pub(super) fn bare(verdict: Verdict) -> Self {
        Self { verdict, because: Vec::new(), limits: Vec::new(), not_granted: Vec::new(), undecided_by: Vec::new() }
    }
}
