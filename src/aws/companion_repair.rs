//! Rights that a controller's role should get, tried on a copy of the role.

use crate::aws::companion_audit::audit;
use crate::aws::companions::{CompanionRole, ObjectUse};
use crate::aws::grant::{GrantError, PolicyPurpose, document_of, place};
use crate::aws::limited_grants::published_grants;
use crate::aws::view::ClusterView;
use crate::aws::{InlinePolicy, Role};
use crate::baseline::Baseline;
use crate::kubernetes::Evidence;
use crate::role_audit::RoleAuditOptions;
use crate::role_audit::grant::Grant;
use crate::transition::Transition;

/// What the role of a controller is compared in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) view: &'a ClusterView<'a>,
    pub(crate) evidence: &'a Evidence,
    pub(crate) objects: ObjectUse,
    pub(crate) options: &'a RoleAuditOptions,
}

/// Rights to add, and the actions that have to be added by hand.
#[derive(Debug, Default)]
pub(crate) struct Repair<'n> {
    pub(crate) grants: Vec<Grant>,
    pub(crate) by_hand: Vec<&'n str>,
}

impl<'n> Repair<'n> {
    /// The rights that the published policy of a controller gives for actions, in the scope that it gives them. An action stays by
    /// hand if the policy names a resource for it, or if the role does not grant the calls of the controller with them.
    pub(crate) fn new(
        one: &CompanionRole<'_>,
        surroundings: Surroundings<'_>,
        baseline: &Baseline,
        actions: &[&'n str],
    ) -> Self {
        let mut repair = Self::default();
        for action in actions {
            match published_grants(baseline, action, &one.account.partition) {
                Some(grants) => repair.grants.extend(grants),
                None => repair.by_hand.push(*action),
            }
        }
        if !repair.grants.is_empty() {
            let left = refused_with(one, surroundings, &repair.grants);
            let is_left = |action: &str| left.contains(&action);
            repair.grants.retain(|grant| !is_left(grant.action()));
            repair.by_hand.extend(actions.iter().filter(|action| is_left(action)));
            repair.by_hand.sort_unstable();
            repair.by_hand.dedup();
        }
        repair
    }

    /// The writes for these rights.
    ///
    /// # Errors
    /// If they cannot be written without losing or exceeding something.
    pub(crate) fn changes(&self, one: &CompanionRole<'_>) -> Result<Vec<Transition>, GrantError> {
        place(one.account, one.role, PolicyPurpose::Controller, &self.grants)
    }

    /// Number of actions that are added.
    pub(crate) fn count(&self) -> usize {
        let mut actions: Vec<&str> = self.grants.iter().map(Grant::action).collect();
        actions.sort_unstable();
        actions.dedup();
        actions.len()
    }
}

/// Actions that the role does not grant, or not as the controller makes the call, with further rights.
fn refused_with(
    one: &CompanionRole<'_>,
    Surroundings { view, evidence, objects, options }: Surroundings<'_>,
    grants: &[Grant],
) -> Vec<&'static str> {
    let mut role: Role = one.role.clone();
    let policy = InlinePolicy { name: PolicyPurpose::Controller.policy_name(), document: Some(document_of(grants)) };
    role.inline_policies.get_or_insert_default().push(policy);
    let tried = CompanionRole { run: one.run.clone(), role: &role, ..*one };
    match audit(&tried, view, (evidence, objects), options) {
        Ok(audited) => {
            let unmet = audited.unmet_calls.iter().map(|call| call.action);
            audited.lacking.iter().map(|(action, _)| *action).chain(unmet).collect()
        }
        // Then no finding exists that could be repaired.
        Err(_) => Vec::new(),
    }
}
