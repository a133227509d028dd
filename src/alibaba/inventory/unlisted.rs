//! Ids that resources of Alibaba Cloud refer to but that the lists of their kinds lack, as `aws` has them for AWS.

use std::collections::BTreeSet;

use crate::inventory::{Read, Unlisted, unlisted_gaps};
use crate::resource::ResourceKind;

use super::{Inventory, Region};

impl Inventory {
    /// Adds a gap for every list that lacks a resource to which others refer.
    pub(crate) fn note_unlisted(&mut self) {
        let mut found = Vec::new();
        for account in &self.accounts {
            for region in &account.regions {
                found.extend(unlisted_gaps(&account.account_id, &region.name, &self.gaps, &unlisted(region)));
            }
        }
        self.gaps.extend(found);
        self.gaps.sort();
    }
}

/// Ids that the resources of a region refer to but that its lists lack. Interfaces and disks may be attached to
/// something other than an ECS instance, such as a container group: only ids of instances count.
#[must_use]
pub(crate) fn unlisted(region: &Region) -> Vec<Unlisted<'_>> {
    let instances: BTreeSet<&str> = region.instances.iter().map(|one| one.id.as_str()).collect();
    let vpcs: BTreeSet<&str> = region.vpcs.iter().map(|one| one.id.as_str()).collect();
    let vswitches: BTreeSet<&str> = region.vswitches.iter().map(|one| one.id.as_str()).collect();
    let groups: BTreeSet<&str> = region.security_groups.iter().map(|one| one.id.as_str()).collect();
    let with_table: BTreeSet<&str> = region.route_tables.iter().map(|one| one.vpc_id.as_str()).collect();
    let mut found = Vec::new();
    let mut named: Vec<(ResourceKind, &str, Read, &str)> = Vec::new();
    for one in &region.instances {
        let mut add = |read, id| named.push((ResourceKind::Instance, one.id.as_str(), read, id));
        one.vpc_id.iter().for_each(|id| add(Read::VpcDescribeVpcs, id.as_str()));
        one.vswitch_id.iter().for_each(|id| add(Read::DescribeVSwitches, id.as_str()));
        one.security_groups.iter().for_each(|id| add(Read::EcsDescribeSecurityGroups, id.as_str()));
    }
    let is_instance = |id: &&String| id.starts_with("i-");
    for one in &region.network_interfaces {
        let mut add = |read, id| named.push((ResourceKind::NetworkInterface, one.id.as_str(), read, id));
        one.instance_id.iter().filter(is_instance).for_each(|id| add(Read::EcsDescribeInstances, id.as_str()));
        one.vpc_id.iter().for_each(|id| add(Read::VpcDescribeVpcs, id.as_str()));
    }
    for one in &region.disks {
        let attached = one.instance_id.iter().filter(is_instance);
        attached.for_each(|id| named.push((ResourceKind::Volume, &one.id, Read::EcsDescribeInstances, id)));
    }
    for one in &region.vswitches {
        named.push((ResourceKind::VSwitch, &one.id, Read::VpcDescribeVpcs, &one.vpc_id));
    }
    for one in &region.security_groups {
        one.vpc_id.iter().for_each(|id| named.push((ResourceKind::SecurityGroup, &one.id, Read::VpcDescribeVpcs, id)));
    }
    for one in &region.route_tables {
        named.push((ResourceKind::RouteTable, &one.id, Read::VpcDescribeVpcs, &one.vpc_id));
        for id in &one.vswitch_ids {
            named.push((ResourceKind::RouteTable, &one.id, Read::DescribeVSwitches, id));
        }
    }
    let is_listed = |read: Read, id: &str| match read {
        Read::EcsDescribeInstances => instances.contains(id),
        Read::VpcDescribeVpcs => vpcs.contains(id),
        Read::DescribeVSwitches => vswitches.contains(id),
        _ => groups.contains(id),
    };
    for (kind, by, read, id) in named {
        if !id.is_empty() && !is_listed(read, id) && !region.gone.iter().any(|gone| gone == id) {
            found.push(Unlisted { read, id, named_by: (kind, by) });
        }
    }
    // Every VPC has a system route table (VPC documentation, "Route tables").
    for vpc in region.vswitches.iter().map(|one| one.vpc_id.as_str()).filter(|vpc| !with_table.contains(vpc)) {
        let id = "the system route table";
        found.push(Unlisted { read: Read::DescribeRouteTableList, id, named_by: (ResourceKind::Vpc, vpc) });
    }
    found.sort_unstable();
    found.dedup();
    found
}
