//! Resources that the copy of an account does not hold, and that decide something for a cluster.

use crate::alibaba::PrincipalKind;
use crate::guard::change::{Action, Change};
use crate::guard::plan::{Plan, Text};
use crate::guard::trial::Effect;

use super::scope::Affected;

/// Kinds of which a new object changes nothing that is there, by the beginning of their names.
const READ: [&str; 8] = [
    "alicloud_alb_load_balancer",
    "alicloud_ess_scaling_group",
    "alicloud_ims_oidc_provider",
    "alicloud_nlb_",
    "alicloud_ram_access_key",
    "alicloud_resource_manager_account",
    "alicloud_resource_manager_control_policy",
    "alicloud_slb_",
];

/// Kinds of which a new object changes what is there.
const ADDED: [&str; 4] = [
    "alicloud_nlb_load_balancer_security_group_attachment",
    "alicloud_ram_access_key_policy",
    "alicloud_resource_manager_control_policy_attachment",
    "alicloud_resource_manager_policy_version",
];

/// Attributes of instances that are launched later by which something decides.
const LAUNCHED: [&str; 8] = [
    "http_tokens",
    "ram_role_name",
    "role_name",
    "security_group_id",
    "security_group_ids",
    "tags",
    "vswitch_id",
    "vswitch_ids",
];

/// A change of a kind that the copy does not hold: undecided if a controller or a rule reads such objects.
pub(super) fn unmodelled(plan: &Plan, change: &Change, affected: &Affected, effect: &mut Effect) {
    if change.kind == "alicloud_ess_scaling_configuration" || change.kind == "alicloud_ess_scaling_group" {
        launches(plan, change, affected, effect);
    }
    let is = |kinds: &[&str]| kinds.iter().any(|kind| change.kind.starts_with(kind));
    let is_read = is(&ADDED) || (!change.is(Action::Create) && is(&READ));
    // A scaling group that stays only launches other machines.
    let is_later = change.kind == "alicloud_ess_scaling_group" && !change.is(Action::Delete);
    if is_read && !is_later && concerns(plan, change, affected) {
        effect.undecided.push(format!("changes of `{}` are not modelled", change.shown_kind));
    }
}

/// True unless what an object names is none of a cluster's.
fn concerns(plan: &Plan, change: &Change, affected: &Affected) -> bool {
    let text = |key: &str| match plan.text(change, key) {
        Text::Known(text) => Some(text),
        Text::Absent | Text::Unknown => change.before_text(key).map(str::to_owned),
    };
    if let Some(user) = text("user_name") {
        return affected.uses(PrincipalKind::User, &user);
    }
    if change.kind == "alicloud_ess_scaling_group" {
        return text("id").is_some_and(|id| affected.scaling_groups.contains(&id));
    }
    // No rule reads the server groups of load balancers.
    if change.kind.starts_with("alicloud_slb_") || change.kind.starts_with("alicloud_nlb_") {
        return text("load_balancer_id").is_some_and(|id| affected.balancers.contains(&id));
    }
    text("vpc_id").is_none_or(|vpc| affected.vpcs.contains(&vpc))
}

/// Instances that the scaling group of a node launches later.
fn launches(plan: &Plan, change: &Change, affected: &Affected, effect: &mut Effect) {
    let key = if change.kind == "alicloud_ess_scaling_group" { "id" } else { "scaling_group_id" };
    let group = match plan.text(change, key) {
        Text::Known(group) => group,
        Text::Absent | Text::Unknown => change.before_text(key).unwrap_or_default().to_owned(),
    };
    if change.is(Action::Delete) || !affected.scaling_groups.contains(&group) {
        return;
    }
    let is_configured = |key: &&str| !change.has_unknown(key) || plan.may_be_configured(change, key);
    let differing = LAUNCHED.into_iter().filter(|key| change.differs(key)).filter(is_configured);
    let changed: Vec<String> = differing.map(|key| format!("`{key}`")).collect();
    if !changed.is_empty() {
        effect
            .later
            .push(format!("instances that `{group}` launches later get other values of {}", changed.join(", ")));
    }
}
