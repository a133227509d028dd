//! Resources that the copy of an account does not hold, and that decide something for a cluster.

use crate::alibaba::PrincipalKind;
use crate::guard::change::{Action, Change, texts};
use crate::guard::plan::{Plan, Text};
use crate::guard::trial::Effect;

use super::scope::Affected;

/// Kinds of which a new object changes nothing that is there, by the beginning of their names.
const READ: [&str; 10] = [
    "alicloud_ecs_instance_set",
    "alicloud_ess_attachment",
    "alicloud_ess_scaling_group",
    "alicloud_ims_oidc_provider",
    "alicloud_nlb_",
    "alicloud_ram_access_key",
    "alicloud_resource_manager_account",
    "alicloud_resource_manager_control_policy",
    "alicloud_resource_manager_resource_directory",
    "alicloud_slb_",
];

/// Kinds of which a new object changes what is there.
const ADDED: [&str; 5] = [
    "alicloud_nlb_load_balancer_security_group_attachment",
    "alicloud_nlb_load_balancer_zone_shifted_attachment",
    "alicloud_ram_access_key_policy",
    "alicloud_resource_manager_control_policy_attachment",
    "alicloud_resource_manager_policy_version",
];

/// Attributes of instances that are launched later by which something decides.
const LAUNCHED: [&str; 13] = [
    "http_endpoint",
    "http_tokens",
    "launch_template_id",
    "launch_template_override",
    "launch_template_version",
    "ram_role_name",
    "role_name",
    "security_group_id",
    "security_group_ids",
    "tags",
    "template_tags",
    "vswitch_id",
    "vswitch_ids",
];

/// A change of a kind that the copy does not hold: undecided if a controller or a rule reads such objects.
pub(super) fn unmodelled(plan: &Plan, change: &Change, affected: &Affected, effect: &mut Effect) {
    launches(plan, change, affected, effect);
    let is = |kinds: &[&str]| kinds.iter().any(|kind| change.kind.starts_with(kind));
    let is_read = is(&ADDED) || (!change.is(Action::Create) && is(&READ));
    // A scaling group that stays only launches other machines.
    let is_later = change.kind == "alicloud_ess_scaling_group" && change.is(Action::Update) && !empties(change);
    if is_read && !is_later && concerns(plan, change, affected) {
        effect.undecided.push(format!("changes of `{}` are not modelled", change.shown_kind));
    }
}

/// True for a scaling group that gets the size zero.
fn empties(change: &Change) -> bool {
    ["max_size", "desired_capacity"].iter().any(|key| change.differs(key) && change.known(key) == Some(&0.into()))
}

/// True unless what an object names is none of a cluster's.
fn concerns(plan: &Plan, change: &Change, affected: &Affected) -> bool {
    let text = |key: &str| match plan.text(change, key) {
        Text::Known(text) => Some(text),
        Text::Absent | Text::Unknown => change.before_text(key).map(str::to_owned),
    };
    let is_account = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    match change.kind.as_str() {
        "alicloud_ecs_instance_set" | "alicloud_ess_attachment" => {
            texts(change.before("instance_ids")).iter().any(|id| affected.ids.contains(id))
        }
        "alicloud_ess_scaling_group" => text("id").is_some_and(|id| affected.scaling_groups.contains(&id)),
        // A role by RRSA trusts it.
        "alicloud_ims_oidc_provider" => !affected.rrsa.is_empty(),
        // A folder may hold an account of the inventory.
        "alicloud_resource_manager_control_policy_attachment" => {
            text("target_id").is_none_or(|id| !is_account(&id) || affected.accounts.contains(&id))
        }
        "alicloud_resource_manager_account" => {
            let moves = change.is(Action::Delete) || change.differs("folder_id");
            moves && text("id").is_none_or(|id| affected.accounts.contains(&id))
        }
        "alicloud_resource_manager_policy_version" => {
            change.known("is_default_version") != Some(&false.into())
                && text("policy_name").is_none_or(|name| affected.policies.contains(&name))
        }
        kind if kind.contains("_server_group") => false,
        kind if kind.starts_with("alicloud_slb_") || kind.starts_with("alicloud_nlb_") => {
            text("load_balancer_id").is_some_and(|id| affected.balancers.contains(&id))
        }
        _ => text("user_name").is_none_or(|user| affected.uses(PrincipalKind::User, &user)),
    }
}

/// Instances that the scaling group of a node launches later.
fn launches(plan: &Plan, change: &Change, affected: &Affected, effect: &mut Effect) {
    let of_group = |key: &str| match plan.text(change, key) {
        Text::Known(group) => Some(group),
        Text::Absent | Text::Unknown => change.before_text(key).map(str::to_owned),
    };
    let (maker, is_near) = match change.kind.as_str() {
        "alicloud_ess_scaling_group" => (of_group("id"), None),
        "alicloud_ess_scaling_configuration" => (of_group("scaling_group_id"), None),
        // The inventory does not show which scaling groups launch from it.
        "alicloud_ecs_launch_template" | "alicloud_launch_template" if !change.is(Action::Create) => {
            (of_group("id"), Some(!affected.scaling_groups.is_empty()))
        }
        _ => return,
    };
    let Some(group) = maker else { return };
    if change.is(Action::Delete) || !is_near.unwrap_or_else(|| affected.scaling_groups.contains(&group)) {
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
