//! Verifies the promises of a report. `[safe]`: rules decide one by one, and only the plan sees the combined result, so
//! a fix that the plan would refuse is not shown as safe. Printed commands: each was tried on a copy of the account,
//! alone and with all others of the report in their order; for a refused command, the report prints the reason.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::baseline::BaselineError;
use crate::estate::{EstateRef, Identity};
use crate::finding::{Applicability, Caveat, Finding};
use crate::fix::plan::{self, Approvals, SkipReason};
use crate::rules::RULES;

use super::Purpose;

mod commands;

/// Downgrades safe fixes that a plan would refuse to `confirm`, with the reason; for a report, drops commands that a trial refuses.
pub(super) fn verify(
    estate: EstateRef<'_>,
    scope: &plan::Scope<'_>,
    audit: &plan::Audit<'_>,
    purpose: Purpose,
    findings: &mut [Finding],
) {
    let writes = |finding: &Finding| {
        let fix = &finding.fix;
        !fix.changes.is_empty() || fix.choices.iter().any(|choice| !choice.changes.is_empty())
    };
    if !findings.iter().any(writes) {
        return;
    }
    let identities = estate.identities();
    for account in &identities {
        let is_here = |finding: &Finding| finding.resource.account_id.as_deref() == Some(account.account_id.as_str());
        if !findings.iter().any(|finding| writes(finding) && is_here(finding)) {
            continue;
        }
        // A plan is for one account.
        let part = (identities.len() > 1).then(|| estate.for_account(&account.account_id));
        let estate = part.as_ref().map_or(estate, |part| part.as_ref());
        // Findings before any change are the same for every trial; a scan that ran all rules has them already.
        let known: RefCell<BTreeMap<String, Vec<Finding>>> = RefCell::default();
        if part.is_none() && scope.rules.len() == RULES.len() {
            known.borrow_mut().insert(scope.cluster_id.to_owned(), findings.to_vec());
        }
        let audit = |of: EstateRef<'_>, cluster_id: &str| -> Result<Vec<Finding>, BaselineError> {
            if !of.is_same(estate) {
                return audit(of, cluster_id);
            }
            if let Some(found) = known.borrow().get(cluster_id) {
                return Ok(found.clone());
            }
            let found = audit(of, cluster_id)?;
            known.borrow_mut().insert(cluster_id.to_owned(), found.clone());
            Ok(found)
        };
        let mut here: Vec<&mut Finding> = findings.iter_mut().filter(|finding| is_here(finding)).collect();
        keep_safe(estate, scope, &audit, &mut here);
        if purpose == Purpose::Report {
            keep_commands(account, estate, scope, &audit, &mut here);
        }
    }
}

fn keep_safe(estate: EstateRef<'_>, scope: &plan::Scope<'_>, audit: &plan::Audit<'_>, here: &mut [&mut Finding]) {
    let is_safe = |finding: &Finding| finding.fix.applicability == Applicability::Safe;
    if !here.iter().any(|finding| is_safe(finding)) {
        return;
    }
    let found: Vec<Finding> = here.iter().map(|finding| (**finding).clone()).collect();
    let refusals = refusals(estate, scope, audit, &found);
    for finding in here.iter_mut().filter(|finding| is_safe(finding)) {
        let refused = match &refusals {
            Refusals::Plan(why) => Some(why),
            Refusals::Fixes(left) => left
                .iter()
                .find(|(rule, id, _)| {
                    *rule == finding.rule
                        && (*id == finding.resource.id || finding.related.iter().any(|related| related.id == *id))
                })
                .map(|(_, _, why)| why),
        };
        if let Some(why) = refused {
            finding.fix.applicability = Applicability::Confirm;
            finding.caveats.push(Caveat::Refused(why.clone()));
        }
    }
}

fn keep_commands(
    account: &Identity,
    estate: EstateRef<'_>,
    scope: &plan::Scope<'_>,
    audit: &plan::Audit<'_>,
    here: &mut [&mut Finding],
) {
    let trial = plan::Trial::new(account, estate, scope, audit);
    if let Err(why) = commands::verify(&trial, estate.instances(), here) {
        // Commands that could not be tried are not printed.
        for finding in here {
            let had = std::mem::take(&mut finding.commands);
            if !had.is_empty() {
                finding.caveats.push(Caveat::NotPrinted(format!("it could not be tried: {why}")));
            }
        }
    }
}

/// Refusals of a plan of all safe fixes.
enum Refusals {
    /// The plan as a whole was refused, with the reason.
    Plan(String),
    /// Rule, resource and reason of each fix that the plan skips.
    Fixes(Vec<(&'static str, String, String)>),
}

/// Refusals of a plan of all safe fixes.
fn refusals(estate: EstateRef<'_>, scope: &plan::Scope<'_>, audit: &plan::Audit<'_>, findings: &[Finding]) -> Refusals {
    let planned = match plan::build(estate, findings, scope, &Approvals::default(), audit) {
        Ok(planned) => planned,
        Err(error) => return Refusals::Plan(error.to_string()),
    };
    if !planned.rejected.is_empty() {
        return Refusals::Plan(planned.rejected.join("; "));
    }
    let refused = planned.skipped.into_iter().filter_map(|left| match left.reason {
        SkipReason::Refused(why) => Some((left.rule, left.resource, why)),
        SkipReason::Allow
        | SkipReason::Leftover
        | SkipReason::Question(_)
        | SkipReason::ByHand(_)
        | SkipReason::BeyondApproved => None,
    });
    Refusals::Fixes(refused.collect())
}
