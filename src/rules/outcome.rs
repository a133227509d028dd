//! Outcomes of rules.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::inventory::Gap;
use crate::kubernetes::ListGap;
use crate::role_audit::RoleGap;

/// Outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of its resources were checked, without findings.
    Passed,
    /// The rule has findings.
    Failed,
    /// There is no resource for the rule to check.
    NotApplicable,
    /// Nothing was found, but a resource that it checks was not read.
    NotAudited,
}

impl Outcome {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable => "not_applicable",
            Self::NotAudited => "not_audited",
        }
    }

    /// The word for display.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable => "not applicable",
            Self::NotAudited => "not audited",
        }
    }
}

/// The outcome of a rule over all regions, accounts and roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOutcome {
    /// Rule id.
    pub rule: &'static str,
    pub outcome: Outcome,
    /// Number of checked resources.
    pub checked: usize,
    /// Reason that it was not checked, or not everywhere.
    pub why: Option<String>,
}

impl RuleOutcome {
    /// Merges the outcome of the same rule elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        let weight = |outcome: Outcome| match outcome {
            Outcome::Failed => 3,
            Outcome::NotAudited => 2,
            Outcome::Passed => 1,
            Outcome::NotApplicable => 0,
        };
        let checked = self.checked + other.checked;
        if weight(other.outcome) > weight(self.outcome) {
            *self = other;
        }
        self.checked = checked;
    }
}

/// Results of all rules that were run.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Findings, worst first, then by rule and resource.
    pub findings: Vec<Finding>,
    /// Outcomes of the selected rules, by rule.
    pub rules: Vec<RuleOutcome>,
    /// Failed reads, each with the ids of the rules that were not checked on the resources it hides.
    pub unread: Vec<(Gap, Vec<&'static str>)>,
    /// Roles that were not compared, or not completely, each with the ids of the rules that were not checked on it.
    pub uncompared: Vec<(RoleGap, Vec<&'static str>)>,
    /// Lists of a live cluster that were not read, each with the ids of the rules that use it.
    pub unlisted: Vec<(ListGap, Vec<&'static str>)>,
}
