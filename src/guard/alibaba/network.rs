//! VPCs, vSwitches, route tables, security groups and load balancers on the copy of an account.
//! Source: aliyun/terraform-provider-alicloud `alicloud/resource_alicloud_vpc.go`, `_vswitch.go`, `_route_table.go`,
//! `_security_group.go`, `_slb_load_balancer.go`, `_nlb_load_balancer.go`.

use crate::alibaba::{LoadBalancer, LoadBalancerKind, Region, RouteTable, SERVICE_TAG, SecurityGroup, VSwitch, Vpc};
use crate::guard::change::Action;
use crate::guard::plan::Text;
use crate::resource::ResourceKind;
use crate::tags;

use super::{New, Trial};

/// Removes an object. One that is replaced keeps its id, and loses what is connected to it.
pub(super) fn remove(trial: &mut Trial<'_>) {
    let (id, is_gone) = (trial.old_id(), trial.is_gone());
    let kind = match trial.change.kind.as_str() {
        "alicloud_vpc" => ResourceKind::Vpc,
        "alicloud_vswitch" | "alicloud_subnet" => ResourceKind::VSwitch,
        "alicloud_route_table" => ResourceKind::RouteTable,
        "alicloud_security_group" => ResourceKind::SecurityGroup,
        "alicloud_ecs_disk" | "alicloud_disk" => ResourceKind::Volume,
        "alicloud_ecs_network_interface" | "alicloud_network_interface" => ResourceKind::NetworkInterface,
        _ => ResourceKind::LoadBalancer,
    };
    trial.touch(kind, &id);
    let Some(region) = trial.region() else { return };
    let of_service = |one: &LoadBalancer| one.id == id && tags::value(&one.tags, SERVICE_TAG).is_some();
    let is_of_service = region.load_balancers.iter().flatten().any(of_service);
    if trial.affected.balancers.contains(&id) && is_of_service {
        trial.undecided(
            "it is the load balancer of a Service: the controller creates another one, with another address",
        );
    }
    // An update takes nothing away: the object that stays is replaced.
    if !is_gone && !is_of_service && trial.affected.named.contains(&id) {
        trial.undecided("the cluster names it by its id: what takes its place has another one");
    }
    let Some(region) = trial.region() else { return };
    match kind {
        ResourceKind::Vpc if is_gone => region.vpcs.retain(|one| one.id != id),
        ResourceKind::SecurityGroup if is_gone => region.security_groups.retain(|one| one.id != id),
        ResourceKind::Volume if is_gone => region.disks.retain(|one| one.id != id),
        ResourceKind::NetworkInterface if is_gone => region.network_interfaces.retain(|one| one.id != id),
        ResourceKind::VSwitch => {
            region.route_tables.iter_mut().for_each(|table| table.vswitch_ids.retain(|one| *one != id));
            if is_gone {
                region.vswitches.retain(|one| one.id != id);
            }
        }
        ResourceKind::RouteTable => {
            let Some(table) = region.route_tables.iter_mut().find(|one| one.id == id) else { return };
            let (vpc, freed) = (table.vpc_id.clone(), std::mem::take(&mut table.vswitch_ids));
            if is_gone {
                region.route_tables.retain(|one| one.id != id);
            }
            for vswitch in &freed {
                use_system_table(region, &vpc, vswitch);
            }
        }
        ResourceKind::LoadBalancer if is_gone => {
            region.load_balancers.iter_mut().for_each(|list| list.retain(|one| one.id != id));
        }
        _ => {}
    }
}

/// A vSwitch without a custom route table has the system route table of its VPC.
/// Source: VPC documentation, "Route tables".
pub(super) fn use_system_table(region: &mut Region, vpc: &str, vswitch: &str) {
    let is_system = |one: &&mut RouteTable| one.vpc_id == vpc && one.table_type.as_deref() != Some("Custom");
    if let Some(table) = region.route_tables.iter_mut().find(is_system)
        && !table.vswitch_ids.iter().any(|one| one == vswitch)
    {
        table.vswitch_ids.push(vswitch.to_owned());
    }
}

/// The name of an object: applies it, if the change sets or removes it.
fn rename(trial: &Trial<'_>, names: &[&'static str], name: &mut Option<String>) {
    match trial.new_text(names) {
        New::Text(text) => *name = Some(text),
        New::Removed => *name = None,
        New::Unknown(_) | New::Unchanged => {}
    }
}

pub(super) fn vpc(trial: &mut Trial<'_>) {
    let id = trial.change.identity();
    let held = trial.region().and_then(|region| region.vpcs.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let is_new = held.is_none();
    let mut vpc = held.unwrap_or_else(|| Vpc { id: id.clone(), ..Vpc::default() });
    rename(trial, &["vpc_name", "name"], &mut vpc.name);
    let Some(region) = trial.region() else { return };
    region.vpcs.retain(|one| one.id != id);
    region.vpcs.push(vpc);
    if is_new {
        // Every VPC has one (VPC documentation, "Route tables").
        region.route_tables.push(RouteTable {
            id: format!("system route table of {id}"),
            vpc_id: id.clone(),
            table_type: Some("System".to_owned()),
            ..RouteTable::default()
        });
        trial.touch(ResourceKind::Vpc, &id);
    }
    trial.put_tags(ResourceKind::Vpc, &id);
}

/// Free addresses of a new vSwitch: VPC keeps the first one and the last three.
/// Source: VPC documentation, "VPCs and vSwitches".
fn free_addresses(block: &str) -> Option<i64> {
    let bits: u32 = block.rsplit_once('/')?.1.parse().ok()?;
    1_i64.checked_shl(32_u32.checked_sub(bits)?)?.checked_sub(4)
}

pub(super) fn vswitch(trial: &mut Trial<'_>) {
    let id = trial.change.identity();
    let held = trial.region().and_then(|region| region.vswitches.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let Some(vpc_id) = trial.vpc_of(held.as_ref().map(|one| one.vpc_id.clone())) else { return };
    let mut vswitch = held.unwrap_or_else(|| {
        let cidr_block = trial.text(&["cidr_block"]);
        let free_addresses = cidr_block.as_deref().and_then(free_addresses);
        VSwitch { id: id.clone(), cidr_block, free_addresses, ..VSwitch::default() }
    });
    vswitch.vpc_id = vpc_id;
    rename(trial, &["vswitch_name", "name"], &mut vswitch.name);
    match trial.new_text(&["zone_id", "availability_zone"]) {
        New::Text(zone) => vswitch.zone_id = Some(zone),
        New::Unknown(key) if trial.affected.vpcs.contains(&vswitch.vpc_id) => trial.open(key),
        New::Unknown(_) | New::Removed | New::Unchanged => {}
    }
    let (vpc, is_new) = (vswitch.vpc_id.clone(), trial.is_new());
    let Some(region) = trial.region() else { return };
    region.vswitches.retain(|one| one.id != id);
    region.vswitches.push(vswitch);
    if is_new {
        use_system_table(region, &vpc, &id);
        trial.touch(ResourceKind::VSwitch, &id);
    }
    trial.put_tags(ResourceKind::VSwitch, &id);
}

pub(super) fn security_group(trial: &mut Trial<'_>) {
    let id = trial.change.identity();
    let held = trial.region().and_then(|region| region.security_groups.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let Some(vpc_id) = trial.vpc_of(held.as_ref().map(|one| one.vpc_id.clone().unwrap_or_default())) else { return };
    let mut group = held.unwrap_or_else(|| SecurityGroup { id: id.clone(), ..SecurityGroup::default() });
    group.vpc_id = Some(vpc_id).filter(|id| !id.is_empty());
    rename(trial, &["security_group_name", "name"], &mut group.name);
    rename(trial, &["security_group_type"], &mut group.group_type);
    let is_new = trial.is_new();
    let Some(region) = trial.region() else { return };
    region.security_groups.retain(|one| one.id != id);
    region.security_groups.push(group);
    if is_new {
        trial.touch(ResourceKind::SecurityGroup, &id);
    }
    trial.put_tags(ResourceKind::SecurityGroup, &id);
}

pub(super) fn route_table(trial: &mut Trial<'_>) {
    let id = trial.change.identity();
    let held = trial.region().and_then(|region| region.route_tables.iter().find(|one| one.id == id)).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let before = held.as_ref().map(|one| one.vpc_id.clone());
    let Some(vpc_id) = trial.vpc_of(before.clone()) else { return };
    let mut table = held.unwrap_or_else(|| RouteTable {
        id: id.clone(),
        table_type: Some("Custom".to_owned()),
        ..RouteTable::default()
    });
    table.vpc_id = vpc_id;
    rename(trial, &["route_table_name", "name"], &mut table.name);
    let (vpc, is_new) = (table.vpc_id.clone(), trial.is_new());
    let Some(region) = trial.region() else { return };
    region.route_tables.retain(|one| one.id != id);
    region.route_tables.push(table);
    if is_new {
        // A further table concerns the routes of the whole VPC.
        trial.touch(ResourceKind::Vpc, &vpc);
        if let Some(vpc) = &before {
            trial.touch(ResourceKind::Vpc, vpc);
        }
        trial.touch(ResourceKind::RouteTable, &id);
    }
    trial.put_tags(ResourceKind::RouteTable, &id);
}

/// A load balancer, if those of the region were read.
pub(super) fn load_balancer(trial: &mut Trial<'_>) {
    let change = trial.change;
    let id = change.identity();
    let Some(list) = trial.region().and_then(|region| region.load_balancers.as_ref()) else { return };
    let held = list.iter().find(|one| one.id == id).cloned();
    if trial.is_missing(&id, held.is_some()) {
        return;
    }
    let is_network = change.kind == "alicloud_nlb_load_balancer";
    let kind = if is_network { LoadBalancerKind::Nlb } else { LoadBalancerKind::Clb };
    let mut balancer = match held {
        // Another one has another address.
        Some(held) if change.is(Action::Replace) => LoadBalancer { address: None, dns_name: None, ..held },
        Some(held) => held,
        None => LoadBalancer { id: id.clone(), kind, ..LoadBalancer::default() },
    };
    rename(trial, &["load_balancer_name", "name"], &mut balancer.name);
    rename(trial, &["address_type"], &mut balancer.address_type);
    let place = if is_network { "vpc_id" } else { "vswitch_id" };
    match trial.new_text(&[place]) {
        New::Text(vpc) if is_network => balancer.vpc_id = Some(vpc),
        New::Text(vswitch) => balancer.vpc_id = vpc_of_vswitch(trial, &vswitch),
        New::Removed if !is_network => balancer.vpc_id = None,
        New::Unknown(key) if trial.affected.ids.contains(&id) => trial.open(key),
        New::Unknown(_) | New::Removed | New::Unchanged => {}
    }
    let changes = trial.is_new() || [place, "address_type"].into_iter().any(|key| change.differs(key));
    let Some(list) = trial.region().and_then(|region| region.load_balancers.as_mut()) else { return };
    list.retain(|one| one.id != id);
    list.push(balancer);
    if changes {
        trial.touch(ResourceKind::LoadBalancer, &id);
    }
    let tag = service_tag(trial, &id);
    trial.put_tags(ResourceKind::LoadBalancer, &id);
    if trial.affected.balancers.contains(&id) {
        if !trial.is_new() && tag.is_some() && service_tag(trial, &id) != tag {
            trial.undecided(format!("the controller finds it by `{SERVICE_TAG}`: it creates another load balancer"));
        }
        if change.after_text("status") == Some("inactive") && change.differs("status") {
            trial.undecided("it is stopped: the Service gets no traffic");
        }
        let mut set = vec!["address_type", "security_group_ids", "zone_mappings"];
        set.retain(|key| trial.sets(key));
        if !trial.is_new() && !set.is_empty() {
            trial.undecided(format!("changes of `{}` of a Service's load balancer are not modelled", set.join("`, `")));
        }
    }
}

/// The tag by which the controller finds the load balancer of a Service.
fn service_tag(trial: &mut Trial<'_>, id: &str) -> Option<String> {
    let held = super::tags_of_mut(trial.region()?, ResourceKind::LoadBalancer, id)?;
    tags::value(held, SERVICE_TAG).map(str::to_owned)
}

/// The VPC of a vSwitch of the copy.
pub(super) fn vpc_of_vswitch(trial: &mut Trial<'_>, vswitch: &str) -> Option<String> {
    let region = trial.region()?;
    region.vswitches.iter().find(|one| one.id == vswitch).map(|one| one.vpc_id.clone())
}

/// The vSwitch of a new or changed object, with its VPC: each is `None` if it is not known, and undecided for an object of
/// a cluster.
pub(super) fn vswitch_of(trial: &mut Trial<'_>, id: &str) -> Option<(String, Option<String>)> {
    let New::Text(vswitch) = trial.new_text(&["vswitch_id", "subnet_id"]) else {
        let is_open = trial.plan.text(trial.change, "vswitch_id") == Text::Unknown;
        if is_open && trial.affected.ids.contains(id) && trial.plan.may_be_configured(trial.change, "vswitch_id") {
            trial.open("vswitch_id");
        }
        return None;
    };
    let vpc = vpc_of_vswitch(trial, &vswitch);
    if vpc.is_none() && trial.affected.ids.contains(id) {
        trial.undecided(format!("the inventory does not hold the vSwitch `{vswitch}`"));
    }
    Some((vswitch, vpc))
}
