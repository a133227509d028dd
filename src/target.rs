//! Targets of one run: accounts, the roles to assume in them, their regions and clusters.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::inventory::Provider;
use crate::json_input::{self, JsonError};
use crate::tags::{self, InvalidClusterId};

/// Largest list of targets, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// An account to audit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "TargetEntry")]
pub struct Target {
    /// Cloud of the account.
    pub provider: Provider,
    pub account_id: String,
    /// Its name in the organization, if it comes from there.
    pub name: Option<String>,
    /// The role to assume, by ARN or by name with path; without one, the credentials themselves belong to the account.
    pub role: Option<String>,
    /// External id for that role.
    pub external_id: Option<String>,
    /// Regions; those of the command line if empty.
    pub regions: Vec<String>,
    /// Clusters; all that are found if empty.
    pub cluster_ids: Vec<String>,
    /// Contexts of the kubeconfig through which its clusters are read: names, or patterns with `*` and `?`.
    pub kube_contexts: Vec<String>,
    /// Files or folders with evidence, each about one of its clusters.
    pub kubernetes: Vec<String>,
}

/// A target in its file form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TargetEntry {
    pub(crate) account: Option<String>,
    pub(crate) role: Option<String>,
    #[serde(alias = "external_id")]
    pub(crate) external_id: Option<String>,
    #[serde(default)]
    pub(crate) regions: Vec<String>,
    #[serde(default, alias = "cluster_ids")]
    pub(crate) cluster_ids: Vec<String>,
    #[serde(default, alias = "kube_context", deserialize_with = "one_or_many")]
    pub(crate) kube_context: Vec<String>,
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) kubernetes: Vec<String>,
}

/// Reads a text, or a list of texts.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;

    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string, or an array of strings")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
            let mut all = Vec::new();
            while let Some(item) = items.next_element()? {
                all.push(item);
            }
            Ok(all)
        }
    }

    deserializer.deserialize_any(OneOrMany)
}

/// The keys of a target in a file.
pub(crate) const KEYS: [&str; 7] =
    ["account", "role", "external-id", "regions", "cluster-ids", "kube-context", "kubernetes"];

/// Defect of a list of targets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is not JSON, or not a list of targets.
    #[error("`{file}` is not a list of targets: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// The defect and its place.
        error: JsonError,
    },
    /// A target is invalid.
    #[error("`{file}`, target {number}: {reason}")]
    Wrong {
        /// Name of the input.
        file: String,
        number: usize,
        /// The defect.
        reason: String,
    },
    #[error("`{file}` names no target")]
    Empty {
        /// Name of the input.
        file: String,
    },
}

/// An entry that is not a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidTarget {
    /// The role belongs to another account.
    #[error("the role belongs to account {role}, and the target is account {target}")]
    Accounts {
        /// Account of the role.
        role: String,
        /// Account of the target.
        target: String,
    },
    /// Neither an account nor the ARN of a role.
    #[error("it names no account: add `account`, or the ARN of a role")]
    NoAccount,
    /// Not the id of an account.
    #[error("`{0}` is not an account id: twelve digits in AWS, sixteen in Alibaba Cloud")]
    Account(String),
    /// Not the name of a region.
    #[error("`{0}` is not a region name, such as us-east-1 or cn-hangzhou")]
    Region(String),
    /// Evidence without a name.
    #[error("`{0}` has an empty name")]
    EmptyName(&'static str),
    /// Not a cluster id.
    #[error("`{id}` is not a cluster id: {error}")]
    ClusterId {
        /// The text.
        id: String,
        /// The defect.
        error: InvalidClusterId,
    },
    /// Not a role.
    #[error(transparent)]
    Role(#[from] InvalidRole),
}

impl Target {
    /// Reads a list of targets: a JSON array of objects, or an object on each line; `file` is only used in errors.
    ///
    /// # Errors
    /// If it is neither, or a target is invalid.
    pub fn list(file: &str, bytes: &[u8]) -> Result<Vec<Self>, TargetError> {
        let malformed = |error| TargetError::Malformed { file: file.to_owned(), error };
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let is_array = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let targets: Vec<Self> =
            if is_array { json_input::parse_complete(text) } else { json_input::parse_lines(text) }
                .map_err(malformed)?;
        if targets.is_empty() {
            return Err(TargetError::Empty { file: file.to_owned() });
        }
        if let Some((number, reason)) = twice(&targets) {
            return Err(TargetError::Wrong { file: file.to_owned(), number, reason });
        }
        Ok(targets)
    }

    /// Creates a target from a file entry.
    ///
    /// # Errors
    /// If it names no account, or a value of it is invalid.
    fn new(entry: TargetEntry) -> Result<Self, InvalidTarget> {
        let TargetEntry { account, role, external_id, regions, cluster_ids, kube_context, kubernetes } = entry;
        let of_role = match role.as_deref().map(Role::parse).transpose()? {
            Some(Role::Arn { provider, account }) => Some((provider, account.to_owned())),
            Some(Role::Name) | None => None,
        };
        let (of_cloud, of_role) = of_role.unzip();
        let account_id = match (account, of_role) {
            (Some(account), Some(other)) if account != other => {
                return Err(InvalidTarget::Accounts { role: other, target: account });
            }
            (Some(account), _) | (None, Some(account)) => account,
            (None, None) => return Err(InvalidTarget::NoAccount),
        };
        let Some(provider) =
            of_cloud.or_else(|| cloud_of(&account_id)).filter(|cloud| cloud.is_account_id(&account_id))
        else {
            return Err(InvalidTarget::Account(account_id));
        };
        if let Some(region) = regions.iter().find(|region| !is_region(region)) {
            return Err(InvalidTarget::Region(region.clone()));
        }
        for id in &cluster_ids {
            tags::check_cluster_id(id).map_err(|error| InvalidTarget::ClusterId { id: id.clone(), error })?;
        }
        for (key, names) in [("kube-context", &kube_context), ("kubernetes", &kubernetes)] {
            if names.iter().any(String::is_empty) {
                return Err(InvalidTarget::EmptyName(key));
            }
        }
        let sorted = |mut list: Vec<String>| {
            list.sort_unstable();
            list.dedup();
            list
        };
        Ok(Self {
            provider,
            account_id,
            name: None,
            role,
            external_id,
            regions: sorted(regions),
            cluster_ids: sorted(cluster_ids),
            kube_contexts: sorted(kube_context),
            kubernetes: sorted(kubernetes),
        })
    }

    /// The ARN of the role to assume; a partition is a part of it in AWS alone.
    #[must_use]
    pub fn role_arn(&self, partition: &str) -> Option<String> {
        let role = self.role.as_deref()?;
        if role.contains(':') {
            return Some(role.to_owned());
        }
        let (account, name) = (&self.account_id, role.trim_start_matches('/'));
        Some(match self.provider {
            Provider::Aws => format!("arn:{partition}:iam::{account}:role/{name}"),
            Provider::Alibaba => format!("acs:ram::{account}:role/{name}"),
        })
    }
}

impl TryFrom<TargetEntry> for Target {
    type Error = InvalidTarget;

    fn try_from(entry: TargetEntry) -> Result<Self, InvalidTarget> {
        Self::new(entry)
    }
}

/// The cloud of an account id by its length. Ids of Alibaba Cloud have sixteen digits; its reference does not limit
/// their length (Resource Management documentation, `AccountId`), so that longer ones count as well.
fn cloud_of(account_id: &str) -> Option<Provider> {
    match account_id.len() {
        12 => Some(Provider::Aws),
        13..=20 => Some(Provider::Alibaba),
        _ => None,
    }
}

/// The first target that overlaps an earlier one, from 1, and the reason.
pub(crate) fn twice(targets: &[Target]) -> Option<(usize, String)> {
    let mut seen = std::collections::BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        for region in each_or_all(&target.regions) {
            for cluster_id in each_or_all(&target.cluster_ids) {
                if let Some(before) = seen.insert((&target.account_id, region, cluster_id), index) {
                    let reason = format!("it overlaps target {}", before + 1);
                    return Some((index + 1, reason));
                }
            }
        }
    }
    None
}

/// Each entry of a list; an empty list stands for all.
fn each_or_all(list: &[String]) -> Vec<Option<&String>> {
    if list.is_empty() { vec![None] } else { list.iter().map(Some).collect() }
}

/// A text that does not name a role.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidRole {
    /// An ARN of another resource, or with an invalid role name.
    #[error("`{0}` is not the ARN of a role")]
    Arn(String),
    /// Characters that a role name cannot have.
    #[error("`{0}` is neither the ARN of a role nor its name")]
    Name(String),
    /// An ARN instead of a name that is the same in every account.
    #[error("an ARN refers to one account: give the name that the role has in each")]
    OneAccount,
}

/// A role in a target.
enum Role<'r> {
    /// By ARN, with its cloud and account.
    Arn { provider: Provider, account: &'r str },
    /// By name, with its path.
    Name,
}

impl<'r> Role<'r> {
    fn parse(role: &'r str) -> Result<Self, InvalidRole> {
        let parts: Vec<&str> = role.splitn(6, ':').collect();
        match parts.as_slice() {
            ["arn", _, "iam", "", account, name] if Provider::Aws.is_account_id(account) && name.len() > 5 => {
                match name.strip_prefix("role/") {
                    Some(name) if is_role_name(name) => Ok(Self::Arn { provider: Provider::Aws, account }),
                    _ => Err(InvalidRole::Arn(role.to_owned())),
                }
            }
            ["acs", "ram", "", account, name] if Provider::Alibaba.is_account_id(account) => {
                match name.strip_prefix("role/") {
                    Some(name) if is_ram_role_name(name) => Ok(Self::Arn { provider: Provider::Alibaba, account }),
                    _ => Err(InvalidRole::Arn(role.to_owned())),
                }
            }
            [name] if is_role_name(name.trim_start_matches('/')) => Ok(Self::Name),
            _ => Err(InvalidRole::Name(role.to_owned())),
        }
    }
}

/// True if a text is a valid role name with its path (IAM User Guide, "IAM and AWS STS quotas", name requirements).
fn is_role_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@-_/".contains(&byte);
    !name.is_empty() && name.len() <= 64 + 512 && !name.ends_with('/') && name.bytes().all(fits)
}

/// True if a text is the name of a RAM role (RAM 2015-05-01, `CreateRole`, `RoleName`).
fn is_ram_role_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Checks the role of `--target-role`.
///
/// # Errors
/// If the text is not the name of a role.
pub(crate) fn role_name(text: &str) -> Result<String, InvalidRole> {
    match Role::parse(text)? {
        Role::Name => Ok(text.to_owned()),
        Role::Arn { .. } => Err(InvalidRole::OneAccount),
    }
}

/// True if a text can be the name of a region, and so part of a host name.
#[must_use]
pub(crate) fn is_region(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (5..=32).contains(&text.len()) && text.bytes().all(fits) && text.contains('-')
}

/// One part of a run that is distributed over several processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub index: u32,
    /// Number of shards.
    pub count: u32,
}

/// Maximum number of shards, that of an Indexed Job (Kubernetes, `batch/v1` `JobSpec.completions`).
pub(crate) const MAX_SHARDS: u32 = 100_000;

impl Shard {
    /// True if an account belongs to this shard. Depends only on the account id, so that lists of targets may differ
    /// between processes, and two processes never share the API limits of an account.
    #[must_use]
    pub fn holds(self, account_id: &str) -> bool {
        let hash = Sha256::digest(account_id.as_bytes());
        let start = hash.iter().take(8).fold(0_u64, |all, byte| (all << 8) | u64::from(*byte));
        start % u64::from(self.count) == u64::from(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// `--shard`: a shard, or only the number of shards if the index comes from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardArgument {
    /// Index, from 0; `None` for `/COUNT`.
    pub index: Option<u32>,
    /// Number of shards.
    pub count: u32,
}

/// A text that is not a shard.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum InvalidShard {
    /// Another form.
    #[error("not INDEX/COUNT, such as 0/8, or /8 in a Job")]
    Form,
    /// The count is out of range.
    #[error("the number of shards is 1 to {MAX_SHARDS}")]
    Count,
    /// The index is out of range.
    #[error("there is no shard {index} of {count}: indexes start at 0, as in a Job")]
    Index {
        index: u32,
        /// Number of shards.
        count: u32,
    },
}

impl ShardArgument {
    /// The shard with this index.
    ///
    /// # Errors
    /// If the index is not below the count.
    pub(crate) fn with_index(self, index: u32) -> Result<Shard, InvalidShard> {
        if index < self.count {
            return Ok(Shard { index, count: self.count });
        }
        Err(InvalidShard::Index { index, count: self.count })
    }
}

impl FromStr for ShardArgument {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let wrong = || InvalidShard::Form;
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let count: u32 = count.parse().map_err(|_| wrong())?;
        if !(1..=MAX_SHARDS).contains(&count) {
            return Err(InvalidShard::Count);
        }
        let index = if index.is_empty() { None } else { Some(index.parse::<u32>().map_err(|_| wrong())?) };
        let shard = Self { index, count };
        index.map_or(Ok(()), |index| shard.with_index(index).map(|_| ()))?;
        Ok(shard)
    }
}

/// An account of an organization.
#[cfg(any(feature = "aws", feature = "alibaba"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) account_id: String,
    pub(crate) name: Option<String>,
    /// Reason for skipping the account; `None` if it is audited.
    pub(crate) left_out: Option<String>,
}

#[cfg(any(feature = "aws", feature = "alibaba"))]
impl Member {
    /// The account as a target.
    #[must_use]
    pub(crate) fn target(&self, provider: Provider) -> Target {
        Target {
            provider,
            account_id: self.account_id.clone(),
            name: self.name.clone(),
            role: None,
            external_id: None,
            regions: Vec::new(),
            cluster_ids: Vec::new(),
            kube_contexts: Vec::new(),
            kubernetes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> Result<Vec<Target>, String> {
        Target::list("targets.json", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_is_an_array_or_a_target_on_each_line() {
        let array = r#"[{"account": "111122223333", "regions": ["us-west-2", "us-east-1"]},
                        {"role": "arn:aws-cn:iam::444455556666:role/audit/reader", "cluster-ids": ["b", "a", "b"]}]"#;
        let lines = "{\"account\": \"111122223333\", \"regions\": [\"us-east-1\", \"us-west-2\"]}\n\n{\"account\": \
                     \"444455556666\", \"role\": \"arn:aws-cn:iam::444455556666:role/audit/reader\", \"cluster_ids\": \
                     [\"a\", \"b\"]}\n";
        let targets = list(array).unwrap();
        assert_eq!(targets, list(lines).unwrap());
        assert_eq!(targets[0].regions, ["us-east-1", "us-west-2"]);
        assert_eq!((targets[1].account_id.as_str(), targets[1].cluster_ids.len()), ("444455556666", 2));
        assert_eq!(targets[1].role_arn("aws").as_deref(), Some("arn:aws-cn:iam::444455556666:role/audit/reader"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, said) in [
            ("", "names no target"),
            ("[]", "names no target"),
            ("[{}]", "it names no account: add `account`, or the ARN of a role at line 1, column 4 (/0)"),
            (
                "{\"account\": \"1\"}",
                "`1` is not an account id: twelve digits in AWS, sixteen in Alibaba Cloud at line 1, column 1 (/0)",
            ),
            ("{\"account\": 1}", "at line 1, column 13 (/0/account)"),
            ("{\"account\": \"111122223333\"}\n\n {\"account\": \"1\"}", "in Alibaba Cloud at line 3, column 2 (/1)"),
            ("{\"account\": \"111122223333\"}\n{\"acount\": \"\"}", "unknown field `acount`"),
            ("{\"account\": \"111122223333\"}\n{\"acount\": \"\"}", "at line 2, column 9 (/1/acount)"),
            ("{\"account\": \"111122223333\", \"regions\": [\"x.evil.example\"]}", "is not a region name"),
            ("{\"account\": \"111122223333\", \"cluster-ids\": [\"\"]}", "is not a cluster id"),
            (
                "{\"account\": \"111122223333\", \"role\": \"arn:aws:iam::444455556666:role/x\"}",
                "the role belongs to account 444455556666",
            ),
            (
                "{\"account\": \"111122223333\", \"role\": \"arn:aws:iam::111122223333:user/x\"}",
                "not the ARN of a role",
            ),
            ("{\"account\": \"111122223333\", \"role\": \"a:b\"}", "neither the ARN of a role nor its name"),
            ("[{\"account\": \"111122223333\"},{\"account\": \"111122223333\"}]", "target 2: it overlaps target 1"),
        ] {
            let told = list(text).unwrap_err();
            assert!(told.contains(said), "{text}: {told}");
        }
    }

    #[test]
    fn resolves_role_names_in_the_account() {
        let target = |role: &str| {
            let entry =
                TargetEntry { account: Some("111122223333".into()), role: Some(role.into()), ..TargetEntry::default() };
            Target::new(entry).unwrap().role_arn("aws-us-gov").unwrap()
        };
        assert_eq!(target("audit"), "arn:aws-us-gov:iam::111122223333:role/audit");
        assert_eq!(target("/org/audit"), "arn:aws-us-gov:iam::111122223333:role/org/audit");
        assert!(role_name("audit").is_ok() && role_name("arn:aws:iam::111122223333:role/audit").is_err());
    }

    #[test]
    fn shards_count_from_zero() {
        let shard = |text: &str| text.parse::<ShardArgument>();
        assert_eq!(shard("3/8"), Ok(ShardArgument { index: Some(3), count: 8 }));
        assert_eq!(shard("/8"), Ok(ShardArgument { index: None, count: 8 }));
        for text in ["8/8", "8", "a/8", "1/0", "/0", "-1/8", "1/100001", "/"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_account_is_in_exactly_one_shard(account in "[0-9]{12}", count in 1_u32..200) {
            let held = (0..count).filter(|index| Shard { index: *index, count }.holds(&account)).count();
            prop_assert_eq!(held, 1);
        }
    }

    #[test]
    fn shards_are_about_as_large() {
        let sizes: Vec<usize> = (0..8)
            .map(|index| (0..8_000_u64).filter(|id| Shard { index, count: 8 }.holds(&format!("{id:012}"))).count())
            .collect();
        assert!(sizes.iter().all(|size| (900..1_100).contains(size)), "{sizes:?}");
    }
}
