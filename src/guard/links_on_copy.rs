//! Connections, made and taken away on the copy of an account.

use std::mem;

use crate::aws::{InlinePolicy, LaunchSettings, Role, RouteTable};
use crate::resource::ResourceKind;
use crate::tags::Tag;

use super::change::Action;
use super::ingress;
use super::links::Link;
use super::tags::decides;
use super::trial::Trial;

/// Id of the DHCP options of a VPC without an association.
pub(super) const DEFAULT_OPTIONS: &str = "default";

/// Makes a connection.
pub(super) fn make(trial: &mut Trial<'_>, link: &Link) {
    match link {
        Link::Tag { resource, key, value } => {
            set_tag(trial, resource, key, Some(value));
        }
        Link::GroupOfInterface { interface, group } => groups_of_interface(trial, interface, group, true),
        Link::Rules { group, rules } => {
            let found =
                trial.region().and_then(|region| region.security_groups.iter_mut().find(|one| one.id == *group));
            if let Some(found) = found {
                ingress::add(found, rules);
                trial.touch(ResourceKind::SecurityGroup, group);
            }
        }
        Link::Route { table, route } => on_table(trial, table, |found| {
            found.routes.retain(|one| one.destination != route.destination);
            found.routes.push(route.clone());
        }),
        Link::RouteTableOfSubnet { table, subnet } if !subnet.is_empty() => {
            for found in trial.region().map_or(&mut [][..], |region| &mut region.route_tables) {
                found.subnet_ids.retain(|id| id != subnet);
            }
            let is_held = trial.region().is_some_and(|region| region.route_tables.iter().any(|one| one.id == *table));
            if !is_held && trial.affected.ids.contains(subnet) {
                trial.undecided(format!("the inventory does not hold the route table `{table}`"));
            }
            on_table(trial, table, |found| found.subnet_ids.push(subnet.clone()));
            trial.touch(ResourceKind::Subnet, subnet);
        }
        Link::RouteTableOfSubnet { .. } => {}
        Link::MainRouteTable { vpc, table, .. } => set_main(trial, vpc, table),
        Link::DhcpOptions { vpc, options } => set_options(trial, vpc, options),
        Link::InlinePolicy { role, document, .. } if !is_document(document) => {
            if trial.affected.roles.contains(role) {
                trial.undecided("its policy is not a JSON document");
            }
        }
        Link::InlinePolicy { role, name, document } => on_role(trial, role, |role| {
            let policies = role.inline_policies.get_or_insert_default();
            policies.retain(|one| one.name != *name);
            policies.push(InlinePolicy { name: name.clone(), document: Some(document.clone()) });
        }),
        Link::AttachedPolicy { roles, arn } => attach(trial, roles, arn),
        Link::VolumeOfInstance { volume, instance } => on_volume(trial, volume, instance, true),
        Link::GroupTag { group, key, value, propagates } => on_group(trial, group, |tags, launch| {
            tags.retain(|tag| tag.key != *key);
            tags.push(Tag { key: key.clone(), value: value.clone() });
            if let Some(launch) = launch {
                launch.propagated.retain(|one| one != key);
                launch.propagated.extend(propagates.then(|| key.clone()));
            }
        }),
        Link::GroupTarget { group, target_group, load_balancer } => on_group(trial, group, |_, launch| {
            if let Some(launch) = launch {
                launch.target_groups.extend(target_group.clone());
                launch.load_balancers.extend(load_balancer.clone());
            }
        }),
    }
}

/// Takes a connection away.
pub(super) fn revert(trial: &mut Trial<'_>, link: &Link) {
    match link {
        Link::Tag { resource, key, value } => {
            let held = trial.region().and_then(|region| region.tags_of(resource)).map(<[Tag]>::to_vec);
            let held = held.as_deref().and_then(|tags| crate::tags::value(tags, key));
            if held.is_some_and(|held| held != value) && decides(key) {
                trial.undecided(format!("the inventory has another value of the tag `{key}` than the plan"));
            }
            set_tag(trial, resource, key, None);
        }
        Link::GroupOfInterface { interface, group } => groups_of_interface(trial, interface, group, false),
        Link::Rules { group, rules } => {
            let found =
                trial.region().and_then(|region| region.security_groups.iter_mut().find(|one| one.id == *group));
            if let Some(found) = found {
                ingress::remove(found, rules);
                trial.touch(ResourceKind::SecurityGroup, group);
            }
        }
        Link::Route { table, route } => {
            on_table(trial, table, |found| found.routes.retain(|one| one.destination != route.destination));
        }
        Link::RouteTableOfSubnet { table, subnet } => {
            on_table(trial, table, |found| found.subnet_ids.retain(|id| id != subnet));
            trial.touch(ResourceKind::Subnet, subnet);
        }
        Link::MainRouteTable { vpc, original, .. } => {
            if let Some(original) = original {
                set_main(trial, vpc, original);
            }
        }
        Link::DhcpOptions { vpc, .. } => set_options(trial, vpc, DEFAULT_OPTIONS),
        Link::InlinePolicy { role, name, .. } => on_held_role(trial, role, |role| {
            if let Some(policies) = &mut role.inline_policies {
                policies.retain(|one| one.name != *name);
            }
        }),
        Link::AttachedPolicy { roles, arn } => {
            for role in roles {
                on_held_role(trial, role, |role| {
                    if let Some(attached) = &mut role.attached_policies {
                        attached.retain(|one| one != arn);
                    }
                });
            }
        }
        Link::VolumeOfInstance { volume, instance } => on_volume(trial, volume, instance, false),
        Link::GroupTag { group, key, .. } => on_group(trial, group, |tags, launch| {
            tags.retain(|tag| tag.key != *key);
            if let Some(launch) = launch {
                launch.propagated.retain(|one| one != key);
            }
        }),
        Link::GroupTarget { group, target_group, load_balancer } => on_group(trial, group, |_, launch| {
            if let Some(launch) = launch {
                launch.target_groups.retain(|one| Some(one) != target_group.as_ref());
                launch.load_balancers.retain(|one| Some(one) != load_balancer.as_ref());
            }
        }),
    }
}

/// True if a text can be a policy; IAM refuses any other.
pub(super) fn is_document(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

/// True if an unknown connection can matter: the part of it that is known is something that a judged cluster uses.
pub(super) fn may_matter(trial: &Trial<'_>) -> bool {
    const OBJECTS: [&str; 10] = [
        "resource_id",
        "network_interface_id",
        "security_group_id",
        "route_table_id",
        "subnet_id",
        "vpc_id",
        "volume_id",
        "instance_id",
        "gateway_id",
        "dhcp_options_id",
    ];
    if trial.change.kind == "aws_ec2_tag" && trial.change.after_text("key").is_some_and(|key| !decides(key)) {
        return false;
    }
    let text = |key: &str| match trial.plan.text(trial.change, key) {
        super::plan::Text::Known(text) => Some(text),
        super::plan::Text::Absent | super::plan::Text::Unknown => None,
    };
    if trial.change.kind.starts_with("aws_iam_") {
        let roles = trial.plan.list(trial.change, "roles").unwrap_or_default();
        let known: Vec<String> = roles.into_iter().chain(text("role")).collect();
        return known.is_empty() || known.iter().any(|role| trial.affected.roles.contains(role));
    }
    let known: Vec<String> = OBJECTS.into_iter().filter_map(text).collect();
    known.is_empty() || known.iter().any(|id| trial.affected.ids.contains(id))
}

fn set_tag(trial: &mut Trial<'_>, resource: &str, key: &str, value: Option<&String>) {
    let Some(tags) = trial.region().and_then(|region| region.tags_of_mut(resource)) else {
        if decides(key) && trial.affected.ids.contains(resource) {
            trial.undecided(format!("the inventory does not hold `{resource}`"));
        }
        return;
    };
    tags.retain(|tag| tag.key != key);
    tags.extend(value.map(|value| Tag { key: key.to_owned(), value: value.clone() }));
    tags.sort();
    trial.touch_id(resource);
}

/// Adds a group to an interface, or removes it; the groups of an instance are those of its first interface.
pub(super) fn groups_of_interface(trial: &mut Trial<'_>, interface: &str, group: &str, is_added: bool) {
    let change = |groups: &mut Vec<String>| {
        groups.retain(|id| id != group);
        groups.extend(is_added.then(|| group.to_owned()));
    };
    let Some(region) = trial.region() else { return };
    let mut touched = None;
    for instance in &mut region.instances {
        for held in instance.network_interfaces.iter_mut().filter(|held| held.id == interface) {
            change(&mut held.security_groups);
            if held.device_index == 0 {
                change(&mut instance.security_groups);
            }
            touched = Some(instance.id.clone());
        }
    }
    for held in region.network_interfaces.iter_mut().filter(|held| held.id == interface) {
        change(&mut held.security_groups);
    }
    if let Some(instance) = touched {
        trial.touch(ResourceKind::Instance, &instance);
    }
    trial.touch(ResourceKind::NetworkInterface, interface);
    trial.touch(ResourceKind::SecurityGroup, group);
}

fn on_table(trial: &mut Trial<'_>, table: &str, change: impl FnOnce(&mut RouteTable)) {
    let found = trial.region().and_then(|region| region.route_tables.iter_mut().find(|one| one.id == table));
    if let Some(found) = found {
        change(found);
        trial.touch(ResourceKind::RouteTable, table);
    }
}

fn set_main(trial: &mut Trial<'_>, vpc: &str, table: &str) {
    let Some(region) = trial.region() else { return };
    for found in region.route_tables.iter_mut().filter(|one| one.vpc_id == vpc) {
        found.main = found.id == table;
    }
    trial.touch(ResourceKind::RouteTable, table);
    trial.touch(ResourceKind::Vpc, vpc);
}

fn set_options(trial: &mut Trial<'_>, vpc: &str, options: &str) {
    let Some(region) = trial.region() else { return };
    let is_known = options == DEFAULT_OPTIONS || region.dhcp_options.iter().any(|one| one.id == options);
    if let Some(found) = region.vpcs.iter_mut().find(|one| one.id == vpc) {
        found.dhcp_options_id = Some(options.to_owned());
        trial.touch(ResourceKind::Vpc, vpc);
        if !is_known {
            trial.undecided(format!("the inventory does not hold the DHCP options `{options}`"));
        }
    }
}

/// Changes a role of the account, by name; one that a cluster uses and the inventory lacks is undecided.
pub(super) fn on_role(trial: &mut Trial<'_>, name: &str, change: impl FnOnce(&mut Role)) {
    let is_held = trial.account.roles.iter().any(|role| role.name == name);
    if !is_held && trial.affected.roles.contains(name) && !trial.change.is(Action::Delete) {
        trial.undecided(format!("the inventory does not hold the role `{name}`"));
    }
    on_held_role(trial, name, change);
}

/// As [`on_role`]; a role that is not there, such as one that the plan has just deleted, is ignored.
fn on_held_role(trial: &mut Trial<'_>, name: &str, change: impl FnOnce(&mut Role)) {
    let found = trial.account.roles.iter_mut().find(|role| role.name == name);
    if let Some(role) = found {
        change(role);
        let arn = role.arn.clone();
        trial.touch(ResourceKind::Role, &arn);
    }
}

fn attach(trial: &mut Trial<'_>, roles: &[String], arn: &str) {
    let policy = trial.account.managed_policies.iter().find(|policy| policy.arn == arn);
    let is_read = policy.is_some_and(|policy| policy.document.is_some());
    for name in roles {
        on_role(trial, name, |role| {
            let attached = role.attached_policies.get_or_insert_default();
            if !attached.iter().any(|one| one == arn) {
                attached.push(arn.to_owned());
            }
        });
        if !is_read && trial.affected.roles.contains(name) {
            trial.undecided(format!("the document of the policy `{arn}` is not in the inventory"));
        }
    }
    trial.touch(ResourceKind::Policy, arn);
}

fn on_volume(trial: &mut Trial<'_>, volume: &str, instance: &str, is_added: bool) {
    let Some(region) = trial.region() else { return };
    let change = |list: &mut Vec<String>, id: &str| {
        list.retain(|one| one != id);
        list.extend(is_added.then(|| id.to_owned()));
    };
    if let Some(found) = region.volumes.iter_mut().find(|one| one.id == volume) {
        change(&mut found.attached_to, instance);
    }
    if let Some(found) = region.instances.iter_mut().find(|one| one.id == instance) {
        change(&mut found.volume_ids, volume);
    }
    trial.touch(ResourceKind::Volume, volume);
    trial.touch(ResourceKind::Instance, instance);
}

/// Changes an Auto Scaling group: its next instances are concerned, not those that run.
fn on_group(trial: &mut Trial<'_>, name: &str, change: impl FnOnce(&mut Vec<Tag>, Option<&mut LaunchSettings>)) {
    let groups = trial.region().and_then(|region| region.auto_scaling_groups.as_mut());
    let found = groups.and_then(|groups| groups.iter_mut().find(|group| group.name == name));
    if let Some(found) = found {
        let mut tags = mem::take(&mut found.tags);
        change(&mut tags, found.launch.as_mut());
        found.tags = tags;
    }
    trial.touch(ResourceKind::AutoScalingGroup, name);
    trial.later(format!("instances that the Auto Scaling group `{name}` launches from then on"));
}
