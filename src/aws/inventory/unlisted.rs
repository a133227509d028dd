//! Ids that live resources name and the lists of their kinds lack.

use std::collections::BTreeSet;

use crate::inventory::{Read, Unlisted, unlisted_gaps};
use crate::resource::ResourceKind;

use super::{Account, Inventory, Region};

impl Inventory {
    /// Adds a gap for every list that lacks ids that live resources name.
    pub(crate) fn note_unlisted(&mut self) {
        let mut found = Vec::new();
        for account in &self.accounts {
            for region in &account.regions {
                found.extend(unlisted_gaps(&account.account_id, &region.name, &self.gaps, &unlisted(account, region)));
            }
        }
        self.gaps.extend(found);
        self.gaps.sort();
    }
}

/// Ids that the live resources of a region name and its lists lack. The lists are sorted.
///
/// Skips references that may legitimately point elsewhere: those of terminated instances; rules of security groups,
/// which may name groups of peered VPCs and of other accounts; resources of the owner of a shared VPC; and resources
/// managed by an AWS service, which lists omit by default (Amazon EC2 API Reference, `IncludeManagedResources`). An id
/// that was requested and no longer exists is a fact.
#[must_use]
pub(crate) fn unlisted<'a>(account: &Account, region: &'a Region) -> Vec<Unlisted<'a>> {
    let mut all = Collector { region, found: Vec::new() };
    let is_own = |owner: &Option<String>| owner.as_ref().is_none_or(|owner| *owner == account.account_id);
    let foreign_vpcs: BTreeSet<&str> =
        region.subnets.iter().filter(|subnet| !is_own(&subnet.owner_id)).map(|subnet| subnet.vpc_id.as_str()).collect();
    for instance in region.instances.iter().filter(|instance| instance.state.is_live()) {
        let by = (ResourceKind::Instance, instance.id.as_str());
        let vpc = instance.vpc_id.iter().filter(|vpc| !foreign_vpcs.contains(vpc.as_str()));
        vpc.for_each(|vpc| all.vpc(by, vpc));
        instance.subnet_id.iter().for_each(|subnet| all.subnet(by, subnet));
        instance.security_groups.iter().for_each(|group| all.group(by, group));
        for volume in instance.volume_ids.iter().filter(|_| instance.managed_by.is_none()) {
            let is_listed = region.volumes.binary_search_by(|known| known.id.cmp(volume)).is_ok();
            all.lacks(by, Read::DescribeVolumes, volume, is_listed);
        }
        for interface in &instance.network_interfaces {
            interface.subnet_id.iter().for_each(|subnet| all.subnet(by, subnet));
            interface.security_groups.iter().for_each(|group| all.group(by, group));
            if instance.managed_by.is_none() && !interface.id.is_empty() {
                all.lacks(
                    by,
                    Read::DescribeNetworkInterfaces,
                    &interface.id,
                    region.network_interface(&interface.id).is_some(),
                );
            }
        }
    }
    for interface in region.network_interfaces.iter().filter(|one| is_own(&one.owner_id)) {
        let by = (ResourceKind::NetworkInterface, interface.id.as_str());
        let vpc = interface.vpc_id.iter().filter(|vpc| !foreign_vpcs.contains(vpc.as_str()));
        vpc.for_each(|vpc| all.vpc(by, vpc));
        interface.subnet_id.iter().for_each(|subnet| all.subnet(by, subnet));
        interface.security_groups.iter().for_each(|group| all.group(by, group));
        if interface.managed_by.is_none() {
            interface.instance_id.iter().for_each(|instance| all.instance(by, instance));
        }
    }
    for volume in region.volumes.iter().filter(|volume| volume.managed_by.is_none()) {
        let by = (ResourceKind::Volume, volume.id.as_str());
        volume.attached_to.iter().for_each(|instance| all.instance(by, instance));
    }
    for subnet in region.subnets.iter().filter(|subnet| is_own(&subnet.owner_id)) {
        let by = (ResourceKind::Subnet, subnet.id.as_str());
        all.vpc(by, &subnet.vpc_id);
        let zone = &subnet.availability_zone;
        let is_listed = zone.is_empty() || region.availability_zones.iter().any(|known| known.name == *zone);
        all.lacks(by, Read::DescribeAvailabilityZones, zone, is_listed);
    }
    for group in region.security_groups.iter().filter(|group| is_own(&group.owner_id)) {
        group.vpc_id.iter().for_each(|vpc| all.vpc((ResourceKind::SecurityGroup, &group.id), vpc));
    }
    for table in region.route_tables.iter().filter(|table| is_own(&table.owner_id)) {
        let by = (ResourceKind::RouteTable, table.id.as_str());
        all.vpc(by, &table.vpc_id);
        table.subnet_ids.iter().for_each(|subnet| all.subnet(by, subnet));
    }
    for association in region.instance_profile_associations.iter().filter(|one| one.state == "associated") {
        let by = (ResourceKind::InstanceProfile, association.instance_profile_arn.as_str());
        all.instance(by, &association.instance_id);
    }
    // Every VPC has a main route table (Amazon VPC User Guide, "Route table concepts").
    let with_main: BTreeSet<&str> =
        region.route_tables.iter().filter(|table| table.main).map(|table| table.vpc_id.as_str()).collect();
    for vpc in region.vpcs.iter().filter(|vpc| is_own(&vpc.owner_id)) {
        let by = (ResourceKind::Vpc, vpc.id.as_str());
        if let Some(options) = vpc.dhcp_options_id.as_ref().filter(|id| *id != "default") {
            let is_listed = region.dhcp_options.iter().any(|known| known.id == *options);
            all.lacks(by, Read::DescribeDhcpOptions, options, is_listed);
        }
        all.lacks(by, Read::DescribeRouteTables, "the main route table", with_main.contains(vpc.id.as_str()));
    }
    let mut found = all.found;
    found.sort_unstable();
    found.dedup();
    found
}

/// Ids of subnets and security groups that Auto Scaling groups and launch templates name and that the lists lack. They may
/// name what was deleted long ago, which is a defect of theirs and no contradiction of the lists.
#[cfg(feature = "aws")]
pub(crate) fn unlisted_of_launches(region: &Region) -> Vec<Unlisted<'_>> {
    let mut all = Collector { region, found: Vec::new() };
    for group in region.auto_scaling_groups.iter().flatten() {
        let by = (ResourceKind::AutoScalingGroup, group.name.as_str());
        group.launch.iter().flat_map(|launch| &launch.subnets).for_each(|subnet| all.subnet(by, subnet));
    }
    for template in region.launch_templates.iter().flatten() {
        let by = (ResourceKind::LaunchTemplate, template.id.as_str());
        let groups = template.versions.iter().flat_map(|version| version.security_groups.iter().flatten());
        groups.for_each(|group| all.group(by, group));
    }
    all.found
}

/// The ids found so far.
struct Collector<'a> {
    region: &'a Region,
    found: Vec<Unlisted<'a>>,
}

impl<'a> Collector<'a> {
    fn lacks(&mut self, named_by: (ResourceKind, &'a str), read: Read, id: &'a str, is_listed: bool) {
        if !is_listed && self.region.gone.binary_search_by(|gone| gone.as_str().cmp(id)).is_err() {
            self.found.push(Unlisted { read, id, named_by });
        }
    }

    fn instance(&mut self, by: (ResourceKind, &'a str), id: &'a str) {
        self.lacks(by, Read::DescribeInstances, id, self.region.instance(id).is_some());
    }

    fn vpc(&mut self, by: (ResourceKind, &'a str), id: &'a str) {
        self.lacks(by, Read::DescribeVpcs, id, self.region.vpc(id).is_some());
    }

    fn subnet(&mut self, by: (ResourceKind, &'a str), id: &'a str) {
        self.lacks(by, Read::DescribeSubnets, id, self.region.subnet(id).is_some());
    }

    fn group(&mut self, by: (ResourceKind, &'a str), id: &'a str) {
        self.lacks(by, Read::DescribeSecurityGroups, id, self.region.security_group(id).is_some());
    }
}
