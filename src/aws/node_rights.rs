//! Grants of the roles of the nodes, compared with the actions of controllers that have no other credentials.

use std::collections::BTreeSet;

use crate::aws::companion_audit::lacking;
use crate::aws::companion_requests::{RoleGrants, unmet_calls};
use crate::aws::companions::{CompanionRun, ObjectUse, node_roles};
use crate::aws::controller_tags::own_tags;
use crate::aws::view::ClusterView;
use crate::aws::{Account, Role};
use crate::kubernetes::Evidence;
use crate::policy::{Question, Verdict};
use crate::role_audit::RoleAuditOptions;

/// The rights of a controller from one node role.
pub(crate) struct RoleRights {
    /// True if it grants a change that only this controller makes.
    grants_changes: bool,
    /// Number of needed actions.
    pub(crate) needed: usize,
    /// Needed actions that it does not grant at all.
    pub(crate) lacking: Vec<&'static str>,
    /// Needed actions that it grants, but never on a request as the controller makes it, with the kind of the resource.
    pub(crate) unmet: Vec<(&'static str, String)>,
}

/// The rights of a controller from all node roles.
pub(crate) struct NodeRights<'a> {
    /// Names of the roles.
    pub(crate) roles: Vec<&'a str>,
    /// True if a role grants a change that only this controller makes.
    pub(crate) grants_changes: bool,
    /// Number of needed actions.
    pub(crate) needed: usize,
    /// Needed actions that none of them grants.
    pub(crate) lacking: Vec<&'static str>,
    /// Needed actions that none of them grants on a request as the controller makes it, with the kind of the resource.
    pub(crate) unmet: Vec<(&'static str, String)>,
}

/// Compares a role with the needs of a controller. `None` if a policy was not read or is malformed.
pub(crate) fn role_rights(
    run: &CompanionRun<'_>,
    (account, role): (&Account, &Role),
    view: &ClusterView<'_>,
    (evidence, objects): (&Evidence, ObjectUse),
    options: &RoleAuditOptions,
) -> Option<RoleRights> {
    let regions = view.regions.iter().filter(|region| region.account.account_id == account.account_id);
    let regions = regions.map(|region| region.region.name.clone()).collect();
    let role_grants = RoleGrants::of_role(account, role, regions, options)?;
    let RoleGrants { prepared, environment, .. } = &role_grants;
    let grants = |action: &'static str| {
        let answer = prepared.assess(Question::on(action, &[]), environment, options.catalogue());
        !matches!(answer.verdict, Verdict::Missing | Verdict::Denied)
    };
    let needed = run.needed(view, objects);
    let lacking = lacking(&needed, prepared, environment, options.catalogue(), objects.may_only_register());
    let is_needed = |action: &str| needed.iter().any(|one| one.action == action);
    let calls = unmet_calls(run, account, &role_grants, &own_tags(run, evidence), evidence, options.catalogue());
    // What AWS checks since a later release is not certain to be refused to this one.
    let unmet =
        calls.into_iter().filter(|call| !call.is_beyond_release && is_needed(call.action) && grants(call.action));
    Some(RoleRights {
        unmet: unmet.map(|call| (call.action, call.shown)).collect(),
        grants_changes: run.row.hallmarks.iter().copied().any(grants),
        needed: needed.len(),
        lacking: lacking.into_iter().map(|(action, _)| action).collect(),
    })
}

/// Compares the roles of the nodes on which it runs. `None` if the nodes have no role that was read, or a policy was not read.
pub(crate) fn node_rights<'a>(
    run: &CompanionRun<'_>,
    view: &'a ClusterView<'a>,
    (evidence, objects): (&Evidence, ObjectUse),
    options: &RoleAuditOptions,
) -> Option<NodeRights<'a>> {
    let roles = run.node_roles(view, evidence);
    let all: Vec<RoleRights> =
        roles.iter().map(|one| role_rights(run, *one, view, (evidence, objects), options)).collect::<Option<_>>()?;
    let RoleRights { needed, lacking, .. } = all.first()?;
    let is_common = |action: &&&'static str| all.iter().all(|one| one.lacking.contains(action));
    let refuses = |one: &RoleRights, (action, shown): &(&'static str, String)| {
        one.lacking.contains(action) || one.unmet.iter().any(|(_, known)| known == shown)
    };
    // Each role refuses the call, one of them by its resources or conditions.
    let unmet = all.iter().flat_map(|one| &one.unmet).filter(|call| all.iter().all(|one| refuses(one, call)));
    Some(NodeRights {
        roles: roles.iter().map(|(_, role)| role.name.as_str()).collect(),
        grants_changes: all.iter().any(|one| one.grants_changes),
        needed: *needed,
        lacking: lacking.iter().filter(is_common).copied().collect(),
        unmet: unmet.cloned().collect::<BTreeSet<_>>().into_iter().collect(),
    })
}

/// True if the nodes have roles, all of which were read.
pub(crate) fn has_node_roles(view: &ClusterView<'_>) -> bool {
    !node_roles(view).is_empty()
}
