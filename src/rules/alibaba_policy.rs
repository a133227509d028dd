//! RAM policies compared with the actions that the controllers of Alibaba Cloud call.

use super::Rule;
use crate::alibaba::{Member, PrincipalAudit, Use, grant};
use crate::finding::{Applicability, Fix, ResourceRef};
use crate::resource::ResourceKind;
use crate::text;

mod ram_action_denied;
mod ram_action_excess;
mod ram_action_missing;
mod ram_action_partial;
mod ram_controller_principal_assumed;
mod ram_controller_rights_on_worker;
mod ram_node_rights_missing;
mod ram_policy_near_quota;
mod ram_privilege_escalation;
mod ram_role_trust_not_ecs;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_policy.rs"));

fn instances(audit: &PrincipalAudit<'_>) -> Vec<ResourceRef> {
    references(&audit.members)
}

fn references(members: &[&Member<'_>]) -> Vec<ResourceRef> {
    members.iter().map(|member| ResourceRef::bare(ResourceKind::Instance, &member.instance.id)).collect()
}

/// Grants actions in a policy that tagaudit names, if the principal can be changed at all.
fn grant_fix(audit: &PrincipalAudit<'_>, actions: &[&str]) -> Fix {
    let what = format!("{} that it lacks", text::count(actions.len(), "action"));
    let is_guessed = audit.used_by != Use::Controller && !audit.members.iter().all(|one| one.roles.is_reliable());
    if audit.used_by == Use::UnknownNodes || is_guessed {
        return Fix::none(format!(
            "add the {what} by hand, or name the role of the nodes with --node-role first: granting this to the wrong nodes is a privilege escalation"
        ));
    }
    // Actions that the baseline limits are not granted without the limits.
    let is_limited = |action: &&str| audit.actions.iter().any(|one| one.is_limited && one.action == **action);
    let (limited, actions): (Vec<&str>, Vec<&str>) = actions.iter().copied().partition(is_limited);
    if actions.is_empty() {
        return Fix::none(super::LIMITED_ACTIONS);
    }
    let what = match (limited.len(), actions.len()) {
        (0, _) => what,
        (_, number) => format!("{} that it lacks and the baseline does not limit", text::count(number, "action")),
    };
    match grant::place(audit.account, audit.principal, &actions) {
        Ok(changes) => {
            let name = text::printable(&audit.principal.name);
            let summary = match audit.used_by {
                Use::ControlplaneNodes => format!(
                    "add the {what} in a separate custom policy, if the controller uses the role `{name}` (confirm with --controller-role)"
                ),
                _ => format!("add the {what} in a separate custom policy"),
            };
            Fix::with(Applicability::Confirm, summary, changes)
        }
        Err(refused) => Fix::none(format!("add the {what} by hand, in a separate custom policy: {refused}")),
    }
}

/// "role `k8s-master`".
fn principal_label(audit: &PrincipalAudit<'_>) -> String {
    format!("{} `{}`", audit.principal.kind.name(), text::printable(&audit.principal.name))
}
