//! Instances, disks and network interfaces on the copy of an account.
//! Source: aliyun/terraform-provider-alicloud `alicloud/resource_alicloud_instance.go`, `_ecs_disk.go`,
//! `_ecs_network_interface.go`.

use crate::alibaba::{Disk, Instance, NetworkInterface};
use crate::resource::ResourceKind;

use super::network::vswitch_of;
use super::{New, Trial};

/// Removes an instance with its primary interface.
pub(super) fn remove(trial: &mut Trial<'_>) {
    let id = trial.old_id();
    trial.touch(ResourceKind::Instance, &id);
    let is_gone = trial.is_gone();
    let Some(region) = trial.region() else { return };
    if is_gone {
        region.instances.retain(|one| one.id != id);
        region.network_interfaces.retain(|one| one.instance_id.as_deref() != Some(&id));
        for disk in region.disks.iter_mut().filter(|disk| disk.instance_id.as_deref() == Some(&id)) {
            disk.instance_id = None;
            "Available".clone_into(&mut disk.status);
        }
    } else if let Some(instance) = region.instances.iter_mut().find(|one| one.id == id) {
        // The machine that takes its place has what the plan gives it.
        instance.ram_role = None;
        instance.metadata_tokens = None;
        instance.metadata_endpoint = None;
    }
}

pub(super) fn instance(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let held = trial.region().and_then(|region| region.instances.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let is_known = trial.affected.ids.contains(&id);
    let mut instance = held.unwrap_or_else(|| Instance {
        id: id.clone(),
        status: "Running".to_owned(),
        network_type: Some("vpc".to_owned()),
        ..Instance::default()
    });
    let before = instance.clone();
    if let Some((vswitch, vpc)) = vswitch_of(trial, &id) {
        instance.vswitch_id = Some(vswitch);
        instance.vpc_id = vpc.or(instance.vpc_id);
    }
    let mut set = |names: &[&'static str], value: &mut Option<String>, decides: bool| match trial.new_text(names) {
        New::Text(text) => *value = Some(text),
        New::Removed => *value = None,
        New::Unknown(key) if decides && is_known => trial.open(key),
        New::Unknown(_) | New::Unchanged => {}
    };
    set(&["instance_name"], &mut instance.name, false);
    set(&["availability_zone"], &mut instance.zone_id, false);
    set(&["role_name"], &mut instance.ram_role, true);
    set(&["http_tokens"], &mut instance.metadata_tokens, false);
    set(&["http_endpoint"], &mut instance.metadata_endpoint, false);
    let mut address = None;
    set(&["private_ip", "primary_ip_address"], &mut address, false);
    if let Some(address) = address {
        instance.private_addresses = vec![address];
    }
    if trial.is_new() || change.differs("security_groups") {
        match trial.plan.list(change, "security_groups") {
            Some(groups) => instance.security_groups = groups,
            None if is_known && trial.plan.may_be_configured(change, "security_groups") => {
                trial.open("security_groups");
            }
            None => {}
        }
    }
    if is_known && change.after_text("http_endpoint") == Some("disabled") && change.differs("http_endpoint") {
        trial.undecided(
            "its metadata service is turned off: a controller on it gets no region, no VPC and no credentials",
        );
    }
    if let Some(status) = change.after_text("status").filter(|_| change.differs("status")) {
        status.clone_into(&mut instance.status);
        if is_known && !instance.is_running() {
            trial.undecided("the node is stopped: nothing of the cluster runs on it");
        }
    }
    let is_changed = trial.is_new() || instance != before;
    let Some(region) = trial.region() else { return };
    region.instances.retain(|one| one.id != id);
    region.instances.push(instance);
    if is_changed {
        trial.touch(ResourceKind::Instance, &id);
    }
    trial.put_tags(ResourceKind::Instance, &id);
}

pub(super) fn disk(trial: &mut Trial<'_>) {
    let id = trial.change.identity();
    let held = trial.region().and_then(|region| region.disks.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let mut disk = held.unwrap_or_else(|| Disk { id: id.clone(), status: "Available".to_owned(), ..Disk::default() });
    if let Some(name) = trial.text(&["disk_name", "name"]) {
        disk.name = Some(name);
    }
    let Some(region) = trial.region() else { return };
    region.disks.retain(|one| one.id != id);
    region.disks.push(disk);
    trial.put_tags(ResourceKind::Volume, &id);
}

pub(super) fn interface(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let held = trial.region().and_then(|region| region.network_interfaces.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let mut interface = held.unwrap_or_else(|| NetworkInterface {
        id: id.clone(),
        interface_type: Some("Secondary".to_owned()),
        status: Some("Available".to_owned()),
        ..NetworkInterface::default()
    });
    if let Some((_, vpc)) = vswitch_of(trial, &id) {
        interface.vpc_id = vpc.or(interface.vpc_id);
    }
    let Some(region) = trial.region() else { return };
    region.network_interfaces.retain(|one| one.id != id);
    region.network_interfaces.push(interface);
    trial.put_tags(ResourceKind::NetworkInterface, &id);
}
