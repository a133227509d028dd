//! `[safe]` is a promise: each rule decides by itself, and only the plan sees what all the changes together come to. What
//! the plan would refuse is not shown as safe.

use crate::finding::{Applicability, Caveat, Finding};
use crate::inventory::Inventory;
use crate::plan::{self, Approvals, SkipReason};

use super::Auditor;

/// Makes `confirm` of what is called safe and would be refused, and says why.
pub(super) fn keep(inventory: &Inventory, auditor: &Auditor<'_>, findings: &mut [Finding]) {
    let is_safe = |finding: &Finding| finding.fix.applicability == Applicability::Safe;
    if !findings.iter().any(is_safe) {
        return;
    }
    for account in &inventory.accounts {
        let is_here = |finding: &Finding| finding.resource.account_id.as_deref() == Some(account.account_id.as_str());
        if !findings.iter().any(|finding| is_safe(finding) && is_here(finding)) {
            continue;
        }
        // A plan is for one account.
        let part = (inventory.accounts.len() > 1).then(|| {
            let gaps = inventory.gaps.iter().filter(|gap| gap.is_of_account(&account.account_id));
            Inventory {
                schema: inventory.schema.clone(),
                tool_version: inventory.tool_version.clone(),
                provider: inventory.provider,
                collected_at: inventory.collected_at.clone(),
                accounts: vec![account.clone()],
                gaps: gaps.cloned().collect(),
            }
        });
        let found: Vec<Finding> = findings.iter().filter(|finding| is_here(finding)).cloned().collect();
        let refusals = refusals(part.as_ref().unwrap_or(inventory), auditor, &found);
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
    inventory: &Inventory,
    auditor: &Auditor<'_>,
    findings: &[Finding],
) -> Result<Vec<(&'static str, String, String)>, String> {
    let scope = plan::Scope {
        cluster_id: auditor.cluster_id,
        created_at: String::new(),
        expires_at: String::new(),
        evidence: auditor.source.name(),
        nodes: auditor.nodes,
        rules: auditor.rules.iter().map(|rule| rule.id).collect(),
    };
    let audit = |inventory: &Inventory, cluster_id: &str| auditor.again(inventory, cluster_id);
    let planned = plan::build(inventory, findings, &scope, &Approvals::default(), &audit)?;
    if !planned.rejected.is_empty() {
        return Err(planned.rejected.join("; "));
    }
    let refused = planned.skipped.into_iter().filter_map(|left| match left.reason {
        SkipReason::Refused(why) => Some((left.rule, left.resource, why)),
        SkipReason::Allow | SkipReason::Question(_) | SkipReason::ByHand(_) => None,
    });
    Ok(refused.collect())
}
