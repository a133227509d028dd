//! Resources of a plan that are only a connection between two objects: an attachment, an association, a membership.
//! Source: aliyun/terraform-provider-alicloud `alicloud/resource_alicloud_ram_*_policy_attachment.go`,
//! `_ram_group_membership.go`, `_ram_user_group_attachment.go`, `_ram_role_attachment.go`, `_ecs_ram_role_attachment.go`,
//! `_resource_manager_policy_attachment.go`, `_route_table_attachment.go`, `_ecs_disk_attachment.go`,
//! `_ecs_network_interface_attachment.go`.

use crate::alibaba::{Attachment, PolicyType, PrincipalKind};
use crate::guard::links::{Open, Side};
use crate::resource::ResourceKind;

use super::Trial;
use super::network::use_system_table;
use super::principals::{attached, detached, on_principal};

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    Policy { kind: PrincipalKind, name: String, attachment: Attachment },
    Members { group: String, users: Vec<String> },
    RoleOfInstances { role: String, instances: Vec<String> },
    RouteTable { table: String, vswitch: String },
    Disk { disk: String, instance: String },
    Interface { interface: String, instance: String },
}

impl Link {
    /// What identifies the connection in the account, for each that a resource makes; nothing for kinds of which a second one
    /// is refused.
    fn keys(&self) -> Vec<[String; 3]> {
        match self {
            Self::Policy { kind, name, attachment } => {
                vec![[
                    format!("{kind:?}"),
                    name.clone(),
                    format!("{} {}", attachment.policy_type.name(), attachment.policy),
                ]]
            }
            Self::Members { group, users } => {
                users.iter().map(|user| ["member".to_owned(), group.clone(), user.clone()]).collect()
            }
            // ECS refuses a second role, and a second attachment of the others.
            Self::RoleOfInstances { .. } | Self::RouteTable { .. } | Self::Disk { .. } | Self::Interface { .. } => {
                Vec::new()
            }
        }
    }
}

/// Keys of the connection that a side of a change makes; none if it is not known.
pub(super) fn keys_of(side: Side<'_>) -> Vec<[String; 3]> {
    link(side, side.kind()).ok().flatten().map(|link| link.keys()).unwrap_or_default()
}

/// True if resources of a kind are connections.
pub(super) fn is_link(kind: &str) -> bool {
    maker(kind).is_some()
}

type Maker = fn(Side<'_>) -> Result<Option<Link>, Open>;

fn maker(kind: &str) -> Option<Maker> {
    Some(match kind {
        "alicloud_ram_role_policy_attachment" => |side| policy(side, PrincipalKind::Role, "role_name"),
        "alicloud_ram_user_policy_attachment" => |side| policy(side, PrincipalKind::User, "user_name"),
        "alicloud_ram_group_policy_attachment" => |side| policy(side, PrincipalKind::Group, "group_name"),
        "alicloud_resource_manager_policy_attachment" => policy_of_resource_group,
        "alicloud_ram_group_membership" => {
            |side| Ok(Some(Link::Members { group: side.need("group_name")?, users: side.list("user_names")? }))
        }
        "alicloud_ram_user_group_attachment" => {
            |side| Ok(Some(Link::Members { group: side.need("group_name")?, users: vec![side.need("user_name")?] }))
        }
        "alicloud_ram_role_attachment" => |side| {
            Ok(Some(Link::RoleOfInstances { role: side.need("role_name")?, instances: side.list("instance_ids")? }))
        },
        "alicloud_ecs_ram_role_attachment" => |side| {
            let (role, instance) = (side.need("ram_role_name")?, side.need("instance_id")?);
            Ok(Some(Link::RoleOfInstances { role, instances: vec![instance] }))
        },
        "alicloud_route_table_attachment" => {
            |side| Ok(Some(Link::RouteTable { table: side.need("route_table_id")?, vswitch: side.need("vswitch_id")? }))
        }
        "alicloud_ecs_disk_attachment" | "alicloud_disk_attachment" => {
            |side| Ok(Some(Link::Disk { disk: side.need("disk_id")?, instance: side.need("instance_id")? }))
        }
        "alicloud_ecs_network_interface_attachment" | "alicloud_network_interface_attachment" => |side| {
            let (interface, instance) = (side.need("network_interface_id")?, side.need("instance_id")?);
            Ok(Some(Link::Interface { interface, instance }))
        },
        _ => return None,
    })
}

/// The owner of an attached policy; a policy that the plan makes is always one of the account.
fn policy_type(side: Side<'_>) -> Result<Option<PolicyType>, Open> {
    match side.need("policy_type") {
        Ok(text) => Ok([PolicyType::System, PolicyType::Custom].into_iter().find(|one| one.name() == text)),
        Err(open) => {
            let Side::After(plan, change) = side else { return Err(open) };
            let made = plan.targets(change, &["policy_type"]).unwrap_or_default();
            let is_policy = |kind: &str| matches!(kind, "alicloud_ram_policy" | "alicloud_resource_manager_policy");
            let all_are = !made.is_empty() && made.iter().all(|one| is_policy(&one.kind));
            if all_are { Ok(Some(PolicyType::Custom)) } else { Err(open) }
        }
    }
}

fn policy(side: Side<'_>, kind: PrincipalKind, key: &'static str) -> Result<Option<Link>, Open> {
    let Some(policy_type) = policy_type(side)? else { return Ok(None) };
    let attachment = Attachment { policy_type, policy: side.need("policy_name")?, resource_group_id: None };
    Ok(Some(Link::Policy { kind, name: side.need(key)?, attachment }))
}

/// An attachment whose scope is a resource group, or the account by its id.
/// Source: Resource Management documentation, `AttachPolicy`: `ResourceGroupId`, `PrincipalType`, `PrincipalName`.
fn policy_of_resource_group(side: Side<'_>) -> Result<Option<Link>, Open> {
    let Some(policy_type) = policy_type(side)? else { return Ok(None) };
    let kind = match side.need("principal_type")?.as_str() {
        "IMSUser" => PrincipalKind::User,
        "IMSGroup" => PrincipalKind::Group,
        "ServiceRole" => PrincipalKind::Role,
        _ => return Ok(None),
    };
    let principal = side.need("principal_name")?;
    let name = principal.split('@').next().unwrap_or_default().to_owned();
    let group = side.need("resource_group_id")?;
    let resource_group_id = group.starts_with("rg-").then_some(group);
    let attachment = Attachment { policy_type, policy: side.need("policy_name")?, resource_group_id };
    Ok(Some(Link::Policy { kind, name, attachment }))
}

fn link(side: Side<'_>, kind: &str) -> Result<Option<Link>, Open> {
    maker(kind).map_or(Ok(None), |make| make(side))
}

/// Takes the old connection away. If the new one is not known, neither is what takes the place of the old one.
pub(super) fn revert(trial: &mut Trial<'_>) {
    let (plan, change) = (trial.plan, trial.change);
    let Ok(Some(old)) = link(Side::Before(change), &change.kind) else { return };
    if change.keeps() && link(Side::After(plan, change), &change.kind).is_err() {
        return;
    }
    match &old {
        Link::Policy { kind, name, attachment } => detached(trial, (*kind, name), attachment),
        Link::Members { group, users } => {
            for user in users {
                on_principal(trial, PrincipalKind::User, user, |one| {
                    one.groups.iter_mut().for_each(|groups| groups.retain(|held| held != group));
                });
            }
        }
        Link::RoleOfInstances { role, instances } => {
            on_instances(trial, instances, |held| {
                if held.as_deref().is_some_and(|held| held.eq_ignore_ascii_case(role)) {
                    *held = None;
                }
            });
        }
        Link::RouteTable { table, vswitch } => {
            trial.touch(ResourceKind::VSwitch, vswitch);
            let Some(region) = trial.region() else { return };
            let Some(held) = region.route_tables.iter_mut().find(|one| one.id == *table) else { return };
            held.vswitch_ids.retain(|one| one != vswitch);
            let vpc = held.vpc_id.clone();
            use_system_table(region, &vpc, vswitch);
        }
        Link::Disk { disk, instance } => {
            let Some(region) = trial.region() else { return };
            let is_it = |one: &&mut crate::alibaba::Disk| one.id == *disk && one.instance_id.as_ref() == Some(instance);
            if let Some(held) = region.disks.iter_mut().find(is_it) {
                held.instance_id = None;
                "Available".clone_into(&mut held.status);
                trial.touch(ResourceKind::Volume, disk);
            }
        }
        Link::Interface { interface, .. } => {
            let Some(region) = trial.region() else { return };
            if let Some(held) = region.network_interfaces.iter_mut().find(|one| one.id == *interface) {
                held.instance_id = None;
                held.status = Some("Available".to_owned());
                trial.touch(ResourceKind::NetworkInterface, interface);
            }
        }
    }
}

/// Makes the new connection.
pub(super) fn make(trial: &mut Trial<'_>) {
    let (plan, change) = (trial.plan, trial.change);
    let new = match link(Side::After(plan, change), &change.kind) {
        Ok(Some(new)) => new,
        Ok(None) => return,
        Err(Open(attribute)) => {
            if may_matter(trial) {
                trial.open(attribute);
            }
            return;
        }
    };
    match &new {
        Link::Policy { kind, name, attachment } => attached(trial, (*kind, name), attachment),
        Link::Members { group, users } => {
            for user in users {
                on_principal(trial, PrincipalKind::User, user, |one| {
                    if let Some(groups) = one.groups.as_mut().filter(|groups| !groups.contains(group)) {
                        groups.push(group.clone());
                    }
                });
            }
        }
        Link::RoleOfInstances { role, instances } => {
            on_instances(trial, instances, |held| *held = Some(role.clone()));
            // The provider sends it only when it attaches the role.
            let is_limited = change.after_text("policy").is_some() || change.has_unknown("policy");
            if is_limited && instances.iter().any(|id| trial.affected.ids.contains(id)) {
                trial.undecided("`policy` limits what the role allows on the instance");
            }
        }
        Link::RouteTable { table, vswitch } => {
            trial.touch(ResourceKind::VSwitch, vswitch);
            let is_near = trial.affected.ids.contains(vswitch);
            let Some(region) = trial.region() else { return };
            region.route_tables.iter_mut().for_each(|one| one.vswitch_ids.retain(|held| held != vswitch));
            match region.route_tables.iter_mut().find(|one| one.id == *table) {
                Some(held) => held.vswitch_ids.push(vswitch.clone()),
                None if is_near => {
                    trial.undecided(format!("the inventory does not hold the route table `{table}`"));
                }
                None => {}
            }
        }
        Link::Disk { disk, instance } => {
            let Some(region) = trial.region() else { return };
            if let Some(held) = region.disks.iter_mut().find(|one| one.id == *disk) {
                held.instance_id = Some(instance.clone());
                "In_use".clone_into(&mut held.status);
                trial.touch(ResourceKind::Volume, disk);
            }
        }
        Link::Interface { interface, instance } => {
            let Some(region) = trial.region() else { return };
            if let Some(held) = region.network_interfaces.iter_mut().find(|one| one.id == *interface) {
                held.instance_id = Some(instance.clone());
                held.status = Some("InUse".to_owned());
                trial.touch(ResourceKind::NetworkInterface, interface);
            }
        }
    }
}

/// Changes the roles of instances, and marks those that differ.
fn on_instances(trial: &mut Trial<'_>, ids: &[String], change: impl Fn(&mut Option<String>)) {
    for id in ids {
        let Some(region) = trial.region() else { return };
        let Some(instance) = region.instances.iter_mut().find(|one| one.id == *id) else { continue };
        let before = instance.ram_role.clone();
        change(&mut instance.ram_role);
        if instance.ram_role != before {
            trial.touch(ResourceKind::Instance, id);
        }
    }
}

/// True unless everything that a connection names is known to be none of a cluster's.
fn may_matter(trial: &Trial<'_>) -> bool {
    let (plan, change, affected) = (trial.plan, trial.change, trial.affected);
    let named = |key: &'static str| Side::After(plan, change).get(key).ok().flatten();
    let before = |key: &str| change.before_text(key).map(str::to_owned);
    let principals = [
        (PrincipalKind::Role, "role_name"),
        (PrincipalKind::Role, "ram_role_name"),
        (PrincipalKind::User, "user_name"),
        (PrincipalKind::Group, "group_name"),
    ];
    let mut is_any_named = false;
    if let Some(principal) = named("principal_name").or_else(|| before("principal_name")) {
        let name = principal.split('@').next().unwrap_or_default();
        return [PrincipalKind::Role, PrincipalKind::User, PrincipalKind::Group]
            .into_iter()
            .any(|kind| affected.uses(kind, name));
    }
    for (kind, key) in principals {
        for name in [named(key), before(key)].into_iter().flatten() {
            is_any_named = true;
            if affected.uses(kind, &name) {
                return true;
            }
        }
    }
    for key in ["instance_id", "vswitch_id", "route_table_id", "disk_id", "network_interface_id"] {
        for id in [named(key), before(key)].into_iter().flatten() {
            is_any_named = true;
            if affected.ids.contains(&id) {
                return true;
            }
        }
    }
    // A new object that nothing names is none of a cluster's.
    !is_any_named && !change.makes()
}
