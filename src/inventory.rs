//! The one data type between collecting and checking: what was read, verbatim, and what could not be read.
//!
//! An empty list says "read, and there is none"; what was not read is a [`Gap`]. Nothing in here is derived: policy
//! documents are kept as text, tags as they are, so that every run can be replayed and every rule tested on a literal.

use serde::{Deserialize, Serialize};

mod file;
mod lookup;
mod read;

pub use file::{InventoryError, MAX_INVENTORY_BYTES, write_private};
pub use lookup::Tagged;
pub use read::Read;

/// The schema this version writes; the number grows when a field changes its meaning.
pub const SCHEMA: &str = "tagaudit.inventory/1";

/// The cloud an inventory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Amazon Web Services, in any partition.
    Aws,
    /// Alibaba Cloud.
    Alibaba,
}

impl Provider {
    /// The name used on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Alibaba => "alibaba",
        }
    }
}

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
    /// When reading began, RFC 3339 in UTC; absent when the evidence does not say (a folder of CLI outputs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// One entry per account, sorted by account id.
    pub accounts: Vec<Account>,
    /// Every read that failed or could not be trusted.
    pub gaps: Vec<Gap>,
}

/// One account: its identity, its IAM side (global) and its regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The twelve-digit account id.
    pub account_id: String,
    /// `aws`, `aws-cn`, `aws-us-gov`, `aws-eusc`, …; from the caller's ARN, never assumed.
    pub partition: String,
    /// ARN of the caller that read the account.
    pub caller_arn: String,
    /// Regions that were asked for.
    pub regions: Vec<Region>,
    /// Instance profiles that were looked up.
    pub instance_profiles: Vec<InstanceProfile>,
    /// Roles of those profiles.
    pub roles: Vec<Role>,
    /// Managed policies attached to those roles or used as their boundary.
    pub managed_policies: Vec<ManagedPolicy>,
}

/// The EC2 side of one region.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Region name, such as `us-east-1`.
    pub name: String,
    /// Instances in every state that EC2 still shows.
    pub instances: Vec<Instance>,
    /// Subnets.
    pub subnets: Vec<Subnet>,
    /// VPCs.
    pub vpcs: Vec<Vpc>,
    /// Security groups.
    pub security_groups: Vec<SecurityGroup>,
    /// Route tables.
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
}

/// A resource tag, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    /// Tag key, case-sensitive.
    pub key: String,
    /// Tag value, case-sensitive, possibly empty.
    pub value: String,
}

/// Life cycle state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Running.
    Running,
    /// On its way out.
    ShuttingDown,
    /// Gone; EC2 still shows it for about an hour.
    Terminated,
    /// Stopping.
    Stopping,
    /// Stopped.
    Stopped,
}

impl InstanceState {
    /// Whether the instance still exists for the audit: everything but `shutting-down` and `terminated`.
    #[must_use]
    pub fn is_live(self) -> bool {
        !matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// An EC2 instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `i-…`.
    pub id: String,
    /// Life cycle state.
    pub state: InstanceState,
    /// VPC, absent for instances that are going away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Subnet of the primary network interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Zone name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// What the cloud controller matches an IP-style node name with; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_dns_name: Option<String>,
    /// Primary private IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip_address: Option<String>,
    /// When it was launched last, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_time: Option<String>,
    /// ARN of the instance profile, as the instance shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_profile_arn: Option<String>,
    /// Source/destination check of the primary interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_dest_check: Option<bool>,
    /// Instance metadata service options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_options: Option<MetadataOptions>,
    /// Ids of the groups at instance level, in the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Attached network interfaces as the instance shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_interfaces: Vec<AttachedInterface>,
    /// The service that manages the instance (`operator.principal`), when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// Instance metadata service options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataOptions {
    /// `enabled` or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_endpoint: Option<String>,
    /// `required` (IMDSv2 only) or `optional`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_tokens: Option<String>,
    /// How many hops the token answer may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_put_response_hop_limit: Option<i32>,
    /// `enabled` or `disabled`: whether tags can be read through the metadata service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_metadata_tags: Option<String>,
}

/// A network interface as an instance shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachedInterface {
    /// `eni-…`.
    pub id: String,
    /// Position on the instance; 0 is the primary interface.
    pub device_index: i32,
    /// Its subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Ids of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subnet {
    /// `subnet-…`.
    pub id: String,
    /// VPC.
    pub vpc_id: String,
    /// Zone name.
    pub availability_zone: String,
    /// Account that owns it: another one when the subnet is shared through RAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Free IPv4 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_ip_address_count: Option<i32>,
    /// Outpost it lives on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outpost_arn: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// A VPC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vpc {
    /// `vpc-…`.
    pub id: String,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Its DHCP option set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhcp_options_id: Option<String>,
    /// `enableDnsSupport`; absent when it was not read (a gap says so if it should have been).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_dns_support: Option<bool>,
    /// `enableDnsHostnames`; absent when it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_dns_hostnames: Option<bool>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// A security group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroup {
    /// `sg-…`.
    pub id: String,
    /// Group name.
    pub name: String,
    /// Description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// VPC, absent for EC2-Classic leftovers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Ingress permissions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ingress: Vec<IngressPermission>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// One ingress permission: each source of it is one rule against the quota.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressPermission {
    /// `tcp`, `udp`, `icmp`, `-1`, or a protocol number.
    pub protocol: String,
    /// First port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_port: Option<i32>,
    /// Last port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_port: Option<i32>,
    /// IPv4 ranges, IPv6 ranges and prefix lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RuleSource>,
    /// Groups that may come in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<RuleSource>,
}

/// A source of an ingress permission, with the description of that rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSource {
    /// CIDR, prefix list id or group id.
    pub source: String,
    /// Description of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A route table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// `rtb-…`.
    pub id: String,
    /// VPC.
    pub vpc_id: String,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Whether it is the main table of its VPC.
    pub main: bool,
    /// Subnets associated explicitly; EC2 never lists the implicit ones of a main table.
    pub subnet_ids: Vec<String>,
    /// Routes.
    pub routes: Vec<Route>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination CIDR or prefix list.
    pub destination: String,
    /// Target gateway (`igw-…`, `vgw-…`, `local`), if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_id: Option<String>,
    /// Target instance, if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Target network interface, if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_interface_id: Option<String>,
    /// `active` or `blackhole`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A DHCP option set; only what node names depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DhcpOptions {
    /// `dopt-…`.
    pub id: String,
    /// Values of `domain-name`; empty when the option is not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domain_name: Vec<String>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkInterface {
    /// `eni-…`.
    pub id: String,
    /// `available`, `in-use`, …
    pub status: String,
    /// Description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// VPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Instance it is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Ids of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// The service that manages it, when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// An EBS volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The service that manages it, when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// An association of an instance with an instance profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceProfileAssociation {
    /// `iip-assoc-…`.
    pub id: String,
    /// Instance.
    pub instance_id: String,
    /// ARN of the profile.
    pub instance_profile_arn: String,
    /// `associating`, `associated`, `disassociating` or `disassociated`.
    pub state: String,
}

/// A zone of a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AvailabilityZone {
    /// Zone name, such as `us-east-1a`.
    pub name: String,
    /// `availability-zone`, `local-zone` or `wavelength-zone`.
    pub zone_type: String,
}

/// An instance profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceProfile {
    /// ARN.
    pub arn: String,
    /// Whether IAM still knows it; an instance keeps showing a profile that was deleted.
    pub exists: bool,
    /// Names of its roles; IAM allows one.
    pub roles: Vec<String>,
}

/// A role with everything that decides what it may do. A part that could not be read is absent, and a gap says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Role name.
    pub name: String,
    /// ARN.
    pub arn: String,
    /// `AROA…`: changes when a role is deleted and made again under the same name.
    pub role_id: String,
    /// Path.
    pub path: String,
    /// Trust policy, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_policy: Option<String>,
    /// ARN of the permissions boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions_boundary: Option<String>,
    /// Inline policies; absent when they could not all be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_policies: Option<Vec<InlinePolicy>>,
    /// ARNs of the attached managed policies; absent when they could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_policies: Option<Vec<String>>,
    /// Tags, sorted by key; absent when `GetRole` was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
}

/// An inline policy of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlinePolicy {
    /// Policy name.
    pub name: String,
    /// Document, verbatim; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// A managed policy in its default version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagedPolicy {
    /// ARN.
    pub arn: String,
    /// Id of the default version, such as `v3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Document, verbatim; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// A read that failed or whose answer cannot be trusted. What it would have shown is unknown, never absent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// The read.
    #[serde(rename = "api")]
    pub read: Read,
    /// Account, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// Region, for regional calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// ARN or id of the one resource that was asked for; absent when the whole list is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Name of the one inline policy of that role that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Error code of the API, or a word of ours: `Pagination`, `Protocol`, `Timeout`, `NotProvided`, …
    pub reason: String,
    /// What happened, for a person.
    pub message: String,
}

/// What a read that failed was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapSubject<'a> {
    /// A whole list: nothing is known of what it would hold.
    List,
    /// One resource; the list that names it is whole.
    Resource(&'a str),
    /// One inline policy of one role.
    InlinePolicy {
        /// ARN of the role.
        role: &'a str,
        /// Name of the policy.
        name: &'a str,
    },
}

impl Gap {
    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> GapSubject<'_> {
        match (self.resource.as_deref(), self.policy.as_deref()) {
            (None, _) => GapSubject::List,
            (Some(resource), None) => GapSubject::Resource(resource),
            (Some(role), Some(name)) => GapSubject::InlinePolicy { role, name },
        }
    }

    /// Whether a whole list is unknown.
    #[must_use]
    pub fn is_of_list(&self) -> bool {
        self.subject() == GapSubject::List
    }

    /// Whether it leaves something of an account unknown: one that names no account is of all.
    #[must_use]
    pub fn is_of_account(&self, account_id: &str) -> bool {
        self.account_id.as_deref().is_none_or(|id| id == account_id)
    }
}

/// Reason of a gap for evidence that was never handed over.
pub const REASON_NOT_PROVIDED: &str = "NotProvided";

impl Inventory {
    /// An inventory of nothing, ready to be filled.
    #[must_use]
    pub fn new(provider: Provider, collected_at: Option<String>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            provider,
            collected_at,
            accounts: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Puts everything in a fixed order and drops repeated entries: providers answer in any order, reports may not.
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
    /// A region in which nothing was read yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn canonicalise(&mut self) {
        /// Sorts by id, keeps the first of equals, and sorts the tags of each.
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
