//! The result of a check.

use super::violation::{Violation, once};

#[derive(Debug)]
pub struct CheckResult {
    /// Number of checked resources; `None` where the runner counts the subjects of the rule.
    pub checked: Option<usize>,
    /// Violations, or the reason why the rule does not apply.
    pub outcome: Result<Vec<Violation>, NotApplicable>,
}

/// The reason why a rule does not apply.
#[derive(Debug, Clone, Copy)]
pub struct NotApplicable(pub &'static str);

impl CheckResult {
    /// A check of so many resources.
    pub(super) fn counted(checked: usize, found: impl IntoIterator<Item = Violation>) -> Self {
        Self { checked: Some(checked), outcome: Ok(once(found)) }
    }

    /// A check without violations, whose subjects the runner counts.
    pub(super) fn clean() -> Self {
        Self::from(Vec::new())
    }

    pub(super) fn not_applicable(why: &'static str) -> Self {
        Self { checked: None, outcome: Err(NotApplicable(why)) }
    }

    /// The same, except that a check without violations passes nothing where the reason is known why it could not find any.
    pub(super) fn unless(self, why: Option<&'static str>) -> Self {
        match (why, &self.outcome) {
            (Some(why), Ok(found)) if found.is_empty() => Self::not_applicable(why),
            _ => self,
        }
    }
}

impl From<Vec<Violation>> for CheckResult {
    fn from(found: Vec<Violation>) -> Self {
        Self { checked: None, outcome: Ok(found) }
    }
}

impl FromIterator<Violation> for CheckResult {
    fn from_iter<I: IntoIterator<Item = Violation>>(found: I) -> Self {
        Self::from(Vec::from_iter(found))
    }
}
