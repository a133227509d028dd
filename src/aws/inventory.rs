//! What was read from AWS, verbatim. An empty list means "read, and empty"; a failed read is a [`Gap`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::inventory::kubernetes::Recording;
use crate::inventory::{Gap, InventoryError, MissingRegion, Provider, SCHEMA, Storage, read_inventory, to_json};
use crate::tags::Tag;

mod identity;
mod instance;
mod load_balancing;
mod lookup;
mod network;
mod pod_identity;
mod scaling;
mod unlisted;

pub(crate) use identity::linked_services;
pub use identity::{InlinePolicy, InstanceProfile, InstanceProfileAssociation, ManagedPolicy, Role};
pub use instance::{AttachedInterface, Instance, InstanceState, InterfaceAddresses, MetadataOptions};
pub use load_balancing::{
    ElasticIp, Listener, LoadBalancer, LoadBalancerKind, LoadBalancing, NetworkLimits, TargetGroup, TargetHealth,
};
pub(crate) use load_balancing::{RULES_PER_GROUP, quota};
pub(crate) use lookup::Tagged;
pub use network::{
    AvailabilityZone, DhcpOptions, IngressPermission, NetworkInterface, PrefixList, Route, RouteTable, RuleSource,
    SecurityGroup, Subnet, Vpc,
};
pub use pod_identity::PodIdentity;
pub use scaling::{
    AutoScalingGroup, InstanceRefresh, LaunchSettings, LaunchTemplate, LifecycleHook, MetadataDefaults, NotInherited,
    TemplateReference, TemplateVersion,
};
pub(crate) use scaling::{attached, is_waiting, template_groups, template_image, template_tags};
#[cfg(feature = "aws")]
pub(crate) use unlisted::{unlisted, unlisted_of_launches};

/// Everything that was read from one or more accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// [`SCHEMA`] of the writer.
    pub schema: String,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// The cloud it describes.
    pub provider: Provider,
    /// When reading began, RFC 3339 in UTC; absent if the evidence does not state it (a folder of CLI outputs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// When reading ended; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_until: Option<String>,
    /// One entry per account, sorted by account id.
    pub accounts: Vec<Account>,
    /// Every read that failed or could not be trusted.
    pub gaps: Vec<Gap>,
    /// The recording of the cluster; absent if the cluster was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Recording>,
    /// The profile of the credentials that it was read with, if one is named; recordings do not store it.
    #[serde(skip)]
    pub profile: Option<String>,
}

/// One account: its identity, its IAM side (global) and its regions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The twelve-digit account id.
    pub account_id: String,
    /// `aws`, `aws-cn`, `aws-us-gov`, `aws-eusc`, …; from the caller's ARN, never assumed.
    pub partition: String,
    /// ARN of the caller that read the account.
    pub caller_arn: String,
    /// Requested regions.
    pub regions: Vec<Region>,
    /// Instance profiles that were read.
    pub instance_profiles: Vec<InstanceProfile>,
    /// Roles of those profiles, and those that controllers and ServiceAccounts use.
    pub roles: Vec<Role>,
    /// Managed policies attached to those roles or used as their boundary.
    pub managed_policies: Vec<ManagedPolicy>,
    /// True if `roles` has every role of the account.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_all_roles: bool,
    /// Names of the instance profiles of all roles; absent if these were not all read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_names: Option<Vec<String>>,
    /// Services with a service-linked role, sorted, such as `elasticloadbalancing.amazonaws.com`; absent if the roles of the
    /// account were not all listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked_services: Option<Vec<String>>,
    /// ARNs of roles that were requested and do not exist; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_roles: Vec<String>,
    /// OIDC providers, by ARN; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc_providers: Option<Vec<String>>,
}

/// The EC2 side of one region.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Region name, such as `us-east-1`.
    pub name: String,
    /// Instances in every state that EC2 still shows.
    pub instances: Vec<Instance>,
    pub subnets: Vec<Subnet>,
    pub vpcs: Vec<Vpc>,
    pub security_groups: Vec<SecurityGroup>,
    pub route_tables: Vec<RouteTable>,
    /// DHCP option sets.
    pub dhcp_options: Vec<DhcpOptions>,
    /// Network interfaces, attached or not.
    pub network_interfaces: Vec<NetworkInterface>,
    /// EBS volumes.
    pub volumes: Vec<Volume>,
    /// Instance profile associations in every state.
    pub instance_profile_associations: Vec<InstanceProfileAssociation>,
    /// Availability, local and wavelength zones.
    pub availability_zones: Vec<AvailabilityZone>,
    /// Auto Scaling groups; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scaling_groups: Option<Vec<AutoScalingGroup>>,
    /// All launch templates, with some of their versions; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_templates: Option<Vec<LaunchTemplate>>,
    /// Machine images that launches name, by id, with true if the account can launch them; those that were not asked for are
    /// absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, bool>,
    /// Defaults of the account for the metadata service; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_defaults: Option<MetadataDefaults>,
    /// Load balancers and target groups; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancing: Option<LoadBalancing>,
    /// Elastic IP addresses; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic_ips: Option<Vec<ElasticIp>>,
    /// Prefix lists that rules of security groups name, by id; those that were not read are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prefix_lists: BTreeMap<String, PrefixList>,
    /// Associations of EKS Pod Identity, by EKS cluster; those that were not read are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_identities: BTreeMap<String, Vec<PodIdentity>>,
    /// Limits of the account; absent if none was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<NetworkLimits>,
    /// Ids that other resources name, that were requested by id, and that no longer exist; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// An EBS volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// `vol-…`.
    pub id: String,
    /// `available`, `in-use`, …
    pub state: String,
    /// Zone name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Instances it is attached to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_to: Vec<String>,
    /// Its size and type; absent for a volume in use, and in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The service that manages it, when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

impl Inventory {
    /// Reads a recorded inventory from its bytes; `file` is only used in errors.
    ///
    /// # Errors
    /// When the bytes are not JSON, not an inventory, or one of another schema.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        let mut inventory: Self = read_inventory(file, bytes, |inventory: &Self| &inventory.schema)?;
        inventory.canonicalise();
        inventory.note_unlisted();
        Ok(inventory)
    }

    /// Serialises the recorded form.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        to_json(self)
    }

    /// Sets the time at which reading ended.
    pub fn set_collected_until(&mut self, now: jiff::Timestamp) {
        self.collected_until = self.collected_at.as_ref().map(|_| format!("{now:.0}"));
    }

    /// Drops all regions but these.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn retain_regions(&mut self, wanted: &[String]) -> Result<(), MissingRegion> {
        let held = |name: &String| {
            self.accounts.iter().flat_map(|account| &account.regions).any(|region| region.name == *name)
        };
        if let Some(missing) = wanted.iter().find(|name| !held(name)) {
            return Err(MissingRegion(missing.clone()));
        }
        for account in &mut self.accounts {
            account.regions.retain(|region| wanted.contains(&region.name));
        }
        self.gaps.retain(|gap| gap.region.as_ref().is_none_or(|region| wanted.contains(region)));
        Ok(())
    }

    /// True if every region was denied so completely that nothing is known.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        !self.gaps.is_empty()
            && self.accounts.iter().flat_map(|account| &account.regions).all(|region| {
                region.instances.is_empty()
                    && region.subnets.is_empty()
                    && region.vpcs.is_empty()
                    && region.security_groups.is_empty()
            })
    }

    /// Creates an empty inventory.
    #[must_use]
    pub fn new(provider: Provider, collected_at: Option<String>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            provider,
            collected_at,
            collected_until: None,
            accounts: Vec::new(),
            gaps: Vec::new(),
            kubernetes: None,
            profile: None,
        }
    }

    /// Sorts everything and drops duplicate entries: providers answer in any order, reports must not.
    pub fn canonicalise(&mut self) {
        self.accounts.sort_by(|a, b| a.account_id.cmp(&b.account_id));
        for account in &mut self.accounts {
            account.regions.sort_by(|a, b| a.name.cmp(&b.name));
            account.instance_profiles.sort_by(|a, b| a.arn.cmp(&b.arn));
            account.instance_profiles.dedup_by(|a, b| a.arn == b.arn);
            account.roles.sort_by(|a, b| a.arn.cmp(&b.arn));
            account.roles.dedup_by(|a, b| a.arn == b.arn);
            account.managed_policies.sort_by(|a, b| a.arn.cmp(&b.arn));
            account.managed_policies.dedup_by(|a, b| a.arn == b.arn);
            for profile in &mut account.instance_profiles {
                profile.roles.sort();
                profile.roles.dedup();
            }
            for role in &mut account.roles {
                if let Some(policies) = &mut role.inline_policies {
                    policies.sort_by(|a, b| a.name.cmp(&b.name));
                    policies.dedup_by(|a, b| a.name == b.name);
                }
                if let Some(policies) = &mut role.attached_policies {
                    policies.sort();
                    policies.dedup();
                }
                if let Some(tags) = &mut role.tags {
                    tags.sort();
                }
            }
            for region in &mut account.regions {
                region.canonicalise();
            }
        }
        self.gaps.sort();
        self.gaps.dedup();
    }
}

impl Region {
    /// Creates a region in which nothing was read yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn canonicalise(&mut self) {
        /// Sorts by id, keeps the first of equal entries, and sorts the tags of each.
        macro_rules! order {
            ($($list:ident),*) => {$(
                self.$list.sort_by(|a, b| a.id.cmp(&b.id));
                self.$list.dedup_by(|a, b| a.id == b.id);
                for resource in &mut self.$list { resource.tags.sort(); }
            )*};
        }
        order!(instances, subnets, vpcs, security_groups, route_tables, network_interfaces, volumes);
        self.dhcp_options.sort_by(|a, b| a.id.cmp(&b.id));
        self.dhcp_options.dedup_by(|a, b| a.id == b.id);
        self.instance_profile_associations.sort_by(|a, b| a.id.cmp(&b.id));
        self.instance_profile_associations.dedup_by(|a, b| a.id == b.id);
        self.availability_zones.sort_by(|a, b| a.name.cmp(&b.name));
        self.availability_zones.dedup_by(|a, b| a.name == b.name);
        if let Some(groups) = &mut self.auto_scaling_groups {
            groups.sort_by(|a, b| a.name.cmp(&b.name));
            groups.dedup_by(|a, b| a.name == b.name);
            for group in groups {
                group.instances.sort();
                group.tags.sort();
                group.hooks.iter_mut().for_each(|hooks| hooks.sort());
                if let Some(launch) = &mut group.launch {
                    let LaunchSettings { propagated, subnets, zones, target_groups, load_balancers, suspended, .. } =
                        launch;
                    for list in [propagated, subnets, zones, target_groups, load_balancers, suspended] {
                        list.sort();
                        list.dedup();
                    }
                }
            }
        }
        if let Some(templates) = &mut self.launch_templates {
            canonicalise_templates(templates);
        }
        if let Some(balancing) = &mut self.load_balancing {
            balancing.canonicalise();
        }
        if let Some(addresses) = &mut self.elastic_ips {
            addresses.sort();
            addresses.dedup_by(|a, b| a.id == b.id);
        }
        self.pod_identities.values_mut().for_each(|all| all.sort());
        self.gone.sort();
        self.gone.dedup();
        for instance in &mut self.instances {
            instance.network_interfaces.sort_by(|a, b| (a.device_index, &a.id).cmp(&(b.device_index, &b.id)));
        }
        for group in &mut self.security_groups {
            group.ingress.sort();
            for permission in &mut group.ingress {
                permission.ranges.sort();
                permission.groups.sort();
            }
        }
        for table in &mut self.route_tables {
            table.subnet_ids.sort();
            table.routes.sort();
        }
        for interface in &mut self.network_interfaces {
            interface.security_groups.sort();
        }
        for volume in &mut self.volumes {
            volume.attached_to.sort();
        }
    }
}

fn canonicalise_templates(templates: &mut Vec<LaunchTemplate>) {
    templates.sort_by(|a, b| a.id.cmp(&b.id));
    templates.dedup_by(|a, b| a.id == b.id);
    for template in templates {
        template.versions.sort_by_key(|version| version.number);
        template.versions.dedup_by_key(|version| version.number);
        if let Some(tags) = &mut template.tags {
            tags.sort();
        }
        for version in &mut template.versions {
            version.instance_tags.sort();
            if let Some(NotInherited { other_tags, .. }) = &mut version.not_inherited {
                for one in other_tags.iter_mut() {
                    one.tags.sort();
                }
                other_tags.sort();
            }
            if let Some(groups) = &mut version.security_groups {
                groups.sort();
            }
        }
    }
}
