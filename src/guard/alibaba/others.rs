//! Resources that the copy of an account does not hold, and that decide something for a cluster.

use crate::alibaba::PrincipalKind;
use crate::guard::change::{Action, Change, texts};
use crate::guard::plan::{Plan, Text};
use crate::guard::trial::Effect;

use super::scope::Affected;

/// Kinds of which a new object changes nothing that is there, by the beginning of their names.
const READ: [&str; 15] = [
    "alicloud_alb_",
    "alicloud_ecs_instance_set",
    "alicloud_ess_attachment",
    "alicloud_ess_scaling_group",
    "alicloud_ims_oidc_provider",
    "alicloud_network_acl",
    "alicloud_nlb_",
    "alicloud_ram_access_key",
    "alicloud_resource_manager_account",
    "alicloud_resource_manager_control_policy",
    "alicloud_resource_manager_resource_directory",
    "alicloud_route_entry",
    "alicloud_security_group_rule",
    "alicloud_slb_",
    "alicloud_vpc_network_acl_attachment",
];

/// Kinds of which a new object changes what is there.
const ADDED: [&str; 12] = [
    "alicloud_alb_listener_acl_attachment",
    "alicloud_alb_load_balancer_security_group_attachment",
    "alicloud_alb_rule",
    "alicloud_network_acl",
    "alicloud_nlb_load_balancer_security_group_attachment",
    "alicloud_nlb_load_balancer_zone_shifted_attachment",
    "alicloud_ram_access_key_policy",
    "alicloud_resource_manager_control_policy_attachment",
    "alicloud_resource_manager_policy_version",
    "alicloud_route_entry",
    "alicloud_security_group_rule",
    "alicloud_vpc_network_acl_attachment",
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
        "alicloud_route_entry" => {
            let is_hop = text("nexthop_id").is_some_and(|id| affected.ids.contains(&id));
            // A new entry of another network changes nothing that is there.
            let is_of_nodes = text("route_table_id").is_some_and(|id| affected.tables.contains(&id));
            is_hop || (is_of_nodes && !change.is(Action::Create))
        }
        "alicloud_security_group_rule" => {
            narrows(change) && text("security_group_id").is_some_and(|id| affected.ids.contains(&id))
        }
        kind if kind.contains("network_acl") => filters(plan, change, affected),
        kind if kind.contains("_server_group") => false,
        "alicloud_alb_load_balancer" => {
            text("id").is_some_and(|id| affected.ids.contains(&id) || affected.named.contains(&id))
        }
        // Rules and lists of a listener do not state its load balancer.
        kind if kind.starts_with("alicloud_alb_") => match text("load_balancer_id") {
            Some(id) => affected.ids.contains(&id) || affected.named.contains(&id),
            None => text("listener_id").is_some() && affected.has_application_balancers,
        },
        kind if kind.starts_with("alicloud_slb_") || kind.starts_with("alicloud_nlb_") => {
            text("load_balancer_id").is_some_and(|id| affected.balancers.contains(&id))
        }
        _ => text("user_name").is_none_or(|user| affected.uses(PrincipalKind::User, &user)),
    }
}

/// True unless a rule of a security group only lets more through: a new one that accepts, or the end of one that drops.
fn narrows(change: &Change) -> bool {
    if change.is(Action::Update)
        && !["policy", "priority", "port_range", "cidr_ip"].iter().any(|key| change.differs(key))
    {
        return false;
    }
    let is_drop = |policy: Option<&str>| policy == Some("drop");
    let (before, after) = (change.before_text("policy"), change.after_text("policy"));
    let is_open = change.has_unknown("policy");
    (!change.is(Action::Create) && !is_drop(before)) || (!change.is(Action::Delete) && (is_drop(after) || is_open))
}

/// True if a network ACL filters the traffic of a vSwitch with nodes, before the change or after it. Which vSwitches the
/// ACL of separate entries has is not in the inventory.
fn filters(plan: &Plan, change: &Change, affected: &Affected) -> bool {
    /// What an update of a network ACL changes besides its tags and its description.
    const DECISIVE: [&str; 4] = ["resources", "ingress_acl_entries", "egress_acl_entries", "vpc_id"];
    if change.kind == "alicloud_network_acl"
        && change.is(Action::Update)
        && !DECISIVE.iter().any(|key| change.differs(key))
    {
        return false;
    }
    let of_list = |value: Option<&serde_json::Value>| {
        let items = value.and_then(serde_json::Value::as_array).into_iter().flatten();
        items.filter_map(|one| one.get("resource_id")?.as_str()).any(|id| affected.ids.contains(id))
    };
    if of_list(change.before("resources")) || of_list(change.known("resources")) {
        return true;
    }
    let named = match plan.text(change, "resource_id") {
        Text::Known(id) => Some(id),
        Text::Absent | Text::Unknown => change.before_text("resource_id").map(str::to_owned),
    };
    named.is_some_and(|id| affected.ids.contains(&id))
        || change.has_unknown("resources")
        || change.kind == "alicloud_network_acl_entries"
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
