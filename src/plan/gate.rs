//! The gate before the first write: what was approved is a limit, and what is written is planned again from an account that was just read.

use std::collections::{BTreeMap, BTreeSet};

use crate::estate::EstateRef;
use crate::transition::Transition;

use super::approvals::SkipReason;
use super::state::{Fit, fit, observe};
use super::{Expect, Plan, Planned, PlannedChange};

/// The changes of an approved plan, by id.
pub(super) struct Limit<'a> {
    changes: BTreeMap<&'a str, &'a PlannedChange>,
    rules: BTreeSet<&'a str>,
}

impl<'a> Limit<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let rules = plan.changes.iter().flat_map(|change| change.rules.iter().map(String::as_str));
        Self {
            changes: plan.changes.iter().map(|change| (change.id.as_str(), change)).collect(),
            rules: rules.collect(),
        }
    }

    /// Whether the approved plan makes exactly this change, on the same thing: a role that was deleted and made again is
    /// another one, as is an instance in another VPC.
    pub(super) fn holds(&self, change: &PlannedChange) -> bool {
        let Some(approved) = self.changes.get(change.id.as_str()) else { return false };
        let identity = |expect: &Expect| (expect.role_id.clone(), expect.vpc_id.clone());
        approved.transition == change.transition && identity(&approved.expect) == identity(&change.expect)
    }

    /// Whether the approved plan fixes anything that a rule finds.
    pub(super) fn is_about(&self, rule: &str) -> bool {
        self.rules.contains(rule)
    }
}

/// Why a change that was approved is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// Its new value is there already.
    InPlace,
    /// The plan that was made again does not hold it: why, for a person.
    NotPlanned(String),
}

/// The changes of an approved plan that the one made again does not hold, each with the reason, in the order of the approved one.
#[must_use]
pub fn left_out<'p>(
    approved: &'p Plan,
    again: &Planned,
    estate: EstateRef<'_>,
    options: &[String],
) -> Vec<(&'p PlannedChange, LeftOut)> {
    let held: BTreeMap<&str, &Transition> =
        again.plan.changes.iter().map(|change| (change.id.as_str(), &change.transition)).collect();
    let missing: Vec<&str> =
        approved.evidence.options.iter().filter(|option| !options.contains(option)).map(String::as_str).collect();
    let left = approved.changes.iter().filter(|change| held.get(change.id.as_str()) != Some(&&change.transition));
    left.map(|change| (change, reason(change, again, estate, &missing))).collect()
}

fn reason(change: &PlannedChange, again: &Planned, estate: EstateRef<'_>, missing: &[&str]) -> LeftOut {
    let Transition { target, attribute, new, .. } = &change.transition;
    let found = observe(estate, target, attribute);
    if found.is_some_and(|found| !found.is_gone && found.value == *new) {
        return LeftOut::InPlace;
    }
    // What the operator said when the plan was made, and not now.
    let unsaid = if missing.is_empty() {
        String::new()
    } else {
        format!("; the plan was made with {}, and this command line was not given it", missing.join(" "))
    };
    let of_rule = || again.skipped.iter().filter(|left| change.rules.iter().any(|rule| rule == left.rule));
    let skipped = of_rule().find(|left| left.resource == target.id).or_else(|| of_rule().next());
    let why = skipped.and_then(|left| match &left.reason {
        SkipReason::Allow => Some(format!("it takes --allow {} now: {}{unsaid}", left.rule, left.what)),
        SkipReason::Question(_) => {
            Some(format!("it takes an answer: --choose {}:{}=VALUE{unsaid}", left.rule, left.resource))
        }
        SkipReason::Refused(why) | SkipReason::ByHand(why) => Some(format!("{why}{unsaid}")),
        SkipReason::BeyondApproved => None,
    });
    let stale = || match fit(estate, change) {
        Fit::Stale(why) => Some(why),
        Fit::AsPlanned | Fit::Done => None,
    };
    let why = why.or_else(stale);
    LeftOut::NotPlanned(why.unwrap_or_else(|| format!("a scan of now does not ask for it{unsaid}")))
}

/// The first change that an undo of a journal makes and the inverse of its run does not, or the other way round.
#[must_use]
pub fn unlike_inverse<'p>(undo: &'p Plan, inverse: &'p Plan) -> Option<&'p PlannedChange> {
    fn beyond<'p>(plan: &'p Plan, other: &Plan) -> Option<&'p PlannedChange> {
        let known: BTreeMap<&str, &PlannedChange> =
            other.changes.iter().map(|change| (change.id.as_str(), change)).collect();
        plan.changes.iter().find(|change| {
            known
                .get(change.id.as_str())
                .is_none_or(|other| other.transition != change.transition || other.expect != change.expect)
        })
    }
    beyond(undo, inverse).or_else(|| beyond(inverse, undo))
}
