//! An approved plan as the limit of another one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Expect, Plan, PlannedChange};

/// The changes of an approved plan, by id.
pub(super) struct Limit<'a> {
    changes: BTreeMap<&'a str, &'a PlannedChange>,
    rules: BTreeSet<&'a str>,
}

impl<'a> Limit<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let rules = plan.changes.iter().flat_map(|change| change.rules.iter().map(String::as_str));
        Self {
            changes: plan.changes.iter().map(|change| (change.id.as_str(), change)).collect(),
            rules: rules.collect(),
        }
    }

    /// True if the approved plan makes exactly this change on the same resource: a role that was deleted and re-created
    /// is another one, as is an instance in another VPC.
    pub(super) fn holds(&self, change: &PlannedChange) -> bool {
        let Some(approved) = self.changes.get(change.id.as_str()) else { return false };
        let identity = |expect: &Expect| (expect.role_id.clone(), expect.vpc_id.clone());
        approved.transition == change.transition && identity(&approved.expect) == identity(&change.expect)
    }

    /// True if the approved plan fixes anything that a rule finds.
    pub(super) fn is_about(&self, rule: &str) -> bool {
        self.rules.contains(rule)
    }
}
