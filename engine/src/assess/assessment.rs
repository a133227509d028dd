//! What is said about an action.

use super::limit::Limit;

/// A statement, by policy name and position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StatementRef {
    /// Policy name or ARN.
    pub policy: String,
    /// Zero-based position; absent when the policy decides by what it lacks, as a boundary does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
}

/// The answer for one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// On every resource, under no condition.
    Granted,
    /// On some resources, or under conditions.
    Partial,
    /// Taken away by a Deny, a boundary or a control policy: adding an Allow cannot help.
    Denied,
    /// No statement grants it.
    Missing,
    /// It depends on what is known only when a template is deployed, or the patterns are too many or too intricate to decide
    /// within bounds.
    Undecided,
}

impl Verdict {
    /// The word used in reports.
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

/// A part of what was asked for that is not granted, or only under conditions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct NotGranted {
    /// The action, where more than one was asked for.
    pub action: String,
    /// Resources, as a pattern.
    pub resource: String,
    /// Patterns that are not part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Conditions under which it is granted; never when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// A resource that shows it.
    #[serde(rename = "example_resource")]
    pub witness: String,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The answer.
    pub verdict: Verdict,
    /// The statements that decided it.
    pub because: Vec<StatementRef>,
    /// What it is limited to; empty when not limited.
    pub limits: Vec<Limit>,
    /// What is not granted of what was asked for.
    pub not_granted: Vec<NotGranted>,
    /// Why it is undecided; empty for every other verdict.
    pub undecided_by: Vec<String>,
}

impl Assessment {
    /// Resource patterns it is limited to, for a person (`not …` for excluded ones); empty when not limited.
    #[must_use]
    pub fn only_on(&self) -> Vec<String> {
        self.describe_limits(Limit::is_of_resources)
    }

    /// Conditions it is limited to, for a person; empty when not limited.
    #[must_use]
    pub fn only_if(&self) -> Vec<String> {
        self.describe_limits(|limit| !limit.is_of_resources())
    }

    /// Some of the limits for a person, in order and each once.
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
