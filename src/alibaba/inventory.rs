//! Inventory of Alibaba Cloud: verbatim data, and the reads that failed. As for AWS, an empty list means that the read
//! found nothing, a missing read is a [`Gap`], and nothing in here is derived.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::inventory::kubernetes::Recording;
use crate::inventory::{Gap, InventoryError, MissingRegion, Provider, SCHEMA, read_inventory};
use crate::resource::ResourceKind;
use crate::tags::{self, Tag};

use super::SERVICE_TAG;

mod check;
mod instance;
mod network;
mod principal;
mod security_group;
mod trail;
mod unlisted;

pub use instance::{Disk, Instance};
pub use network::{
    ApplicationLoadBalancer, ClassicZones, ElasticIp, LoadBalancer, LoadBalancerKind, LoadBalancerZones,
    NetworkInterface, RouteTable, SecurityGroup, VSwitch, Vpc,
};
pub use principal::{Attachment, ControlPolicyLevel, Policy, PolicyType, Principal, PrincipalKind};
pub use security_group::{RulePolicy, SecurityGroupRule};
pub use trail::ControllerCalls;
#[cfg(feature = "alibaba")]
pub(crate) use unlisted::unlisted;

/// Everything that was read from one or more accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// [`SCHEMA`] of the writer.
    pub schema: String,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// [`Provider::Alibaba`].
    pub provider: Provider,
    /// Start of reading, RFC 3339 in UTC; absent if the evidence does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// End of reading; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_until: Option<String>,
    /// One entry per account, sorted by account id.
    pub accounts: Vec<Account>,
    /// Every read that failed or could not be trusted.
    pub gaps: Vec<Gap>,
    /// Recording of the cluster, if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Recording>,
    /// Profile of the credentials that it was read with, if named; recordings do not keep it.
    #[serde(skip)]
    pub profile: Option<String>,
}

/// One account: its RAM side (global) and its regions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The account id: sixteen digits.
    pub account_id: String,
    /// Identity that read the account, as `GetCallerIdentity` names it.
    pub caller_arn: String,
    /// Requested regions.
    pub regions: Vec<Region>,
    /// Roles of instances, and principals that the operator named, with the groups of users.
    pub principals: Vec<Principal>,
    /// Policies that are attached to them, and those that have tagaudit's own names for them, attached or not.
    pub policies: Vec<Policy>,
    /// Control policies of the Resource Directory, from its root to the account; absent if they were not requested, or not
    /// read. Empty if none apply: they are disabled, or the account manages the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_policies: Option<Vec<ControlPolicyLevel>>,
    /// Roles that ServiceAccounts name, that were requested, and that do not exist; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent_roles: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Its id, such as `cn-hangzhou`.
    pub name: String,
    /// ECS instances.
    pub instances: Vec<Instance>,
    pub vpcs: Vec<Vpc>,
    pub vswitches: Vec<VSwitch>,
    pub route_tables: Vec<RouteTable>,
    pub security_groups: Vec<SecurityGroup>,
    /// Elastic network interfaces.
    pub network_interfaces: Vec<NetworkInterface>,
    pub disks: Vec<Disk>,
    /// Load balancers, classic and network; absent if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancers: Option<Vec<LoadBalancer>>,
    /// Application load balancers; absent if they were not requested, and in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_load_balancers: Option<Vec<ApplicationLoadBalancer>>,
    /// Zones of load balancers; absent if they were not requested, and in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer_zones: Option<LoadBalancerZones>,
    /// Elastic IP addresses; absent if they were not requested, and in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic_ips: Option<Vec<ElasticIp>>,
    /// Calls of cloud controllers in the audit trail; absent if it was not requested or not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_calls: Option<Vec<ControllerCalls>>,
    /// Ids that other resources name, that were requested by id, and that no longer exist; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

impl Inventory {
    /// Records the end of reading.
    pub fn set_collected_until(&mut self, now: jiff::Timestamp) {
        self.collected_until = self.collected_at.as_ref().map(|_| format!("{now:.0}"));
    }

    /// Empty inventory, ready to be filled.
    #[must_use]
    pub fn new(collected_at: Option<String>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            provider: Provider::Alibaba,
            collected_at,
            collected_until: None,
            accounts: Vec::new(),
            gaps: Vec::new(),
            kubernetes: None,
            profile: None,
        }
    }

    /// Reads a recorded inventory from its bytes; `file` is only used in errors.
    ///
    /// # Errors
    /// If the bytes are not JSON, not an inventory, or have another schema.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        let mut inventory: Self = read_inventory(file, bytes, |inventory: &Self| &inventory.schema)?;
        if let Some((pointer, reason)) = inventory.contradiction() {
            return Err(InventoryError::Contradiction { file: file.to_owned(), reason, pointer });
        }
        inventory.canonicalise();
        inventory.note_unlisted();
        Ok(inventory)
    }

    /// Keeps only these regions.
    ///
    /// # Errors
    /// If it lacks one of them.
    pub fn retain_regions(&mut self, wanted: &[String]) -> Result<(), MissingRegion> {
        let held: BTreeSet<&str> =
            self.accounts.iter().flat_map(|account| &account.regions).map(|region| region.name.as_str()).collect();
        if let Some(missing) = wanted.iter().find(|name| !held.contains(name.as_str())) {
            return Err(MissingRegion(missing.clone()));
        }
        for account in &mut self.accounts {
            account.regions.retain(|region| wanted.contains(&region.name));
        }
        self.gaps.retain(|gap| gap.region.as_ref().is_none_or(|region| wanted.contains(region)));
        Ok(())
    }

    /// True if so many reads were refused that nothing is known of any region.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        let regions = self.accounts.iter().flat_map(|account| &account.regions);
        !self.gaps.is_empty()
            && regions.into_iter().all(|region| {
                region.instances.is_empty()
                    && region.vpcs.is_empty()
                    && region.vswitches.is_empty()
                    && region.security_groups.is_empty()
            })
    }

    /// Sorts everything and drops repeated entries.
    pub fn canonicalise(&mut self) {
        self.accounts.sort_by(|a, b| a.account_id.cmp(&b.account_id));
        for account in &mut self.accounts {
            account.regions.sort_by(|a, b| a.name.cmp(&b.name));
            account.regions.iter_mut().for_each(Region::canonicalise);
            account.principals.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
            account.principals.dedup_by(|a, b| (a.kind, &a.name) == (b.kind, &b.name));
            for principal in &mut account.principals {
                for list in
                    [&mut principal.attachments, &mut principal.resource_group_attachments].into_iter().flatten()
                {
                    list.sort();
                    list.dedup();
                }
                if let Some(groups) = &mut principal.groups {
                    groups.sort();
                    groups.dedup();
                }
            }
            account.policies.sort_by(|a, b| (a.policy_type, &a.name).cmp(&(b.policy_type, &b.name)));
            account.policies.dedup_by(|a, b| (a.policy_type, &a.name) == (b.policy_type, &b.name));
            account.absent_roles.sort();
            account.absent_roles.dedup();
        }
        self.gaps.sort();
        self.gaps.dedup();
    }
}

impl Account {
    #[must_use]
    pub fn principal(&self, kind: PrincipalKind, name: &str) -> Option<&Principal> {
        // Role names are compared case-insensitively. Source: RAM 2015-05-01, `GetRole`, `RolePrincipalName`.
        self.principals.iter().find(|one| one.kind == kind && one.name.eq_ignore_ascii_case(name))
    }

    /// A policy by type and name.
    #[must_use]
    pub fn policy(&self, attachment: &Attachment) -> Option<&Policy> {
        let is_it = |policy: &&Policy| policy.policy_type == attachment.policy_type && policy.name == attachment.policy;
        self.policies.iter().find(is_it)
    }

    /// Resource name of a principal: `acs:ram::ACCOUNT:role/NAME`.
    #[must_use]
    pub fn principal_arn(&self, principal: &Principal) -> String {
        self.arn(principal.kind, &principal.name)
    }

    /// Resource name of a principal that may not have been read.
    #[must_use]
    pub fn arn(&self, kind: PrincipalKind, name: &str) -> String {
        super::principal_arn(&self.account_id, kind, name)
    }
}

impl Region {
    /// Region in which nothing has been read yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Every resource that carries tags, with its kind and id.
    pub fn tagged(&self) -> impl Iterator<Item = (ResourceKind, &str, &[Tag])> {
        macro_rules! of {
            ($list:ident, $kind:ident) => {
                self.$list.iter().map(|one| (ResourceKind::$kind, one.id.as_str(), one.tags.as_slice()))
            };
        }
        macro_rules! asked {
            ($list:ident, $kind:ident) => {
                self.$list.iter().flatten().map(|one| (ResourceKind::$kind, one.id.as_str(), one.tags.as_slice()))
            };
        }
        of!(instances, Instance)
            .chain(of!(vpcs, Vpc))
            .chain(of!(vswitches, VSwitch))
            .chain(of!(route_tables, RouteTable))
            .chain(of!(security_groups, SecurityGroup))
            .chain(of!(network_interfaces, NetworkInterface))
            .chain(of!(disks, Volume))
            .chain(asked!(load_balancers, LoadBalancer))
            .chain(asked!(application_load_balancers, LoadBalancer))
            .chain(asked!(elastic_ips, ElasticIp))
    }

    /// Load balancers that carry the tag of a Service, with a selected value.
    pub(crate) fn load_balancers_of_services(
        &self,
        is_meant: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &LoadBalancer> {
        let balancers = self.load_balancers.iter().flatten();
        balancers.filter(move |one| tags::value(&one.tags, SERVICE_TAG).is_some_and(&is_meant))
    }

    /// Security groups that such load balancers joined.
    pub(crate) fn groups_of_services(&self, is_meant: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let of_services = self.load_balancers_of_services(is_meant);
        of_services.flat_map(|one| one.security_groups.iter().flatten()).map(String::as_str).collect()
    }

    fn canonicalise(&mut self) {
        /// Sorts by id, keeps the first of equals, and sorts the tags of each.
        macro_rules! order {
            ($($list:expr),*) => {$(
                $list.sort_by(|a, b| a.id.cmp(&b.id));
                $list.dedup_by(|a, b| a.id == b.id);
                for resource in $list.iter_mut() { resource.tags.sort(); }
            )*};
        }
        order!(self.instances, self.vpcs, self.vswitches, self.route_tables, self.security_groups);
        order!(self.network_interfaces, self.disks);
        macro_rules! order_asked {
            ($($list:ident),*) => {$(if let Some(list) = &mut self.$list { order!(list); })*};
        }
        order_asked!(load_balancers, application_load_balancers, elastic_ips);
        if let Some(zones) = &mut self.load_balancer_zones {
            zones.canonicalise();
        }
        if let Some(calls) = &mut self.controller_calls {
            calls.sort();
            calls.dedup();
        }
        self.gone.sort();
        self.gone.dedup();
        for instance in &mut self.instances {
            instance.private_addresses.sort();
            instance.security_groups.sort();
        }
        for table in &mut self.route_tables {
            table.vswitch_ids.sort();
        }
        for interface in &mut self.network_interfaces {
            interface.security_groups.sort();
        }
        for groups in self.load_balancers.iter_mut().flatten().filter_map(|one| one.security_groups.as_mut()) {
            groups.sort();
        }
        for rules in self.security_groups.iter_mut().filter_map(|group| group.rules.as_mut()) {
            rules.sort();
        }
    }
}
