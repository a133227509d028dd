//! A folder of plain AWS CLI outputs, each named after its command (`describe-instances.json`, …), so that an account can
//! be audited by someone who has no access to it. A file that is not there is a gap.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::inventory::{
    Account, AttachedInterface, AvailabilityZone, DhcpOptions, Gap, IngressPermission, InlinePolicy, Instance,
    InstanceProfile, InstanceProfileAssociation, InstanceState, Inventory, ManagedPolicy, MetadataOptions,
    NetworkInterface, Provider, REASON_NOT_PROVIDED, Read as Call, Region, Role, Route, RouteTable, RuleSource,
    SecurityGroup, Subnet, Tag, Volume, Vpc,
};
use crate::json_input::{self, JsonError};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Every file that is understood, with the call it holds the answer of.
pub const FILES: [(&str, Call); 13] = [
    ("get-caller-identity.json", Call::GetCallerIdentity),
    ("describe-instances.json", Call::DescribeInstances),
    ("describe-subnets.json", Call::DescribeSubnets),
    ("describe-vpcs.json", Call::DescribeVpcs),
    ("describe-vpc-attributes.json", Call::DescribeVpcAttribute),
    ("describe-security-groups.json", Call::DescribeSecurityGroups),
    ("describe-route-tables.json", Call::DescribeRouteTables),
    ("describe-dhcp-options.json", Call::DescribeDhcpOptions),
    ("describe-network-interfaces.json", Call::DescribeNetworkInterfaces),
    ("describe-volumes.json", Call::DescribeVolumes),
    ("describe-iam-instance-profile-associations.json", Call::DescribeInstanceProfileAssociations),
    ("describe-availability-zones.json", Call::DescribeAvailabilityZones),
    ("get-account-authorization-details.json", Call::GetAccountAuthorizationDetails),
];

/// Why a folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read.
    #[error("cannot read `{file}`")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file is larger than any answer could be.
    #[error("`{file}` is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// A file is not what its name says.
    #[error("`{file}` is not the output of its AWS CLI command: {error}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong, and where.
        error: JsonError,
    },
    /// Nothing says whose account it is.
    #[error(
        "`{folder}` holds no `get-caller-identity.json`, and nothing else in it names one account (the `OwnerId` of \
         reservations, interfaces, groups or VPCs)"
    )]
    NoAccount {
        /// The folder.
        folder: String,
    },
    /// Nothing says which region it is.
    #[error("nothing in `{folder}` says which region it was read from")]
    NoRegion {
        /// The folder.
        folder: String,
    },
}

macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct $name { $($(#[$attribute])* $field: $type),* }
    )*};
}

shapes! {
    CallerIdentity { account: String, arn: String }
    Instances { reservations: Vec<Reservation>, next_token: Option<String> }
    Reservation { owner_id: Option<String>, instances: Vec<RawInstance> }
    RawInstance {
        instance_id: String,
        state: Named,
        vpc_id: Option<String>,
        subnet_id: Option<String>,
        placement: Option<Placement>,
        private_dns_name: Option<String>,
        private_ip_address: Option<String>,
        launch_time: Option<String>,
        iam_instance_profile: Option<ProfileArn>,
        source_dest_check: Option<bool>,
        metadata_options: Option<RawMetadataOptions>,
        #[serde(default)]
        security_groups: Vec<GroupId>,
        #[serde(default)]
        network_interfaces: Vec<RawAttached>,
        operator: Option<Operator>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    Named { name: String }
    Placement { availability_zone: Option<String> }
    ProfileArn { arn: String }
    RawMetadataOptions {
        http_endpoint: Option<String>,
        http_tokens: Option<String>,
        http_put_response_hop_limit: Option<i32>,
        instance_metadata_tags: Option<String>,
    }
    GroupId { group_id: String }
    RawAttached {
        network_interface_id: String,
        attachment: Option<Attachment>,
        subnet_id: Option<String>,
        #[serde(default)]
        groups: Vec<GroupId>,
    }
    Attachment { device_index: Option<i32>, instance_id: Option<String> }
    Operator { #[serde(default)] managed: bool, principal: Option<String> }
    RawTag { key: String, #[serde(default)] value: String }
    Subnets { subnets: Vec<RawSubnet>, next_token: Option<String> }
    RawSubnet {
        subnet_id: String,
        vpc_id: String,
        availability_zone: String,
        owner_id: Option<String>,
        available_ip_address_count: Option<i32>,
        outpost_arn: Option<String>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    Vpcs { vpcs: Vec<RawVpc>, next_token: Option<String> }
    RawVpc {
        vpc_id: String,
        owner_id: Option<String>,
        dhcp_options_id: Option<String>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawVpcAttribute { vpc_id: String, enable_dns_support: Option<Flag>, enable_dns_hostnames: Option<Flag> }
    Flag { value: bool }
    SecurityGroups { security_groups: Vec<RawGroup>, next_token: Option<String> }
    RawGroup {
        group_id: String,
        group_name: String,
        #[serde(default)]
        description: String,
        vpc_id: Option<String>,
        owner_id: Option<String>,
        #[serde(default)]
        ip_permissions: Vec<RawPermission>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawPermission {
        ip_protocol: String,
        from_port: Option<i32>,
        to_port: Option<i32>,
        #[serde(default)]
        ip_ranges: Vec<Cidr>,
        #[serde(default, rename = "Ipv6Ranges")]
        ipv6_ranges: Vec<CidrV6>,
        #[serde(default)]
        prefix_list_ids: Vec<PrefixList>,
        #[serde(default)]
        user_id_group_pairs: Vec<GroupPair>,
    }
    Cidr { cidr_ip: String, description: Option<String> }
    CidrV6 { #[serde(rename = "CidrIpv6")] cidr_ipv6: String, description: Option<String> }
    PrefixList { prefix_list_id: String, description: Option<String> }
    GroupPair { group_id: String, description: Option<String> }
    RouteTables { route_tables: Vec<RawTable>, next_token: Option<String> }
    RawTable {
        route_table_id: String,
        vpc_id: String,
        owner_id: Option<String>,
        associations: Vec<RawAssociation>,
        routes: Vec<RawRoute>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    RawAssociation { #[serde(default)] main: bool, subnet_id: Option<String>, association_state: Option<StateOf> }
    StateOf { state: Option<String> }
    RawRoute {
        destination_cidr_block: Option<String>,
        #[serde(rename = "DestinationIpv6CidrBlock")]
        destination_ipv6_cidr_block: Option<String>,
        destination_prefix_list_id: Option<String>,
        gateway_id: Option<String>,
        instance_id: Option<String>,
        network_interface_id: Option<String>,
        state: Option<String>,
    }
    DhcpOptionSets { dhcp_options: Vec<RawDhcpOptions>, next_token: Option<String> }
    RawDhcpOptions { dhcp_options_id: String, #[serde(default)] dhcp_configurations: Vec<DhcpConfiguration> }
    DhcpConfiguration { key: String, #[serde(default)] values: Vec<DhcpValue> }
    DhcpValue { value: String }
    NetworkInterfaces { network_interfaces: Vec<RawInterface>, next_token: Option<String> }
    RawInterface {
        network_interface_id: String,
        owner_id: Option<String>,
        status: String,
        #[serde(default)]
        description: String,
        vpc_id: Option<String>,
        subnet_id: Option<String>,
        attachment: Option<Attachment>,
        #[serde(default)]
        groups: Vec<GroupId>,
        operator: Option<Operator>,
        #[serde(default)]
        tag_set: Vec<RawTag>,
    }
    Volumes { volumes: Vec<RawVolume>, next_token: Option<String> }
    RawVolume {
        volume_id: String,
        state: String,
        availability_zone: Option<String>,
        #[serde(default)]
        attachments: Vec<Attachment>,
        operator: Option<Operator>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    ProfileAssociations { iam_instance_profile_associations: Vec<RawProfileAssociation>, next_token: Option<String> }
    RawProfileAssociation { association_id: String, instance_id: String, iam_instance_profile: ProfileArn, state: String }
    Zones { availability_zones: Vec<RawZone> }
    RawZone { zone_name: String, zone_type: Option<String>, region_name: Option<String> }
    AuthorizationDetails { role_detail_list: Vec<RoleDetail>, policies: Vec<PolicyDetail>, #[serde(default)] is_truncated: bool, next_token: Option<String> }
    RoleDetail {
        path: String,
        role_name: String,
        role_id: String,
        arn: String,
        assume_role_policy_document: Option<Box<RawValue>>,
        #[serde(default)]
        instance_profile_list: Vec<ProfileDetail>,
        role_policy_list: Vec<InlineDetail>,
        attached_managed_policies: Vec<AttachedPolicy>,
        permissions_boundary: Option<Boundary>,
        #[serde(default)]
        tags: Vec<RawTag>,
    }
    ProfileDetail { arn: String }
    InlineDetail { policy_name: String, policy_document: Box<RawValue> }
    AttachedPolicy { policy_arn: String }
    Boundary { permissions_boundary_arn: String }
    PolicyDetail { arn: String, default_version_id: Option<String>, policy_version_list: Vec<PolicyVersion> }
    PolicyVersion { version_id: String, #[serde(default)] is_default_version: bool, document: Box<RawValue> }
}

/// Reads a folder. `region` is the operator's word on the region, for folders that do not say it themselves.
///
/// # Errors
/// When a file is not what its name says, or nothing tells account and region.
#[expect(clippy::too_many_lines, reason = "one block for each file, in the order of `FILES`")]
pub fn read(folder: &Path, region: Option<&str>) -> Result<Inventory, FolderError> {
    let mut source = Files { folder, gaps: Vec::new() };
    let identity: Option<CallerIdentity> = source.file("get-caller-identity.json")?;
    let instances: Option<Instances> = source.file("describe-instances.json")?;
    let subnets: Option<Subnets> = source.file("describe-subnets.json")?;
    let vpcs: Option<Vpcs> = source.file("describe-vpcs.json")?;
    // `aws ec2 describe-vpc-attribute` answers one attribute of one VPC: the file holds a list of its outputs.
    let attributes: Option<Vec<RawVpcAttribute>> = source.file("describe-vpc-attributes.json")?;
    let groups: Option<SecurityGroups> = source.file("describe-security-groups.json")?;
    let tables: Option<RouteTables> = source.file("describe-route-tables.json")?;
    let dhcp: Option<DhcpOptionSets> = source.file("describe-dhcp-options.json")?;
    let interfaces: Option<NetworkInterfaces> = source.file("describe-network-interfaces.json")?;
    let volumes: Option<Volumes> = source.file("describe-volumes.json")?;
    let associations: Option<ProfileAssociations> = source.file("describe-iam-instance-profile-associations.json")?;
    let zones: Option<Zones> = source.file("describe-availability-zones.json")?;
    let details: Option<AuthorizationDetails> = source.file("get-account-authorization-details.json")?;

    let shown = folder.display().to_string();
    let role_arn = details.as_ref().and_then(|details| details.role_detail_list.first()).map(|role| role.arn.clone());
    let region_name = region
        .map(str::to_owned)
        .or_else(|| {
            zones.as_ref().and_then(|zones| zones.availability_zones.iter().find_map(|zone| zone.region_name.clone()))
        })
        .or_else(|| {
            subnets
                .as_ref()
                .and_then(|subnets| subnets.subnets.first())
                .and_then(|subnet| region_of_zone(&subnet.availability_zone))
        })
        .ok_or_else(|| FolderError::NoRegion { folder: shown.clone() })?;

    // Instances and interfaces of others are never listed; groups, subnets and VPCs may be shared by their owners.
    let own = instances.iter().flat_map(|file| &file.reservations).map(|reservation| &reservation.owner_id);
    let own = own.chain(interfaces.iter().flat_map(|file| &file.network_interfaces).map(|raw| &raw.owner_id));
    let shareable = groups.iter().flat_map(|file| &file.security_groups).map(|raw| &raw.owner_id);
    let shareable = shareable.chain(vpcs.iter().flat_map(|file| &file.vpcs).map(|raw| &raw.owner_id));
    let account_id = identity
        .as_ref()
        .map(|identity| identity.account.clone())
        .or_else(|| role_arn.as_deref().and_then(|arn| arn.split(':').nth(4)).map(str::to_owned))
        .or_else(|| only(own))
        .or_else(|| only(shareable));
    let Some(account_id) = account_id else { return Err(FolderError::NoAccount { folder: shown }) };
    let arn = identity.as_ref().map(|identity| identity.arn.clone()).or(role_arn).unwrap_or_default();
    let partition = match arn.split(':').nth(1) {
        Some(partition) => partition.to_owned(),
        None => partition_of(&region_name).to_owned(),
    };

    let mut target = Region::new(&region_name);
    if let Some(Instances { reservations, next_token }) = instances {
        source.cut("describe-instances.json", next_token.as_ref());
        let raw: Vec<RawInstance> = reservations.into_iter().flat_map(|reservation| reservation.instances).collect();
        let number = raw.len();
        target.instances = raw.into_iter().filter_map(instance).collect();
        if target.instances.len() != number {
            source.gap(
                "describe-instances.json",
                "Protocol",
                "an instance has a state unknown to this version".to_owned(),
            );
        }
    }
    if let Some(Subnets { subnets, next_token }) = subnets {
        source.cut("describe-subnets.json", next_token.as_ref());
        target.subnets = subnets
            .into_iter()
            .map(|raw| Subnet {
                id: raw.subnet_id,
                vpc_id: raw.vpc_id,
                availability_zone: raw.availability_zone,
                owner_id: raw.owner_id,
                available_ip_address_count: raw.available_ip_address_count,
                outpost_arn: raw.outpost_arn,
                tags: tags(raw.tags),
            })
            .collect();
    }
    if let Some(Vpcs { vpcs, next_token }) = vpcs {
        source.cut("describe-vpcs.json", next_token.as_ref());
        let attributes = attributes.unwrap_or_default();
        let flag = |id: &str, pick: fn(&RawVpcAttribute) -> Option<&Flag>| {
            attributes.iter().filter(|attribute| attribute.vpc_id == id).find_map(pick).map(|flag| flag.value)
        };
        target.vpcs = vpcs
            .into_iter()
            .map(|raw| Vpc {
                enable_dns_support: flag(&raw.vpc_id, |attribute| attribute.enable_dns_support.as_ref()),
                enable_dns_hostnames: flag(&raw.vpc_id, |attribute| attribute.enable_dns_hostnames.as_ref()),
                id: raw.vpc_id,
                owner_id: raw.owner_id,
                dhcp_options_id: raw.dhcp_options_id,
                tags: tags(raw.tags),
            })
            .collect();
    }
    // A file that is not there is a gap already; one that leaves a VPC of instances out is one for that VPC.
    if !source.gaps.iter().any(|gap| gap.read == Call::DescribeVpcAttribute) {
        let unread =
            target.vpcs.iter().filter(|vpc| vpc.enable_dns_support.is_none() || vpc.enable_dns_hostnames.is_none());
        let lived_in: BTreeSet<&str> =
            target.instances.iter().filter_map(|instance| instance.vpc_id.as_deref()).collect();
        let unread: Vec<String> =
            unread.map(|vpc| vpc.id.clone()).filter(|id| lived_in.contains(id.as_str())).collect();
        for id in unread {
            let message = format!("`describe-vpc-attributes.json` does not hold both DNS attributes of {id}");
            source.gap("describe-vpc-attributes.json", REASON_NOT_PROVIDED, message);
            if let Some(gap) = source.gaps.last_mut() {
                gap.resource = Some(id);
            }
        }
    }
    if let Some(SecurityGroups { security_groups, next_token }) = groups {
        source.cut("describe-security-groups.json", next_token.as_ref());
        target.security_groups = security_groups.into_iter().map(security_group).collect();
    }
    if let Some(RouteTables { route_tables, next_token }) = tables {
        source.cut("describe-route-tables.json", next_token.as_ref());
        target.route_tables = route_tables.into_iter().map(route_table).collect();
    }
    if let Some(DhcpOptionSets { dhcp_options, next_token }) = dhcp {
        source.cut("describe-dhcp-options.json", next_token.as_ref());
        target.dhcp_options = dhcp_options
            .into_iter()
            .map(|raw| DhcpOptions {
                id: raw.dhcp_options_id,
                domain_name: raw
                    .dhcp_configurations
                    .into_iter()
                    .filter(|configuration| configuration.key == "domain-name")
                    .flat_map(|configuration| configuration.values.into_iter().map(|value| value.value))
                    .collect(),
            })
            .collect();
    }
    if let Some(NetworkInterfaces { network_interfaces, next_token }) = interfaces {
        source.cut("describe-network-interfaces.json", next_token.as_ref());
        target.network_interfaces = network_interfaces
            .into_iter()
            .map(|raw| NetworkInterface {
                id: raw.network_interface_id,
                status: raw.status,
                description: raw.description,
                vpc_id: raw.vpc_id,
                subnet_id: raw.subnet_id,
                instance_id: raw.attachment.and_then(|attachment| attachment.instance_id),
                security_groups: raw.groups.into_iter().map(|group| group.group_id).collect(),
                managed_by: managed_by(raw.operator),
                tags: tags(raw.tag_set),
            })
            .collect();
    }
    if let Some(Volumes { volumes, next_token }) = volumes {
        source.cut("describe-volumes.json", next_token.as_ref());
        target.volumes = volumes
            .into_iter()
            .map(|raw| Volume {
                id: raw.volume_id,
                state: raw.state,
                availability_zone: raw.availability_zone,
                attached_to: raw.attachments.into_iter().filter_map(|attachment| attachment.instance_id).collect(),
                managed_by: managed_by(raw.operator),
                tags: tags(raw.tags),
            })
            .collect();
    }
    if let Some(ProfileAssociations { iam_instance_profile_associations, next_token }) = associations {
        source.cut("describe-iam-instance-profile-associations.json", next_token.as_ref());
        target.instance_profile_associations = iam_instance_profile_associations
            .into_iter()
            .map(|raw| InstanceProfileAssociation {
                id: raw.association_id,
                instance_id: raw.instance_id,
                instance_profile_arn: raw.iam_instance_profile.arn,
                state: raw.state,
            })
            .collect();
    }
    if let Some(Zones { availability_zones }) = zones {
        target.availability_zones = availability_zones
            .into_iter()
            // Older outputs, the example of the AWS CLI among them, do not tell: there were no other zones then.
            .map(|raw| AvailabilityZone {
                name: raw.zone_name,
                zone_type: raw.zone_type.unwrap_or_else(|| "availability-zone".to_owned()),
            })
            .collect();
    }
    let mut account = Account {
        account_id,
        partition,
        caller_arn: arn,
        regions: Vec::new(),
        instance_profiles: Vec::new(),
        roles: Vec::new(),
        managed_policies: Vec::new(),
    };
    if let Some(details) = details {
        let truncated = details.next_token.clone().or_else(|| details.is_truncated.then(String::new));
        source.cut("get-account-authorization-details.json", truncated.as_ref());
        let complete = truncated.is_none();
        roles(details, &target, &mut account, complete);
    }
    let mut inventory = Inventory::new(Provider::Aws, None);
    inventory.gaps = std::mem::take(&mut source.gaps);
    for gap in &mut inventory.gaps {
        gap.account_id = Some(account.account_id.clone());
        if !gap.read.is_iam() {
            gap.region = Some(region_name.clone());
        }
    }
    account.regions.push(target);
    inventory.accounts.push(account);
    inventory.canonicalise();
    Ok(inventory)
}

/// `us-east-1` of `us-east-1a`; local zones carry their region in front as well.
/// The one value that all that have one agree on.
fn only<'a>(owners: impl Iterator<Item = &'a Option<String>>) -> Option<String> {
    let owners: BTreeSet<&String> = owners.flatten().collect();
    match owners.first() {
        Some(owner) if owners.len() == 1 => Some((*owner).clone()),
        _ => None,
    }
}

/// The partition of a region.
/// Source: AWS General Reference, "Amazon Resource Names": each partition has regions of a prefix of its own.
fn partition_of(region: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 7] = [
        ("cn-", "aws-cn"),
        ("eusc-", "aws-eusc"),
        ("us-gov-", "aws-us-gov"),
        ("us-iso-", "aws-iso"),
        ("us-isob-", "aws-iso-b"),
        ("us-isof-", "aws-iso-f"),
        ("eu-isoe-", "aws-iso-e"),
    ];
    PREFIXES.iter().find(|(prefix, _)| region.starts_with(prefix)).map_or("aws", |(_, partition)| partition)
}

fn region_of_zone(zone: &str) -> Option<String> {
    let mut parts = zone.split('-');
    let (area, direction, number) = (parts.next()?, parts.next()?, parts.next()?);
    // `us-gov-west-1a` has four parts.
    let region = if number.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{area}-{direction}-{number}")
    } else {
        format!("{area}-{direction}-{number}-{}", parts.next()?)
    };
    Some(region.trim_end_matches(|c: char| c.is_ascii_lowercase()).to_owned())
}

struct Files<'a> {
    folder: &'a Path,
    gaps: Vec<Gap>,
}

impl Files<'_> {
    /// The parsed file; a gap when it is not there.
    fn file<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, FolderError> {
        let path = self.folder.join(name);
        let file = path.display().to_string();
        let bytes = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => return Err(FolderError::TooLarge { file }),
            Ok(_) => {
                let mut bytes = Vec::new();
                let read =
                    std::fs::File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
                read.map_err(|source| FolderError::Read { file: file.clone(), source })?;
                if bytes.len() as u64 > MAX_FILE_BYTES {
                    return Err(FolderError::TooLarge { file });
                }
                bytes
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.gap(name, REASON_NOT_PROVIDED, format!("the folder holds no `{name}`"));
                return Ok(None);
            }
            Err(source) => return Err(FolderError::Read { file, source }),
        };
        // Several pages appended to one file would otherwise be read as the first of them.
        json_input::whole(&bytes).map(Some).map_err(|error| FolderError::Malformed { file, error })
    }

    /// The AWS CLI writes a token only when it was told to stop early.
    fn cut(&mut self, name: &str, token: Option<&String>) {
        if token.is_some() {
            self.gap(
                name,
                "Pagination",
                format!("`{name}` ends with a token: it was written with --max-items and is not the whole answer"),
            );
        }
    }

    fn gap(&mut self, name: &str, reason: &str, message: String) {
        let Some((_, read)) = FILES.iter().find(|(file, _)| *file == name) else { return };
        self.gaps.push(Gap {
            read: *read,
            account_id: None,
            region: None,
            resource: None,
            policy: None,
            reason: reason.to_owned(),
            message,
        });
    }
}

fn tags(raw: Vec<RawTag>) -> Vec<Tag> {
    raw.into_iter().map(|tag| Tag { key: tag.key, value: tag.value }).collect()
}

fn managed_by(operator: Option<Operator>) -> Option<String> {
    operator
        .filter(|operator| operator.managed)
        .map(|operator| operator.principal.unwrap_or_else(|| "unknown".to_owned()))
}

fn instance(raw: RawInstance) -> Option<Instance> {
    // A state that did not exist when this was written says nothing; such an instance is left out.
    let state = match raw.state.name.as_str() {
        "pending" => InstanceState::Pending,
        "running" => InstanceState::Running,
        "shutting-down" => InstanceState::ShuttingDown,
        "terminated" => InstanceState::Terminated,
        "stopping" => InstanceState::Stopping,
        "stopped" => InstanceState::Stopped,
        _ => return None,
    };
    Some(Instance {
        id: raw.instance_id,
        state,
        vpc_id: raw.vpc_id,
        subnet_id: raw.subnet_id,
        availability_zone: raw.placement.and_then(|placement| placement.availability_zone),
        private_dns_name: raw.private_dns_name,
        private_ip_address: raw.private_ip_address,
        // The CLI prints the offset form; the inventory keeps one spelling.
        launch_time: raw.launch_time.map(|at| at.parse::<jiff::Timestamp>().map_or(at, |parsed| parsed.to_string())),
        instance_profile_arn: raw.iam_instance_profile.map(|profile| profile.arn),
        source_dest_check: raw.source_dest_check,
        metadata_options: raw.metadata_options.map(|options| MetadataOptions {
            http_endpoint: options.http_endpoint,
            http_tokens: options.http_tokens,
            http_put_response_hop_limit: options.http_put_response_hop_limit,
            instance_metadata_tags: options.instance_metadata_tags,
        }),
        security_groups: raw.security_groups.into_iter().map(|group| group.group_id).collect(),
        network_interfaces: raw
            .network_interfaces
            .into_iter()
            .map(|interface| AttachedInterface {
                id: interface.network_interface_id,
                device_index: interface.attachment.and_then(|attachment| attachment.device_index).unwrap_or_default(),
                subnet_id: interface.subnet_id,
                security_groups: interface.groups.into_iter().map(|group| group.group_id).collect(),
            })
            .collect(),
        managed_by: managed_by(raw.operator),
        tags: tags(raw.tags),
    })
}

fn security_group(raw: RawGroup) -> SecurityGroup {
    let permission = |raw: RawPermission| IngressPermission {
        protocol: raw.ip_protocol,
        from_port: raw.from_port,
        to_port: raw.to_port,
        ranges: raw
            .ip_ranges
            .into_iter()
            .map(|range| RuleSource { source: range.cidr_ip, description: range.description })
            .chain(
                raw.ipv6_ranges
                    .into_iter()
                    .map(|range| RuleSource { source: range.cidr_ipv6, description: range.description }),
            )
            .chain(
                raw.prefix_list_ids
                    .into_iter()
                    .map(|list| RuleSource { source: list.prefix_list_id, description: list.description }),
            )
            .collect(),
        groups: raw
            .user_id_group_pairs
            .into_iter()
            .map(|pair| RuleSource { source: pair.group_id, description: pair.description })
            .collect(),
    };
    SecurityGroup {
        id: raw.group_id,
        name: raw.group_name,
        description: raw.description,
        vpc_id: raw.vpc_id,
        owner_id: raw.owner_id,
        ingress: raw.ip_permissions.into_iter().map(permission).collect(),
        tags: tags(raw.tags),
    }
}

fn route_table(raw: RawTable) -> RouteTable {
    let stands = |association: &&RawAssociation| {
        let state = association.association_state.as_ref().and_then(|state| state.state.as_deref());
        matches!(state, None | Some("associated" | "associating"))
    };
    RouteTable {
        id: raw.route_table_id,
        vpc_id: raw.vpc_id,
        owner_id: raw.owner_id,
        main: raw.associations.iter().filter(stands).any(|association| association.main),
        subnet_ids: raw
            .associations
            .iter()
            .filter(stands)
            .filter_map(|association| association.subnet_id.clone())
            .collect(),
        routes: raw
            .routes
            .into_iter()
            .map(|route| Route {
                destination: route
                    .destination_cidr_block
                    .or(route.destination_ipv6_cidr_block)
                    .or(route.destination_prefix_list_id)
                    .unwrap_or_default(),
                gateway_id: route.gateway_id,
                instance_id: route.instance_id,
                network_interface_id: route.network_interface_id,
                state: route.state,
            })
            .collect(),
        tags: tags(raw.tags),
    }
}

/// The roles, profiles and policies of the profiles that instances use: the rest of the account is nobody's business here.
fn roles(details: AuthorizationDetails, region: &Region, account: &mut Account, complete: bool) {
    let used: BTreeSet<&str> =
        region.instances.iter().filter_map(|instance| instance.instance_profile_arn.as_deref()).collect();
    let mut wanted_policies: BTreeSet<String> = BTreeSet::new();
    let mut found: BTreeSet<String> = BTreeSet::new();
    for role in details.role_detail_list {
        let profiles: Vec<String> = role
            .instance_profile_list
            .into_iter()
            .map(|profile| profile.arn)
            .filter(|arn| used.contains(arn.as_str()))
            .collect();
        if profiles.is_empty() {
            continue;
        }
        for arn in profiles {
            found.insert(arn.clone());
            account.instance_profiles.push(InstanceProfile { arn, exists: true, roles: vec![role.role_name.clone()] });
        }
        wanted_policies.extend(role.attached_managed_policies.iter().map(|policy| policy.policy_arn.clone()));
        let boundary = role.permissions_boundary.map(|boundary| boundary.permissions_boundary_arn);
        wanted_policies.extend(boundary.clone());
        account.roles.push(Role {
            name: role.role_name,
            arn: role.arn,
            role_id: role.role_id,
            path: role.path,
            trust_policy: role.assume_role_policy_document.map(|document| document_text(&document)),
            permissions_boundary: boundary,
            inline_policies: Some(
                role.role_policy_list
                    .into_iter()
                    .map(|policy| InlinePolicy {
                        name: policy.policy_name,
                        document: Some(document_text(&policy.policy_document)),
                    })
                    .collect(),
            ),
            attached_policies: Some(
                role.attached_managed_policies.into_iter().map(|policy| policy.policy_arn).collect(),
            ),
            tags: Some(tags(role.tags)),
        });
    }
    for policy in details.policies.into_iter().filter(|policy| wanted_policies.contains(&policy.arn)) {
        let default = policy.policy_version_list.into_iter().find(|version| {
            version.is_default_version || Some(&version.version_id) == policy.default_version_id.as_ref()
        });
        account.managed_policies.push(ManagedPolicy {
            arn: policy.arn,
            version_id: default.as_ref().map(|version| version.version_id.clone()).or(policy.default_version_id),
            document: default.map(|version| document_text(&version.document)),
        });
    }
    // GAAD lists profiles under their roles only: one that an instance shows and no role has holds no role, or is gone.
    // Which of the two it does not say; both leave the instance without credentials.
    if complete {
        let orphaned = used.iter().filter(|arn| !found.contains(**arn));
        account.instance_profiles.extend(orphaned.map(|arn| InstanceProfile {
            arn: (*arn).to_owned(),
            exists: true,
            roles: Vec::new(),
        }));
    }
}

/// The CLI prints documents as JSON values, decoded; with `--output json` of other tools they may still be an encoded
/// string, which is taken as the text.
fn document_text(raw: &RawValue) -> String {
    let text = raw.get();
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_told_from_zones() {
        for (zone, region) in [
            ("us-east-1a", "us-east-1"),
            ("us-gov-west-1b", "us-gov-west-1"),
            ("us-east-1-bos-1a", "us-east-1"),
            ("cn-north-1a", "cn-north-1"),
        ] {
            assert_eq!(region_of_zone(zone).as_deref(), Some(region), "{zone}");
        }
    }
}
