//! Grants of the roles of the nodes, compared with the actions of controllers that have no other credentials.

use crate::aws::companion_audit::lacking;
use crate::aws::companions::{CompanionRun, ObjectUse, environment, node_roles};
use crate::aws::view::ClusterView;
use crate::aws::{Account, Role};
use crate::policy::{PreparedPolicies, Question, Verdict};
use crate::role_audit::RoleAuditOptions;

use super::roles::policy_set;

/// The rights of a controller from one node role.
pub(crate) struct RoleRights {
    /// True if it grants a change that only this controller makes.
    grants_changes: bool,
    /// Number of needed actions.
    pub(crate) needed: usize,
    /// Needed actions that it does not grant at all.
    pub(crate) lacking: Vec<&'static str>,
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
}

/// Compares a role with the needs of a controller. `None` if a policy was not read or is malformed.
pub(crate) fn role_rights(
    run: &CompanionRun<'_>,
    (account, role): (&Account, &Role),
    view: &ClusterView<'_>,
    objects: ObjectUse,
    options: &RoleAuditOptions,
) -> Option<RoleRights> {
    let prepared = PreparedPolicies::new(&policy_set(account, role, &options.scps).ok()?);
    let environment = environment(account, role, view);
    let grants = |action: &'static str| {
        let answer = prepared.assess(Question::on(action, &[]), &environment, options.catalogue());
        !matches!(answer.verdict, Verdict::Missing | Verdict::Denied)
    };
    let needed = run.needed(view, objects);
    let lacking = lacking(&needed, &prepared, &environment, options.catalogue(), objects.may_only_register());
    Some(RoleRights {
        grants_changes: run.row.hallmarks.iter().copied().any(grants),
        needed: needed.len(),
        lacking: lacking.into_iter().map(|(action, _)| action).collect(),
    })
}

/// Compares all roles of the nodes. `None` if the nodes have no role that was read, or a policy was not read.
pub(crate) fn node_rights<'a>(
    run: &CompanionRun<'_>,
    view: &'a ClusterView<'a>,
    objects: ObjectUse,
    options: &RoleAuditOptions,
) -> Option<NodeRights<'a>> {
    let roles = node_roles(view);
    let all: Vec<RoleRights> =
        roles.iter().map(|one| role_rights(run, *one, view, objects, options)).collect::<Option<_>>()?;
    let RoleRights { needed, lacking, .. } = all.first()?;
    let is_common = |action: &&&'static str| all.iter().all(|one| one.lacking.contains(action));
    Some(NodeRights {
        roles: roles.iter().map(|(_, role)| role.name.as_str()).collect(),
        grants_changes: all.iter().any(|one| one.grants_changes),
        needed: *needed,
        lacking: lacking.iter().filter(is_common).copied().collect(),
    })
}

/// True if the nodes have roles, all of which were read.
pub(crate) fn has_node_roles(view: &ClusterView<'_>) -> bool {
    !node_roles(view).is_empty()
}
