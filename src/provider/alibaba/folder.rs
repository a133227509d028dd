//! A folder of plain outputs of the `aliyun` command line, each named after its product and action
//! (`ecs-DescribeInstances.json`, `ram-ListPoliciesForRole-NAME.json`, …), so that an account can be audited by someone who has no access
//! to it. A file that is not there is a gap. Several pages may follow one another in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::alibaba::{Account, Attachment, Inventory, Principal, PrincipalKind, Region};
use crate::inventory::{Gap, REASON_NOT_PROVIDED, Read};
use crate::json_input::{self, JsonError};

use super::answers::{
    self, AttachmentAnswer, CallerIdentity, Disks, GroupList, InstanceRoles, Instances, NetworkInterfaces, Page,
    PolicyAnswer, PolicyList, RoleAnswer, RouteTables, SecurityGroupAnswer, VSwitches, Vpcs,
};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Every file that is understood, with the call whose answer it holds. Those of RAM have the name of the principal or policy behind
/// theirs: `ram-GetRole-NAME.json`.
pub const FILES: [(&str, Read); 15] = [
    ("sts-GetCallerIdentity", Read::GetCallerIdentity),
    ("ecs-DescribeInstances", Read::EcsDescribeInstances),
    ("ecs-DescribeInstanceRamRole", Read::DescribeInstanceRamRole),
    ("ecs-DescribeSecurityGroups", Read::EcsDescribeSecurityGroups),
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
];

/// Attachments in resource groups have a file of another product.
const ATTACHMENTS: &str = "resourcemanager-ListPolicyAttachments";

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
    #[error("`{file}` is not the output of its `aliyun` command: {error}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong, and where.
        error: JsonError,
    },
    /// Nothing says whose account it is.
    #[error("`{folder}` holds no `sts-GetCallerIdentity.json`, which tells the account")]
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

/// Whether a folder holds outputs of the `aliyun` command line: any file is called like one of them.
#[must_use]
pub fn is_one(folder: &Path) -> bool {
    let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).chain([ATTACHMENTS]).collect();
    names(folder).is_ok_and(|names| names.iter().any(|name| known.iter().any(|known| name.starts_with(known))))
}

/// The names of the JSON files of a folder, without their ending, in order.
fn names(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".json").map(str::to_owned));
    }
    Ok(names)
}

/// Reads a folder. `region` is the operator's word on the region, for folders that do not say it themselves.
///
/// # Errors
/// When a file is not what its name says, or nothing tells account and region.
pub fn read(folder: &Path, region: Option<&str>) -> Result<Inventory, FolderError> {
    let shown = || folder.display().to_string();
    let names = names(folder).map_err(|source| FolderError::Read { file: shown(), source })?;
    let mut files = Files { folder, names, gaps: Vec::new() };
    let identity: Option<CallerIdentity> = files.one("sts-GetCallerIdentity")?;
    let identity = identity.ok_or_else(|| FolderError::NoAccount { folder: shown() })?;
    let instances = files.pages::<Instances>()?;
    let vpcs = files.pages::<Vpcs>()?;
    let said = instances
        .iter()
        .find_map(|one| one.region_id.clone())
        .or_else(|| vpcs.iter().find_map(|one| one.region_id.clone()));
    let name = region.map(str::to_owned).or(said).ok_or_else(|| FolderError::NoRegion { folder: shown() })?;
    let mut target = Region::new(&name);
    target.instances = instances.into_iter().map(Into::into).collect();
    target.vpcs = vpcs.into_iter().map(Into::into).collect();
    target.vswitches = files.pages::<VSwitches>()?.into_iter().map(Into::into).collect();
    target.route_tables = files.pages::<RouteTables>()?.into_iter().map(Into::into).collect();
    target.security_groups = files.pages::<SecurityGroupAnswer>()?.into_iter().map(Into::into).collect();
    target.network_interfaces = files.pages::<NetworkInterfaces>()?.into_iter().map(Into::into).collect();
    target.disks = files.pages::<Disks>()?.into_iter().map(Into::into).collect();
    for held in files.pages::<InstanceRoles>()? {
        if let Some(instance) = target.instances.iter_mut().find(|instance| instance.id == held.instance_id) {
            instance.ram_role = Some(held.ram_role_name).filter(|name| !name.is_empty());
        }
    }
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
    inventory.canonicalise();
    Ok(inventory)
}

struct Files<'a> {
    folder: &'a Path,
    names: BTreeSet<String>,
    gaps: Vec<Gap>,
}

impl Files<'_> {
    /// What is behind a name in the names of files: the principals or policies whose answers there are.
    fn behind(&self, name: &str) -> Vec<String> {
        let prefix = format!("{name}-");
        self.names.iter().filter_map(|found| found.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    /// The values of a file, one after the other; `None` where it is not there.
    fn values<T: DeserializeOwned>(&self, name: &str) -> Result<Option<Vec<T>>, FolderError> {
        if !self.names.contains(name) {
            return Ok(None);
        }
        let path = self.folder.join(format!("{name}.json"));
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|source| FolderError::Read { file: file.clone(), source })?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(FolderError::TooLarge { file });
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        json_input::lines(text).map(Some).map_err(|error| FolderError::Malformed { file, error })
    }

    fn one<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, FolderError> {
        Ok(self.values(name)?.and_then(|values| values.into_iter().next()))
    }

    /// The items of a list, of all its pages; a gap where the file is not there, or does not hold them all.
    fn pages<P: Page>(&mut self) -> Result<Vec<P::Item>, FolderError> {
        let name = FILES.iter().find(|(_, read)| *read == P::READ).map_or("", |(name, _)| *name);
        let Some(pages) = self.values::<P>(name)? else {
            self.gap(P::READ, None, REASON_NOT_PROVIDED, format!("the folder holds no `{name}.json`"));
            return Ok(Vec::new());
        };
        let mut items = Vec::new();
        let mut last = answers::Place::default();
        for page in pages {
            let (more, place) = page.into_parts();
            items.extend(more);
            last = place;
        }
        let is_cut = match (&last.next_token, last.total) {
            (Some(_), _) => true,
            (None, Some(total)) => total > items.len(),
            (None, None) => false,
        };
        if is_cut {
            let message =
                format!("`{name}.json` is not the whole answer: write it with `--pager`, or append the other pages");
            self.gap(P::READ, None, "Pagination", message);
        }
        Ok(items)
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

    /// The principals whose policies are there, with the policies; what is missing of the roles of instances is a gap.
    fn identities(&mut self, region: &Region, account: &mut Account) -> Result<(), FolderError> {
        let mut principals: BTreeMap<(PrincipalKind, String), Principal> = BTreeMap::new();
        for (name, kind) in [
            ("ram-ListPoliciesForRole", PrincipalKind::Role),
            ("ram-ListPoliciesForUser", PrincipalKind::User),
            ("ram-ListPoliciesForGroup", PrincipalKind::Group),
        ] {
            for of in self.behind(name) {
                let list: Option<PolicyList> = self.one(&format!("{name}-{of}"))?;
                let mut principal = Principal::new(kind, &of);
                principal.attachments = list.and_then(PolicyList::into_attachments);
                principals.insert((kind, of), principal);
            }
        }
        for of in self.behind("ram-GetRole") {
            let role: Option<RoleAnswer> = self.one(&format!("ram-GetRole-{of}"))?;
            let Some(role) = role.map(|answer| answer.role) else { continue };
            let name = if role.role_name.is_empty() { of } else { role.role_name };
            let key = (PrincipalKind::Role, name.clone());
            let entry = principals.entry(key).or_insert_with(|| Principal::new(PrincipalKind::Role, &name));
            entry.trust_policy = role.assume_role_policy_document;
        }
        for of in self.behind("ram-ListGroupsForUser") {
            let list: Option<GroupList> = self.one(&format!("ram-ListGroupsForUser-{of}"))?;
            if let Some(user) = principals.get_mut(&(PrincipalKind::User, of)) {
                user.groups = list.map(|list| list.groups.group.into_iter().map(|group| group.group_name).collect());
            }
        }
        for of in self.behind(ATTACHMENTS) {
            let pages: Vec<AttachmentAnswer> = self.values(&format!("{ATTACHMENTS}-{of}"))?.unwrap_or_default();
            super::put_resource_group_attachments(
                pages.into_iter().flat_map(|page| page.into_parts().0),
                &of,
                &mut principals,
            );
        }
        for of in self.behind("ram-GetPolicy") {
            let answer: Option<PolicyAnswer> = self.one(&format!("ram-GetPolicy-{of}"))?;
            account.policies.extend(answer.and_then(PolicyAnswer::into_policy));
        }
        account.principals = principals.into_values().collect();
        let held: BTreeSet<&str> = region.instances.iter().filter_map(|one| one.ram_role.as_deref()).collect();
        for name in held {
            let arn = format!("acs:ram::{}:role/{name}", account.account_id);
            let file = match account.principal(PrincipalKind::Role, name) {
                Some(role) if role.attachments.is_some() => continue,
                _ => "ram-ListPoliciesForRole",
            };
            let message = format!("the folder holds no `{file}-{name}.json`");
            self.gap(Read::ListPoliciesForRole, Some(arn), REASON_NOT_PROVIDED, message);
        }
        let attached: BTreeSet<&Attachment> = account
            .principals
            .iter()
            .flat_map(|one| one.attachments.iter().chain(&one.resource_group_attachments).flatten())
            .collect();
        let missing: Vec<String> = attached
            .into_iter()
            .filter(|attachment| account.policy(attachment).is_none())
            .map(|attachment| attachment.policy.clone())
            .collect();
        for name in missing {
            let message = format!("the folder holds no `ram-GetPolicy-{name}.json`");
            self.gap(Read::RamGetPolicy, Some(name), REASON_NOT_PROVIDED, message);
        }
        Ok(())
    }
}
