//! Outcomes of rules.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::inventory::Gap;
use crate::kubernetes::ListGap;
use crate::role_audit::RoleGap;

/// What became of a rule; always one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of its resources were checked, and are in order.
    Passed,
    /// It has findings.
    Failed,
    /// There is no resource that it checks.
    NotApplicable,
    /// It found nothing, and a resource that it checks was not read.
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

    /// The same for display.
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
    /// What became of it.
    pub outcome: Outcome,
    /// How many resources it was checked on.
    pub checked: usize,
    /// Why it was not checked, or not everywhere.
    pub why: Option<String>,
}

impl RuleOutcome {
    /// Takes what became of the same rule elsewhere.
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

/// What running the rules gave.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Findings, worst first, then by rule and resource.
    pub findings: Vec<Finding>,
    /// Outcomes of the selected rules, by rule.
    pub rules: Vec<RuleOutcome>,
    /// Each read that failed, with the ids of the rules that were not checked on what it would have shown.
    pub unread: Vec<(Gap, Vec<&'static str>)>,
    /// Each role that was not compared, or not wholly, with the ids of the rules that were not checked on it.
    pub uncompared: Vec<(RoleGap, Vec<&'static str>)>,
    /// Each list of a live cluster that was not read, with the ids of the rules that read it.
    pub unlisted: Vec<(ListGap, Vec<&'static str>)>,
}
