//! A folder of plain outputs of the `aliyun` command line, each named after its product and action
//! (`ecs-DescribeInstances.json`, `ram-ListPoliciesForRole-NAME.json`, …), so that an account can be audited by someone
//! without access to it. A missing file is a gap. Several pages may follow one another in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::alibaba::{Account, Attachment, Inventory, LoadBalancerZones, Principal, PrincipalKind, Region};
use crate::inventory::{Gap, REASON_NOT_PROVIDED, Read};
use crate::json_input::{self, JsonError};
use crate::text;
use crate::text::encoding::in_utf8;

use super::answers::{
    self, ApplicationLoadBalancers, AttachmentAnswer, CallerIdentity, ClassicOffers, Disks, ElasticIps, GroupList,
    InstanceRoles, Instances, LoadBalancers, NetworkInterfaces, NetworkLoadBalancers, Page, PolicyAnswer, PolicyList,
    Refusal, RoleAnswer, RouteTables, SecurityGroupAnswer, SecurityGroupRules, VSwitches, Vpcs, ZoneList,
};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Known files, each with the API call whose output it holds. Those of RAM end with the name of the principal or
/// policy, `ram-GetRole-NAME.json`, and those of the rules of a security group with its id.
pub const FILES: [(&str, Read); 24] = [
    ("sts-GetCallerIdentity", Read::GetCallerIdentity),
    ("ecs-DescribeInstances", Read::EcsDescribeInstances),
    ("ecs-DescribeInstanceRamRole", Read::DescribeInstanceRamRole),
    ("ecs-DescribeSecurityGroups", Read::EcsDescribeSecurityGroups),
    (GROUP_RULES, Read::EcsDescribeSecurityGroupAttribute),
    ("ecs-DescribeNetworkInterfaces", Read::EcsDescribeNetworkInterfaces),
    ("ecs-DescribeDisks", Read::DescribeDisks),
    ("vpc-DescribeVpcs", Read::VpcDescribeVpcs),
    ("vpc-DescribeVSwitches", Read::DescribeVSwitches),
    ("vpc-DescribeRouteTableList", Read::DescribeRouteTableList),
    ("ram-GetRole", Read::RamGetRole),
    ("ram-ListPoliciesForRole", Read::ListPoliciesForRole),
    ("ram-ListPoliciesForUser", Read::ListPoliciesForUser),
    ("ram-ListGroupsForUser", Read::ListGroupsForUser),
    ("ram-ListPoliciesForGroup", Read::ListPoliciesForGroup),
    ("ram-GetPolicy", Read::RamGetPolicy),
    (ATTACHMENTS, Read::ListPolicyAttachments),
    ("slb-DescribeLoadBalancers", Read::SlbDescribeLoadBalancers),
    ("nlb-ListLoadBalancers", Read::NlbListLoadBalancers),
    ("alb-ListLoadBalancers", Read::AlbListLoadBalancers),
    (CLASSIC_ZONES, Read::SlbDescribeAvailableResource),
    (NETWORK_ZONES, Read::NlbDescribeZones),
    (APPLICATION_ZONES, Read::AlbDescribeZones),
    ("vpc-DescribeEipAddresses", Read::DescribeEipAddresses),
];

/// File of attachments in resource groups, which another product lists.
const ATTACHMENTS: &str = "resourcemanager-ListPolicyAttachments";

/// Files of the zones of load balancers.
const CLASSIC_ZONES: &str = "slb-DescribeAvailableResource";
const NETWORK_ZONES: &str = "nlb-DescribeZones";
const APPLICATION_ZONES: &str = "alb-DescribeZones";

/// Files of the rules of security groups, each with the id of the group behind its name.
const GROUP_RULES: &str = "ecs-DescribeSecurityGroupAttribute";

/// File of a role with its trust policy.
const TRUST: &str = "ram-GetRole";

/// Files of the policies of principals.
const LISTS: [(&str, PrincipalKind); 3] = [
    ("ram-ListPoliciesForRole", PrincipalKind::Role),
    ("ram-ListPoliciesForUser", PrincipalKind::User),
    ("ram-ListPoliciesForGroup", PrincipalKind::Group),
];

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
    #[error("`{file}` is not the output of its `aliyun` command: {error}")]
    Malformed {
        file: String,
        /// Error and its position.
        error: JsonError,
    },
    /// No file identifies the account.
    #[error("`{folder}` holds no `sts-GetCallerIdentity.json`, which identifies the account")]
    NoAccount { folder: String },
    /// The answers are from several regions, or from another than the operator names.
    #[error("`{folder}` was read from {}, and one folder is one region", found.join(" and "))]
    Regions {
        folder: String,
        /// Regions of the answers and of the operator.
        found: Vec<String>,
    },
    /// Two answers contradict one another.
    #[error("the answers in `{folder}` contradict one another: {reason}")]
    Contradiction {
        folder: String,
        /// The contradiction.
        reason: String,
    },
    /// No file identifies the region.
    #[error("nothing in `{folder}` identifies the region it was read from")]
    NoRegion { folder: String },
}

/// True if a folder holds outputs of the `aliyun` command line: any file is named like one of them.
#[must_use]
pub(crate) fn is_one(folder: &Path) -> bool {
    let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    names(folder).is_ok_and(|names| names.iter().any(|name| known.iter().any(|known| name.starts_with(known))))
}

/// Names of the JSON files of a folder, without extension, in order.
fn names(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".json").map(str::to_owned));
    }
    Ok(names)
}

/// Reads a folder. `region` is the operator's choice, for folders that do not identify their region.
///
/// # Errors
/// If the content of a file does not match its name, or nothing identifies account and region.
pub(crate) fn read(folder: &Path, region: Option<&str>) -> Result<Inventory, FolderError> {
    let shown = || folder.display().to_string();
    let names = names(folder).map_err(|source| FolderError::Read { file: shown(), source })?;
    let mut files = Files { folder, names, gaps: Vec::new() };
    let identity: Option<CallerIdentity> = files.one("sts-GetCallerIdentity", Read::GetCallerIdentity, None)?;
    let identity = identity.ok_or_else(|| FolderError::NoAccount { folder: shown() })?;
    let instances = files.pages::<Instances>()?;
    let vpcs = files.pages::<Vpcs>()?;
    let of_instances = instances.iter().filter_map(|one| one.region_id.clone());
    let of_vpcs = vpcs.iter().filter_map(|one| one.region_id.clone());
    let said: BTreeSet<String> = of_instances.chain(of_vpcs).chain(region.map(str::to_owned)).collect();
    let mut found: Vec<String> = said.into_iter().collect();
    if found.len() > 1 {
        return Err(FolderError::Regions { folder: shown(), found });
    }
    let name = found.pop().ok_or_else(|| FolderError::NoRegion { folder: shown() })?;
    let mut target = Region::new(&name);
    target.instances = instances.into_iter().map(Into::into).collect();
    target.vpcs = vpcs.into_iter().map(Into::into).collect();
    target.vswitches = files.pages::<VSwitches>()?.into_iter().map(Into::into).collect();
    target.route_tables = files.pages::<RouteTables>()?.into_iter().map(Into::into).collect();
    target.security_groups = files.pages::<SecurityGroupAnswer>()?.into_iter().map(Into::into).collect();
    target.network_interfaces = files.pages::<NetworkInterfaces>()?.into_iter().map(Into::into).collect();
    target.disks = files.pages::<Disks>()?.into_iter().map(Into::into).collect();
    // Load balancers count as exported only if one of their files exists.
    if ["slb-DescribeLoadBalancers", "nlb-ListLoadBalancers"].iter().any(|name| files.names.contains(*name)) {
        let classic = files.pages::<LoadBalancers>()?.into_iter().map(Into::into);
        let network = files.pages::<NetworkLoadBalancers>()?.into_iter().map(Into::into);
        target.load_balancers = Some(classic.chain(network).collect());
    }
    files.group_rules(&mut target)?;
    // What only leftovers need is asked for only where it is given.
    if files.names.contains("alb-ListLoadBalancers") {
        let found = files.pages::<ApplicationLoadBalancers>()?.into_iter().map(Into::into);
        target.application_load_balancers = Some(found.collect());
    }
    target.load_balancer_zones = files.load_balancer_zones()?;
    if files.names.contains("vpc-DescribeEipAddresses") {
        target.elastic_ips = Some(files.pages::<ElasticIps>()?.into_iter().map(Into::into).collect());
    }
    files.instance_roles(&mut target)?;
    let mut account = Account { account_id: identity.account_id, caller_arn: identity.arn, ..Account::default() };
    files.identities(&target, &mut account)?;
    let mut gaps = std::mem::take(&mut files.gaps);
    gaps.extend(super::unseen(&target));
    for gap in &mut gaps {
        gap.account_id = Some(account.account_id.clone());
        if !gap.read.is_iam() {
            gap.region = Some(name.clone());
        }
    }
    account.regions.push(target);
    let mut inventory = Inventory::new(None);
    inventory.accounts.push(account);
    inventory.gaps = gaps;
    if let Some((_, reason)) = inventory.contradiction() {
        return Err(FolderError::Contradiction { folder: shown(), reason });
    }
    inventory.canonicalise();
    inventory.note_unlisted();
    Ok(inventory)
}

struct Files<'a> {
    folder: &'a Path,
    names: BTreeSet<String>,
    gaps: Vec<Gap>,
}

impl Files<'_> {
    /// Suffixes of the files with a given prefix: the principals or policies that have an answer.
    fn behind(&self, name: &str) -> Vec<String> {
        let prefix = format!("{name}-");
        self.names.iter().filter_map(|found| found.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    /// Values of a file, in order; a gap and `None` if it is missing, or holds a refusal instead of an answer.
    fn values<T: DeserializeOwned>(
        &mut self,
        name: &str,
        read: Read,
        resource: Option<&str>,
    ) -> Result<Option<Vec<T>>, FolderError> {
        let resource = || resource.map(str::to_owned);
        if !self.names.contains(name) {
            self.gap(read, resource(), REASON_NOT_PROVIDED, format!("the folder holds no `{name}.json`"));
            return Ok(None);
        }
        let path = self.folder.join(format!("{name}.json"));
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        opened.map_err(|source| FolderError::Read { file: file.clone(), source })?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(FolderError::TooLarge { file });
        }
        let bytes = in_utf8(&bytes);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        match json_input::parse_lines::<T>(bytes) {
            Ok(values) if values.is_empty() => {
                self.gap(read, resource(), REASON_NOT_PROVIDED, format!("`{name}.json` is empty"));
                Ok(None)
            }
            Ok(values) => Ok(Some(values)),
            Err(error) => {
                // The command line prints refusals as JSON too, and `> FILE` keeps them.
                let refusals = json_input::parse_lines::<Refusal>(bytes).unwrap_or_default();
                let Some(refusal) = refusals.into_iter().find(|one| !one.code.is_empty()) else {
                    return Err(FolderError::Malformed { file, error });
                };
                let message = format!("`{name}.json` holds a refusal: {}", refusal.message);
                self.gap(read, resource(), &refusal.code, message);
                Ok(None)
            }
        }
    }

    fn one<T: DeserializeOwned>(&mut self, name: &str, read: Read, of: Option<&str>) -> Result<Option<T>, FolderError> {
        Ok(self.values(name, read, of)?.and_then(|values| values.into_iter().next()))
    }

    /// Items of all pages of a list; a gap if the file does not hold them all.
    fn pages<P: Page>(&mut self) -> Result<Vec<P::Item>, FolderError> {
        let name = FILES.iter().find(|(_, read)| *read == P::READ).map_or("", |(name, _)| *name);
        Ok(self.all_pages::<P>(name, None)?.unwrap_or_default())
    }

    /// Items of the list in a file; a gap if the file is missing or truncated.
    fn all_pages<P: Page>(&mut self, name: &str, of: Option<&str>) -> Result<Option<Vec<P::Item>>, FolderError> {
        let Some(pages) = self.values::<P>(name, P::READ, of)? else { return Ok(None) };
        let mut items = Vec::new();
        let mut last = answers::Place::default();
        for page in pages {
            let (more, place) = page.into_parts();
            items.extend(more);
            last = place;
        }
        if last.next_token.is_some() || last.total.is_some_and(|total| total > items.len()) {
            self.cut(name, P::READ, of);
        }
        Ok(Some(items))
    }

    fn cut(&mut self, name: &str, read: Read, of: Option<&str>) {
        let message = format!("`{name}.json` is incomplete: write it with `--pager`, or append the other pages");
        self.gap(read, of.map(str::to_owned), "Pagination", message);
    }

    /// Zones of load balancers, if one of their files exists; a gap for each of the others.
    fn load_balancer_zones(&mut self) -> Result<Option<LoadBalancerZones>, FolderError> {
        if ![CLASSIC_ZONES, NETWORK_ZONES, APPLICATION_ZONES].iter().any(|name| self.names.contains(*name)) {
            return Ok(None);
        }
        let classic: Option<ClassicOffers> = self.one(CLASSIC_ZONES, Read::SlbDescribeAvailableResource, None)?;
        let network: Option<ZoneList> = self.one(NETWORK_ZONES, Read::NlbDescribeZones, None)?;
        let application: Option<ZoneList> = self.one(APPLICATION_ZONES, Read::AlbDescribeZones, None)?;
        Ok(Some(LoadBalancerZones {
            classic: classic.map(Into::into),
            network: network.map(Into::into),
            application: application.map(Into::into),
        }))
    }

    /// Inbound rules of the security groups that have a file; a gap for those of Services that have none.
    fn group_rules(&mut self, region: &mut Region) -> Result<(), FolderError> {
        let asked: BTreeSet<String> = region.groups_of_services(|_| true).into_iter().map(str::to_owned).collect();
        for id in asked.into_iter().chain(self.behind(GROUP_RULES)).collect::<BTreeSet<_>>() {
            let Some(group) = region.security_groups.iter_mut().find(|group| group.id == id) else { continue };
            let gaps = self.gaps.len();
            let rules = self.all_pages::<SecurityGroupRules>(&format!("{GROUP_RULES}-{id}"), Some(&id))?;
            if self.gaps.len() == gaps {
                group.rules = rules.map(answers::inbound);
            }
        }
        Ok(())
    }

    /// Sets the role of each instance. The call is made for instances or for a role, so its answer never lists all: an
    /// instance that it omits may have a role.
    fn instance_roles(&mut self, region: &mut Region) -> Result<(), FolderError> {
        let gaps = self.gaps.len();
        let answered = self.pages::<InstanceRoles>()?;
        let mut roles: BTreeMap<String, String> =
            answered.into_iter().map(|one| (one.instance_id, one.ram_role_name)).collect();
        let mut silent: Vec<&str> = Vec::new();
        for instance in &mut region.instances {
            match roles.remove(&instance.id) {
                Some(name) => instance.ram_role = Some(name).filter(|name| !name.is_empty()),
                None => silent.push(&instance.id),
            }
        }
        if let Some(first) = silent.first().filter(|_| self.gaps.len() == gaps) {
            let message = format!(
                "the answers omit {}, such as `{first}`: query all instances, fifty at a time with --InstanceIds; an entry with an empty `RamRoleName` is an instance without a role",
                text::count(silent.len(), "instance"),
            );
            self.gap(Read::DescribeInstanceRamRole, None, REASON_NOT_PROVIDED, message);
        }
        Ok(())
    }

    fn gap(&mut self, read: Read, resource: Option<String>, reason: &str, message: String) {
        self.gaps.push(Gap {
            read,
            account_id: None,
            region: None,
            resource,
            policy: None,
            reason: reason.to_owned(),
            message,
        });
    }

    /// Adds the principals that have answers, with their policies; missing data on the roles of instances is a gap.
    fn identities(&mut self, region: &Region, account: &mut Account) -> Result<(), FolderError> {
        let mut wanted: BTreeSet<(PrincipalKind, String)> = region
            .instances
            .iter()
            .filter_map(|one| one.ram_role.clone())
            .map(|name| (PrincipalKind::Role, name))
            .collect();
        for (name, kind) in LISTS {
            wanted.extend(self.behind(name).into_iter().map(|of| (kind, of)));
        }
        wanted.extend(self.behind(TRUST).into_iter().map(|of| (PrincipalKind::Role, of)));
        for (kind, name) in wanted {
            let principal = self.principal(account, kind, &name)?;
            account.principals.push(principal);
        }
        for of in self.behind("ram-GetPolicy") {
            let answer: Option<PolicyAnswer> =
                self.one(&format!("ram-GetPolicy-{of}"), Read::RamGetPolicy, Some(&of))?;
            account.policies.extend(answer.and_then(PolicyAnswer::into_policy));
        }
        let attached: BTreeSet<&Attachment> = account
            .principals
            .iter()
            .flat_map(|one| one.attachments.iter().chain(&one.resource_group_attachments).flatten())
            .collect();
        let missing: BTreeSet<String> = attached
            .into_iter()
            .filter(|attachment| account.policy(attachment).is_none())
            .map(|attachment| attachment.policy.clone())
            .collect();
        for name in missing {
            let is_said = |gap: &Gap| gap.read == Read::RamGetPolicy && gap.resource.as_ref() == Some(&name);
            if !self.gaps.iter().any(is_said) {
                let message = format!("the folder holds no `ram-GetPolicy-{name}.json` about that policy");
                self.gap(Read::RamGetPolicy, Some(name), REASON_NOT_PROVIDED, message);
            }
        }
        Ok(())
    }

    fn principal(&mut self, account: &Account, kind: PrincipalKind, name: &str) -> Result<Principal, FolderError> {
        let mut principal = Principal::new(kind, name);
        let arn = account.principal_arn(&principal);
        let Some((list, _)) = LISTS.into_iter().find(|(_, of)| *of == kind) else { return Ok(principal) };
        let read = kind.policies_read();
        let file = format!("{list}-{name}");
        if let Some(answer) = self.one::<PolicyList>(&file, read, Some(&arn))? {
            if answer.is_truncated == Some(true) {
                self.cut(&file, read, Some(&arn));
            } else {
                principal.attachments = answer.into_attachments();
            }
        }
        if kind == PrincipalKind::Role {
            let answer: Option<RoleAnswer> = self.one(&format!("{TRUST}-{name}"), Read::RamGetRole, Some(&arn))?;
            match answer.map(|answer| answer.role) {
                Some(role) if !role.role_name.eq_ignore_ascii_case(name) => {
                    let message = format!("`{TRUST}-{name}.json` is about the role `{}`", role.role_name);
                    self.gap(Read::RamGetRole, Some(arn.clone()), REASON_NOT_PROVIDED, message);
                }
                Some(role) => {
                    (principal.id, principal.trust_policy) = (role.role_id, role.assume_role_policy_document);
                }
                None => {}
            }
        }
        if kind == PrincipalKind::User {
            let file = format!("ram-ListGroupsForUser-{name}");
            if let Some(answer) = self.one::<GroupList>(&file, Read::ListGroupsForUser, Some(&arn))? {
                if answer.is_truncated == Some(true) {
                    self.cut(&file, Read::ListGroupsForUser, Some(&arn));
                } else {
                    principal.groups = Some(answer.groups.group.into_iter().map(|group| group.group_name).collect());
                }
            }
        }
        let gaps = self.gaps.len();
        let attachments = self.all_pages::<AttachmentAnswer>(&format!("{ATTACHMENTS}-{name}"), Some(&arn))?;
        if self.gaps.len() == gaps {
            principal.resource_group_attachments =
                attachments.map(|all| super::resource_group_attachments(all, kind, name));
        }
        Ok(principal)
    }
}
