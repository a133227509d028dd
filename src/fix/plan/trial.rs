//! Tries proposed writes on a copy of the account: commands that a report prints must work when they are run.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::baseline::BaselineError;
use crate::estate::{EstateRef, Identity};
use crate::finding::{Applicability, Finding, Fix};
use crate::transition::Transition;

use super::approvals::{Approvals, Mandate, SkipReason};
use super::attempts::{Attempts, Audit, describe_created};
use super::build::Scope;

/// Approvals of a trial: none, since everything tried counts as approved.
static NOTHING_APPROVED: Approvals = Approvals { mandate: Mandate::Any, allow: Vec::new(), answers: Vec::new() };

/// Tries writes on a copy of one account: all rules run on the result, for its cluster and every other that it could
/// harm.
pub(crate) struct Trial<'a> {
    attempts: Attempts<'a>,
}

/// Result of a trial.
pub(crate) struct Tried {
    /// Writes as a plan would make them: several grants of one role are one policy.
    pub(crate) changes: Vec<Transition>,
    /// Reason they must not be made.
    pub(crate) refused: Option<String>,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        identity: &'a Identity,
        estate: EstateRef<'a>,
        scope: &'a Scope<'_>,
        audit: &'a Audit<'a>,
    ) -> Self {
        let attempts = Attempts {
            identity,
            estate,
            approvals: &NOTHING_APPROVED,
            limit: None,
            cluster_id: scope.cluster_id,
            rules: &scope.rules,
            nodes: scope.nodes,
            audit,
            before: RefCell::default(),
        };
        Self { attempts }
    }

    /// Tries all the given writes of findings together.
    ///
    /// # Errors
    /// If the copy cannot be audited.
    pub(crate) fn run(&self, wanted: &[(&Finding, &[Transition])]) -> Result<Tried, BaselineError> {
        let agreed: Vec<Finding> = wanted
            .iter()
            .map(|(finding, changes)| Finding {
                fix: Fix::with(Applicability::Safe, finding.fix.summary.clone(), changes.to_vec()),
                ..(*finding).clone()
            })
            .collect();
        let attempt = self.attempts.attempt(&agreed, &BTreeMap::new(), None)?;
        let skipped = attempt.planner.skipped.iter().find_map(|left| match &left.reason {
            SkipReason::Refused(why) => Some(why.clone()),
            SkipReason::Allow
            | SkipReason::Leftover
            | SkipReason::Question(_)
            | SkipReason::ByHand(_)
            | SkipReason::BeyondApproved => None,
        });
        let created =
            (!attempt.created.is_empty()).then(|| describe_created(&attempt.created, self.attempts.cluster_id));
        let refused = attempt.planner.rejected.first().cloned().or(skipped).or(created);
        Ok(Tried { changes: attempt.changes.into_iter().map(|(change, _)| change.transition).collect(), refused })
    }
}
