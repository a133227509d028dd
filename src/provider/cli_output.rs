//! A folder of plain AWS CLI outputs, each named after its command (`describe-instances.json`, …), so that an account
//! can be audited by someone without access to it. A missing file is a gap.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::aws::{Account, Inventory, Region, linked_services};
use crate::inventory::{Gap, Provider, REASON_CONTRADICTED, REASON_NOT_PROVIDED, Read as Call};
use crate::json_input::{self, JsonError};
use crate::nodes::region_from_zone;
use crate::text::encoding::in_utf8;

mod convert;
mod load_balancing;
mod pod_identities;
mod scaling;
mod shapes;

use shapes::{
    AuthorizationDetails, CallerIdentity, DhcpOptionSets, Instances, NetworkInterfaces, OidcProviders, Pages,
    ProfileAssociations, RawInstance, RawVpcAttribute, RouteTables, SecurityGroups, Subnets, Volumes, Vpcs, Zones,
};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Known files, each with the API call whose output it holds.
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

/// Output of `aws iam list-open-id-connect-providers`, which a folder may omit.
const OIDC_PROVIDERS: &str = "list-open-id-connect-providers.json";

/// Error that makes a folder unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    /// A file cannot be read.
    #[error("cannot read `{file}`")]
    Read {
        file: String,
        /// Cause.
        source: std::io::Error,
    },
    /// A file is larger than any answer could be.
    #[error("`{file}` is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge { file: String },
    /// The content of a file does not match its name.
    #[error("`{file}` is not the output of its AWS CLI command: {error}")]
    Malformed {
        file: String,
        /// Error and its position.
        error: JsonError,
    },
    /// No file identifies the account.
    #[error(
        "`{folder}` holds no `get-caller-identity.json`, and nothing else in it names one account (the `OwnerId` of \
         reservations, interfaces, groups or VPCs)"
    )]
    NoAccount { folder: String },
    /// No file identifies the region.
    #[error("nothing in `{folder}` identifies the region it was read from")]
    NoRegion { folder: String },
}

/// Reads a folder. `region` is the operator's choice, for folders that do not identify their region.
///
/// # Errors
/// If the content of a file does not match its name, or nothing identifies account and region.
pub(crate) fn read(folder: &Path, region: Option<&str>) -> Result<Inventory, FolderError> {
    let mut files = Files { folder, gaps: Vec::new() };
    let mut answers = Answers::read(&mut files)?;
    let shown = || folder.display().to_string();
    let region_name = region
        .map(str::to_owned)
        .or_else(|| answers.region())
        .ok_or_else(|| FolderError::NoRegion { folder: shown() })?;
    let mut account = answers.account(&region_name).ok_or_else(|| FolderError::NoAccount { folder: shown() })?;
    let details = answers.details.take();
    let mut target = answers.into_region(&region_name, &mut files);
    scaling::read(&mut files, &mut target)?;
    load_balancing::read(&mut files, &mut target)?;
    pod_identities::read(&mut files, &mut target)?;
    if let Some(details) = details {
        let token = details.next_token.clone().or_else(|| details.is_truncated.then(String::new));
        let read = Call::GetAccountAuthorizationDetails;
        files.cut(read, file_name(read), token.as_ref());
        let has_profiles = target.instances.iter().any(|instance| instance.instance_profile_arn.is_some());
        // `--filter User` omits the roles, and a profile that no role lists would look empty.
        let is_filtered = details.role_detail_list.is_empty() && has_profiles;
        if is_filtered {
            files.gap(
                Call::GetAccountAuthorizationDetails,
                REASON_CONTRADICTED,
                "the list of roles is empty and instances have instance profiles: it was filtered, or belongs to another account"
                    .to_owned(),
            );
        }
        account.has_all_roles = token.is_none() && !is_filtered;
        let has_all_roles = account.has_all_roles;
        let linked = linked_services(details.role_detail_list.iter().map(|role| role.path.as_str()));
        account.linked_services = has_all_roles.then_some(linked);
        convert::roles(details, &target, &mut account, has_all_roles);
    }
    let providers: Option<OidcProviders> = files.optional(OIDC_PROVIDERS)?;
    account.oidc_providers = providers.map(OidcProviders::arns);
    let mut inventory = Inventory::new(Provider::Aws, None);
    inventory.gaps = files.gaps;
    for gap in &mut inventory.gaps {
        gap.account_id = Some(account.account_id.clone());
        if !gap.read.is_iam() {
            gap.region = Some(region_name.clone());
        }
    }
    account.regions.push(target);
    inventory.accounts.push(account);
    inventory.canonicalise();
    inventory.note_unlisted();
    Ok(inventory)
}

/// Contents of the files; `None` for a missing one.
struct Answers {
    identity: Option<CallerIdentity>,
    instances: Option<Instances>,
    subnets: Option<Subnets>,
    vpcs: Option<Vpcs>,
    /// `aws ec2 describe-vpc-attribute` returns one attribute of one VPC: the file holds a list of its outputs.
    vpc_attributes: Option<Vec<RawVpcAttribute>>,
    security_groups: Option<SecurityGroups>,
    route_tables: Option<RouteTables>,
    dhcp_options: Option<DhcpOptionSets>,
    network_interfaces: Option<NetworkInterfaces>,
    volumes: Option<Volumes>,
    associations: Option<ProfileAssociations>,
    zones: Option<Zones>,
    details: Option<AuthorizationDetails>,
}

impl Answers {
    fn read(files: &mut Files<'_>) -> Result<Self, FolderError> {
        Ok(Self {
            identity: files.answer(Call::GetCallerIdentity)?,
            instances: files.answer(Call::DescribeInstances)?,
            subnets: files.answer(Call::DescribeSubnets)?,
            vpcs: files.answer(Call::DescribeVpcs)?,
            vpc_attributes: files.answer(Call::DescribeVpcAttribute)?,
            security_groups: files.answer(Call::DescribeSecurityGroups)?,
            route_tables: files.answer(Call::DescribeRouteTables)?,
            dhcp_options: files.answer(Call::DescribeDhcpOptions)?,
            network_interfaces: files.answer(Call::DescribeNetworkInterfaces)?,
            volumes: files.answer(Call::DescribeVolumes)?,
            associations: files.answer(Call::DescribeInstanceProfileAssociations)?,
            zones: files.answer(Call::DescribeAvailabilityZones)?,
            details: files.answer(Call::GetAccountAuthorizationDetails)?,
        })
    }

    /// Region of the availability zones, or of the zone of a subnet.
    fn region(&self) -> Option<String> {
        let mut zones = self.zones.iter().flat_map(|file| &file.availability_zones);
        let subnet = || self.subnets.as_ref()?.subnets.first();
        zones
            .find_map(|zone| zone.region_name.clone())
            .or_else(|| subnet().and_then(|subnet| region_from_zone(&subnet.availability_zone).map(str::to_owned)))
    }

    /// Account of the caller, of a role, or of the owners of what is listed; without regions and roles.
    fn account(&self, region_name: &str) -> Option<Account> {
        let role = self.details.as_ref().and_then(|details| details.role_detail_list.first());
        let role_arn = role.map(|role| role.arn.clone());
        // Instances and interfaces of others are never listed; groups, subnets and VPCs may be shared by their owners.
        let own = self.instances.iter().flat_map(|file| &file.reservations).map(|reservation| &reservation.owner_id);
        let own = own
            .chain(self.network_interfaces.iter().flat_map(|file| &file.network_interfaces).map(|raw| &raw.owner_id));
        let shareable = self.security_groups.iter().flat_map(|file| &file.security_groups).map(|raw| &raw.owner_id);
        let shareable = shareable.chain(self.vpcs.iter().flat_map(|file| &file.vpcs).map(|raw| &raw.owner_id));
        let identity = self.identity.as_ref();
        let account_id = identity
            .map(|identity| identity.account.clone())
            .or_else(|| role_arn.as_deref().and_then(|arn| arn.split(':').nth(4)).map(str::to_owned))
            .or_else(|| only(own))
            .or_else(|| only(shareable))?;
        let caller_arn = identity.map(|identity| identity.arn.clone()).or(role_arn).unwrap_or_default();
        let partition = caller_arn.split(':').nth(1).unwrap_or_else(|| region_partition(region_name)).to_owned();
        Some(Account {
            account_id,
            partition,
            caller_arn,
            regions: Vec::new(),
            instance_profiles: Vec::new(),
            roles: Vec::new(),
            managed_policies: Vec::new(),
            ..Account::default()
        })
    }

    fn into_region(self, name: &str, files: &mut Files<'_>) -> Region {
        let mut region = Region::new(name);
        let reservations = files.entries(self.instances);
        let instances: Vec<RawInstance> = reservations.flat_map(|reservation| reservation.instances).collect();
        let number = instances.len();
        region.instances = instances.into_iter().filter_map(convert::instance).collect();
        if region.instances.len() != number {
            let message = "an instance has a state unknown to this version".to_owned();
            files.gap(Call::DescribeInstances, "Protocol", message);
        }
        region.subnets = files.entries(self.subnets).map(convert::subnet).collect();
        let attributes = self.vpc_attributes.unwrap_or_default();
        region.vpcs = files.entries(self.vpcs).map(|vpc| convert::vpc(vpc, &attributes)).collect();
        record_unread_attributes(&region, files);
        region.security_groups = files.entries(self.security_groups).map(convert::security_group).collect();
        region.route_tables = files.entries(self.route_tables).map(convert::route_table).collect();
        region.dhcp_options = files.entries(self.dhcp_options).map(convert::dhcp_options).collect();
        region.network_interfaces = files.entries(self.network_interfaces).map(convert::network_interface).collect();
        region.volumes = files.entries(self.volumes).map(convert::volume).collect();
        let associations = files.entries(self.associations);
        region.instance_profile_associations = associations.map(convert::instance_profile_association).collect();
        let zones = self.zones.into_iter().flat_map(|file| file.availability_zones);
        region.availability_zones = zones.map(convert::availability_zone).collect();
        region
    }
}

/// Records a gap for each VPC of instances that the file of VPC attributes omits; a missing file is a gap already.
fn record_unread_attributes(region: &Region, files: &mut Files<'_>) {
    if files.gaps.iter().any(|gap| gap.read == Call::DescribeVpcAttribute) {
        return;
    }
    let lived_in: BTreeSet<&str> = region.instances.iter().filter_map(|instance| instance.vpc_id.as_deref()).collect();
    let unread =
        region.vpcs.iter().filter(|vpc| vpc.enable_dns_support.is_none() || vpc.enable_dns_hostnames.is_none());
    for vpc in unread.filter(|vpc| lived_in.contains(vpc.id.as_str())) {
        let message = format!("`describe-vpc-attributes.json` does not hold both DNS attributes of {}", vpc.id);
        files.gap(Call::DescribeVpcAttribute, REASON_NOT_PROVIDED, message);
        if let Some(gap) = files.gaps.last_mut() {
            gap.resource = Some(vpc.id.clone());
        }
    }
}

/// The only value, if all that have one agree on it.
fn only<'a>(owners: impl Iterator<Item = &'a Option<String>>) -> Option<String> {
    let owners: BTreeSet<&String> = owners.flatten().collect();
    match owners.first() {
        Some(owner) if owners.len() == 1 => Some((*owner).clone()),
        _ => None,
    }
}

/// Partition of a region.
/// Source: AWS General Reference, "Amazon Resource Names": the regions of each partition share a prefix.
fn region_partition(region: &str) -> &'static str {
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

/// File that holds the answer of a call.
fn file_name(read: Call) -> &'static str {
    FILES.iter().find(|(_, held)| *held == read).map_or("", |(file, _)| file)
}

struct Files<'a> {
    folder: &'a Path,
    gaps: Vec<Gap>,
}

impl Files<'_> {
    /// Parsed file; a gap if it is missing.
    fn answer<T: DeserializeOwned>(&mut self, read: Call) -> Result<Option<T>, FolderError> {
        let name = file_name(read);
        let found = self.optional(name)?;
        if found.is_none() {
            self.gap(read, REASON_NOT_PROVIDED, format!("the folder holds no `{name}`"));
        }
        Ok(found)
    }

    /// Content of a file that a folder may omit.
    fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FolderError> {
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
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FolderError::Read { file, source }),
        };
        // Otherwise only the first of several pages appended to one file would be read.
        json_input::parse_complete(&in_utf8(&bytes)).map(Some).map_err(|error| FolderError::Malformed { file, error })
    }

    /// Names of the subjects of the files in a folder that may be missing, sorted.
    fn subjects(&self, folder: &str) -> Result<Vec<String>, FolderError> {
        let path = self.folder.join(folder);
        let failed = |source| FolderError::Read { file: path.display().to_string(), source };
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            names.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Entries of a list; a gap if it was truncated.
    fn entries<P: Pages>(&mut self, answer: Option<P>) -> impl Iterator<Item = P::Item> + use<P> {
        let (entries, token) = answer.map(Pages::into_parts).unwrap_or_default();
        self.cut(P::READ, file_name(P::READ), token.as_ref());
        entries.into_iter()
    }

    /// Records a gap if the output ends with a token, which the AWS CLI writes only when it has to stop early.
    fn cut(&mut self, read: Call, name: &str, token: Option<&String>) {
        if token.is_some() {
            self.gap(
                read,
                "Pagination",
                format!("`{name}` ends with a token: it was written with --max-items and is incomplete"),
            );
        }
    }

    fn gap(&mut self, read: Call, reason: &str, message: String) {
        self.gaps.push(Gap {
            read,
            account_id: None,
            region: None,
            resource: None,
            policy: None,
            reason: reason.to_owned(),
            message,
        });
    }
}
