//! `[safe]` is a promise: each rule decides by itself, and only the plan sees what all the changes together come to. What
//! the plan would refuse is not shown as safe.

use crate::estate::EstateRef;
use crate::finding::{Applicability, Caveat, Finding};
use crate::plan::{self, Approvals, SkipReason};

/// Makes `confirm` of what is called safe and would be refused, and says why.
pub(super) fn keep(estate: EstateRef<'_>, scope: &plan::Scope<'_>, audit: &plan::Audit<'_>, findings: &mut [Finding]) {
    let is_safe = |finding: &Finding| finding.fix.applicability == Applicability::Safe;
    if !findings.iter().any(is_safe) {
        return;
    }
    let identities = estate.identities();
    for account in &identities {
        let is_here = |finding: &Finding| finding.resource.account_id.as_deref() == Some(account.account_id.as_str());
        if !findings.iter().any(|finding| is_safe(finding) && is_here(finding)) {
            continue;
        }
        // A plan is for one account.
        let part = (identities.len() > 1).then(|| estate.of_account(&account.account_id));
        let found: Vec<Finding> = findings.iter().filter(|finding| is_here(finding)).cloned().collect();
        let refusals = refusals(part.as_ref().map_or(estate, |part| part.as_ref()), scope, audit, &found);
        for finding in findings.iter_mut().filter(|finding| is_safe(finding) && is_here(finding)) {
            let refused = match &refusals {
                Err(why) => Some(why),
                Ok(left) => left
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
}

/// What a plan of all that is safe refuses: rule, resource and reason; or why there is no plan at all.
fn refusals(
    estate: EstateRef<'_>,
    scope: &plan::Scope<'_>,
    audit: &plan::Audit<'_>,
    findings: &[Finding],
) -> Result<Vec<(&'static str, String, String)>, String> {
    let planned = plan::build(estate, findings, scope, &Approvals::default(), audit)?;
    if !planned.rejected.is_empty() {
        return Err(planned.rejected.join("; "));
    }
    let refused = planned.skipped.into_iter().filter_map(|left| match left.reason {
        SkipReason::Refused(why) => Some((left.rule, left.resource, why)),
        SkipReason::Allow | SkipReason::Question(_) | SkipReason::ByHand(_) | SkipReason::BeyondApproved => None,
    });
    Ok(refused.collect())
}
