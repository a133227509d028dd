//! Plans an undo.

use std::collections::BTreeMap;

use crate::finding::Applicability;

use super::observed::digest;
use super::{Expect, Kind, Plan, PlanEvidence, PlannedChange, SCHEMA};
use crate::transition::Attribute;

/// True if a change of a run can be undone: a deleted resource does not come back, and neither does a rule whose group or
/// source is one.
pub(crate) fn can_be_undone(change: &PlannedChange, made: &[&PlannedChange]) -> bool {
    let is_deleted = |id: &str| made.iter().any(|one| one.transition.is_deletion() && one.transition.target.id == id);
    match &change.transition.attribute {
        Attribute::Resource {} => false,
        Attribute::IngressRule { rule } => !is_deleted(&rule.source) && !is_deleted(&change.transition.target.id),
        _ => true,
    }
}

/// Plan that restores the previous values of the changes that an earlier plan made. It is checked like any plan: a
/// value that tagaudit did not write is left alone.
#[must_use]
pub fn undo(
    done: &Plan,
    made: &[&PlannedChange],
    regions: Vec<String>,
    created_at: String,
    expires_at: String,
) -> Plan {
    let mut by_target: BTreeMap<String, PlannedChange> = BTreeMap::new();
    for change in made.iter().filter(|change| can_be_undone(change, made)) {
        let back = PlannedChange {
            transition: change.transition.inverse(),
            class: Applicability::Confirm,
            reason: format!("undoes the plan {}", done.short_id()),
            // Value and identity decide: other values that the fix depended on may have changed rightfully since.
            expect: Expect {
                vpc_id: change.expect.vpc_id.clone(),
                role_id: change.expect.role_id.clone(),
                for_role: change.expect.for_role.clone(),
                policy_sha256: detached_text(change, made),
                ..Expect::default()
            },
            ..(**change).clone()
        };
        by_target.insert(change.id.clone(), back);
    }
    let mut changes: Vec<PlannedChange> = by_target.into_values().collect();
    changes.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Undo,
        account_id: done.account_id.clone(),
        partition: done.partition.clone(),
        caller_arn: done.caller_arn.clone(),
        cluster_id: done.cluster_id.clone(),
        regions,
        created_at,
        expires_at,
        evidence: PlanEvidence {
            kind: "journal".to_owned(),
            collected_at: None,
            options: Vec::new(),
            gaps: Vec::new(),
        },
        approved: None,
        fixes: Vec::new(),
        changes,
        digest: String::new(),
    };
    plan.seal();
    plan
}

/// Digest of the document that a policy must have when it is detached: that at its attachment or, if an older text is
/// restored first, that text's.
fn detached_text(change: &PlannedChange, made: &[&PlannedChange]) -> Option<String> {
    let Attribute::AttachedPolicy { policy_arn } = &change.transition.attribute else { return None };
    let restored = made.iter().find_map(|other| {
        let is_it =
            other.transition.attribute == Attribute::ManagedPolicy {} && other.transition.target.id == *policy_arn;
        other.transition.old.as_ref().filter(|_| is_it)?.document().map(digest)
    });
    restored.or_else(|| change.expect.policy_sha256.clone())
}
