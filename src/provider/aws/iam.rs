//! IAM resources: the role of each instance profile in use, and everything that determines the rights of the role.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use aws_sdk_iam::Client;
use aws_sdk_iam::types::{self, EntityType};
use futures_util::future::join_all;

use crate::aws::roles::trusts_the_controller;
use crate::aws::trusted_companions::trusts_a_companion;
use crate::aws::{InlinePolicy, InstanceProfile, ManagedPolicy, Role, linked_services};
use crate::inventory::{Gap, Read};
use crate::provider::IamReads;

use super::call::{CallError, Caller, marked, page};
use super::config::Session;

mod convert;
mod providers;

use convert::{convert_role, tags};

pub(crate) use convert::decode;

/// Page size: the most that IAM returns.
const PAGE: i32 = 1_000;

/// Profiles from which reading the whole account takes fewer calls: one role takes about eight, and few accounts fill
/// more than a few pages.
const ACCOUNT_FROM: usize = 30;

/// An entry of the details of an account.
enum DetailItem {
    Role(Box<types::RoleDetail>),
    Policy(Box<types::ManagedPolicyDetail>),
}

/// Result of a read.
#[derive(Debug, Default)]
pub(super) struct Identities {
    pub(super) profiles: Vec<InstanceProfile>,
    pub(super) roles: Vec<Role>,
    pub(super) policies: Vec<ManagedPolicy>,
    /// ARNs of the roles of ServiceAccounts that do not exist.
    pub(super) missing_roles: Vec<String>,
    /// OIDC providers, by ARN; `None` if no ServiceAccount names a role, or if they could not be read.
    pub(super) oidc_providers: Option<Vec<String>>,
    /// As [`crate::aws::Account::linked_services`].
    pub(super) linked_services: Option<Vec<String>>,
    pub(super) gaps: Vec<Gap>,
}

/// Identities to read.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Instance profiles whose roles are read.
    pub(super) profiles: &'a BTreeSet<String>,
    /// Roles of the account that are the controller's own, by ARN, as the operator names them; without any, roles whose
    /// trust policy names the controller's service account are searched.
    pub(super) controller_roles: Option<BTreeSet<&'a str>>,
    /// Roles of the account that ServiceAccounts of the cluster name, by ARN.
    pub(super) service_account_roles: BTreeSet<&'a str>,
    /// Roles of the account that EKS Pod Identity gives ServiceAccounts, by ARN.
    pub(super) associated_roles: BTreeSet<&'a str>,
}

pub(super) async fn read(session: &Session, caller: &Caller, wanted: &Wanted<'_>, how: IamReads) -> Identities {
    let profiles = wanted.profiles;
    let is_named = wanted.controller_roles.as_ref().is_some_and(|roles| !roles.is_empty());
    let has_accounts = !wanted.service_account_roles.is_empty() || !wanted.associated_roles.is_empty();
    if profiles.is_empty() && !is_named && !has_accounts {
        return Identities::default();
    }
    let reader = RoleReader { client: session.iam(), caller, found: Mutex::default(), claimed: Mutex::default() };
    let whole_account = match how {
        IamReads::Auto => profiles.len() >= ACCOUNT_FROM,
        IamReads::PerRole => false,
        IamReads::Account => true,
    };
    let mut left: BTreeSet<&String> = profiles.iter().collect();
    if whole_account {
        match reader.account(wanted).await {
            // A profile without a role is in no list of roles: it is read separately.
            Ok(seen) => {
                left.retain(|arn| !seen.contains(*arn));
                join_all(left.into_iter().map(|arn| reader.profile(arn))).await;
                reader.named(wanted).await;
                tokio::join!(reader.service_accounts(wanted), reader.providers(wanted));
                return reader.into_found();
            }
            // Not every caller may read a whole account; the roles can still be read one by one.
            Err(gap) if how == IamReads::Auto => drop(gap),
            Err(gap) => {
                reader.found(|found| found.gaps.push(gap));
                return reader.into_found();
            }
        }
    }
    let of_nodes = join_all(left.into_iter().map(|arn| reader.profile(arn)));
    let of_controller = async {
        match wanted.controller_roles {
            Some(_) => reader.named(wanted).await,
            None => reader.trusting(wanted).await,
        }
    };
    tokio::join!(of_nodes, of_controller, reader.service_accounts(wanted), reader.providers(wanted));
    reader.into_found()
}

struct RoleReader<'a> {
    client: Client,
    caller: &'a Caller,
    found: Mutex<Identities>,
    /// Roles and managed policies that are being read already: each is read once.
    claimed: Mutex<BTreeSet<String>>,
}

/// Current state of roles and policies, as far as a write depends on it. Missing ones are not in the result.
///
/// # Errors
/// If something could not be read.
pub(super) async fn reread(
    session: &Session,
    caller: &Caller,
    roles: &BTreeSet<&str>,
    policies: &BTreeSet<&str>,
) -> Result<(Vec<Role>, Vec<ManagedPolicy>), CallError> {
    let reader = RoleReader { client: session.iam(), caller, found: Mutex::default(), claimed: Mutex::default() };
    let mut found = Vec::new();
    for name in roles {
        let answer = caller.call(Read::GetRole.action(), "", || reader.client.get_role().role_name(*name).send()).await;
        let role = match answer.map(|answer| answer.role) {
            Err(error) if error.is_no_such_entity() => continue,
            Err(error) => return Err(error),
            Ok(None) => continue,
            Ok(Some(role)) => role,
        };
        let (inline, attached) = tokio::join!(reader.inline(&role), reader.attached_arns(&role));
        found.push(Role {
            name: role.role_name,
            arn: role.arn,
            role_id: role.role_id,
            path: role.path,
            trust_policy: None,
            permissions_boundary: None,
            inline_policies: inline,
            attached_policies: attached,
            tags: Some(tags(role.tags.unwrap_or_default())),
        });
    }
    join_all(policies.iter().map(|arn| reader.managed(arn))).await;
    let read = reader.into_found();
    // A policy that does not exist is an answer; any other gap is not.
    let absent = |gap: &&Gap| gap.reason != "NoSuchEntity";
    match read.gaps.iter().find(absent) {
        Some(gap) => Err(CallError::new(&gap.reason, &gap.message)),
        None => Ok((found, read.policies)),
    }
}

impl RoleReader<'_> {
    fn found<T>(&self, change: impl FnOnce(&mut Identities) -> T) -> T {
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn claim(&self, name: &str) -> bool {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    }

    fn into_found(self) -> Identities {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn gap(&self, read: Read, resource: &str, error: &CallError) {
        self.found(|found| found.gaps.push(error.gap(read, "", Some(resource))));
    }

    async fn profile(&self, arn: &str) {
        const API: Read = Read::GetInstanceProfile;
        let name = arn.rsplit('/').next().unwrap_or(arn);
        let ask = || {
            self.caller.call(API.action(), "", || self.client.get_instance_profile().instance_profile_name(name).send())
        };
        let mut answer = ask().await;
        // IAM is eventually consistent: a profile is missing only if it is missing twice.
        if answer.as_ref().is_err_and(CallError::is_no_such_entity) {
            answer = ask().await;
        }
        let profile = match answer {
            Ok(answer) => answer.instance_profile,
            Err(error) if error.is_no_such_entity() => {
                self.found(|found| {
                    found.profiles.push(InstanceProfile { arn: arn.to_owned(), exists: false, roles: Vec::new() });
                });
                return;
            }
            Err(error) => return self.gap(API, arn, &error),
        };
        let roles = profile.map(|profile| profile.roles).unwrap_or_default();
        self.found(|found| {
            let roles = roles.iter().map(|role| role.role_name.clone()).collect();
            found.profiles.push(InstanceProfile { arn: arn.to_owned(), exists: true, roles });
        });
        join_all(roles.iter().filter(|role| self.claim(&role.arn)).map(|role| self.role(role))).await;
    }

    /// Reads the roles that the operator names for the controller, except those already read.
    async fn named(&self, wanted: &Wanted<'_>) {
        const API: Read = Read::GetRole;
        let arns = wanted.controller_roles.iter().flatten().filter(|arn| self.claim(arn));
        join_all(arns.map(|arn| async move {
            let name = arn.rsplit('/').next().unwrap_or(arn);
            match self.caller.call(API.action(), "", || self.client.get_role().role_name(name).send()).await {
                Ok(answer) => {
                    if let Some(role) = answer.role.filter(|role| role.arn == *arn) {
                        Box::pin(self.role_with(&role, async { Ok(Some(role.clone())) })).await;
                    } else {
                        let message = format!("the role `{name}` of this account has another path than `{arn}`");
                        self.gap(API, arn, &CallError::new("NoSuchEntity", message));
                    }
                }
                Err(error) => self.gap(API, arn, &error),
            }
        }))
        .await;
    }

    /// Reads the roles of ServiceAccounts, except those already read.
    async fn service_accounts(&self, wanted: &Wanted<'_>) {
        const API: Read = Read::GetRole;
        let all = wanted.service_account_roles.union(&wanted.associated_roles);
        let arns = all.filter(|arn| self.claim(arn));
        join_all(arns.map(|arn| async move {
            let name = arn.rsplit('/').next().unwrap_or(arn);
            let ask = || self.caller.call(API.action(), "", || self.client.get_role().role_name(name).send());
            let mut answer = ask().await;
            // IAM is eventually consistent: a role is missing only if it is missing twice.
            if answer.as_ref().is_err_and(CallError::is_no_such_entity) {
                answer = ask().await;
            }
            match answer {
                Ok(answer) => match answer.role.filter(|role| role.arn == *arn) {
                    Some(role) => Box::pin(self.role_with(&role, async { Ok(Some(role.clone())) })).await,
                    None => self.found(|found| found.missing_roles.push((*arn).to_owned())),
                },
                Err(error) if error.is_no_such_entity() => {
                    self.found(|found| found.missing_roles.push((*arn).to_owned()));
                }
                Err(error) => self.gap(API, arn, &error),
            }
        }))
        .await;
    }

    /// Reads the roles that trust the cloud controller's ServiceAccount, and, if none of a ServiceAccount was named, the
    /// usual ones of other controllers.
    async fn trusting(&self, wanted: &Wanted<'_>) {
        const API: Read = Read::ListRoles;
        let (roles, gap) = self
            .caller
            .pages(
                API,
                "",
                None,
                |marker| self.client.list_roles().max_items(PAGE).set_marker(marker).send(),
                |answer| marked(answer.roles, answer.is_truncated, answer.marker),
            )
            .await;
        if let Some(gap) = gap {
            self.found(|found| found.gaps.push(gap));
            return;
        }
        let linked = linked_services(roles.iter().map(|role| role.path.as_str()));
        self.found(|found| found.linked_services = Some(linked));
        let is_unnamed = wanted.service_account_roles.is_empty();
        let trusts = |role: &types::Role| {
            let policy = role.assume_role_policy_document.as_deref().map(decode);
            trusts_the_controller(policy.as_deref()) || is_unnamed && trusts_a_companion(policy.as_deref())
        };
        let trusting = roles.iter().filter(|role| trusts(role) && self.claim(&role.arn));
        join_all(trusting.map(|role| self.role(role))).await;
    }

    async fn role(&self, shown: &types::Role) {
        let name = shown.role_name.as_str();
        let ask = || self.client.get_role().role_name(name).send();
        let answer = async { self.caller.call(Read::GetRole.action(), "", ask).await.map(|answer| answer.role) };
        Box::pin(self.role_with(shown, answer)).await;
    }

    /// Reads the rights of a role, given the answer of `GetRole`.
    async fn role_with(
        &self,
        shown: &types::Role,
        answer: impl Future<Output = Result<Option<types::Role>, CallError>>,
    ) {
        let (role, inline, attached) = tokio::join!(answer, self.inline(shown), self.attached(shown));
        let mut entry = Role {
            name: shown.role_name.clone(),
            arn: shown.arn.clone(),
            role_id: shown.role_id.clone(),
            path: shown.path.clone(),
            trust_policy: shown.assume_role_policy_document.as_deref().map(decode),
            permissions_boundary: None,
            inline_policies: inline,
            attached_policies: attached,
            tags: None,
        };
        match role {
            Ok(Some(role)) if role.role_id != shown.role_id => {
                let error = CallError::new("Changed", "the role was deleted and re-created while it was read");
                self.gap(Read::GetRole, &shown.arn, &error);
            }
            Ok(Some(role)) => {
                entry.trust_policy = role.assume_role_policy_document.as_deref().map(decode).or(entry.trust_policy);
                entry.tags = Some(tags(role.tags.unwrap_or_default()));
                entry.permissions_boundary =
                    role.permissions_boundary.and_then(|boundary| boundary.permissions_boundary_arn);
            }
            Ok(None) => {
                let error = CallError::new("Protocol", "the answer holds no role");
                self.gap(Read::GetRole, &shown.arn, &error);
            }
            Err(error) => self.gap(Read::GetRole, &shown.arn, &error),
        }
        if let Some(boundary) = &entry.permissions_boundary {
            self.managed(boundary).await;
        }
        self.found(|found| found.roles.push(entry));
    }

    /// Inline policies; a document that cannot be read is absent, a list that cannot be read is `None`.
    async fn inline(&self, role: &types::Role) -> Option<Vec<InlinePolicy>> {
        const LIST: Read = Read::ListRolePolicies;
        const GET: Read = Read::GetRolePolicy;
        let name = role.role_name.as_str();
        let (names, gap) = self
            .caller
            .pages(
                LIST,
                "",
                Some(&role.arn),
                |marker| self.client.list_role_policies().role_name(name).max_items(PAGE).set_marker(marker).send(),
                |answer| marked(answer.policy_names, answer.is_truncated, answer.marker),
            )
            .await;
        if let Some(gap) = gap {
            self.found(|found| found.gaps.push(gap));
            return None;
        }
        let documents = names.into_iter().map(|policy| async move {
            let request = || self.client.get_role_policy().role_name(name).policy_name(&policy).send();
            let document = match self.caller.call(GET.action(), "", request).await {
                Ok(answer) => Some(decode(&answer.policy_document)),
                Err(error) => {
                    let error = CallError { message: format!("inline policy `{policy}`: {}", error.message), ..error };
                    let gap = Gap { policy: Some(policy.clone()), ..error.gap(GET, "", Some(&role.arn)) };
                    self.found(|found| found.gaps.push(gap));
                    None
                }
            };
            InlinePolicy { name: policy, document }
        });
        Some(join_all(documents).await)
    }

    /// Attached policies, each with its document.
    async fn attached(&self, role: &types::Role) -> Option<Vec<String>> {
        let policies = self.attached_arns(role).await?;
        join_all(policies.iter().map(|arn| self.managed(arn))).await;
        Some(policies)
    }

    async fn attached_arns(&self, role: &types::Role) -> Option<Vec<String>> {
        const API: Read = Read::ListAttachedRolePolicies;
        let name = role.role_name.as_str();
        let (policies, gap) = self
            .caller
            .pages(
                API,
                "",
                Some(&role.arn),
                |marker| {
                    self.client.list_attached_role_policies().role_name(name).max_items(PAGE).set_marker(marker).send()
                },
                |answer| {
                    let page = page(answer.attached_policies, None, |policy| policy.policy_arn)?;
                    marked(page.items, answer.is_truncated, answer.marker)
                },
            )
            .await;
        if let Some(gap) = gap {
            self.found(|found| found.gaps.push(gap));
            return None;
        }
        Some(policies)
    }

    /// Reads a managed policy in its default version, once.
    async fn managed(&self, arn: &str) {
        if !self.claim(arn) {
            return;
        }
        let policy =
            self.caller.call(Read::GetPolicy.action(), "", || self.client.get_policy().policy_arn(arn).send()).await;
        let version = match policy {
            Ok(answer) => answer.policy.and_then(|policy| policy.default_version_id),
            Err(error) => return self.gap(Read::GetPolicy, arn, &error),
        };
        let Some(version) = version else {
            let error = CallError::new("Protocol", "the answer names no default version");
            return self.gap(Read::GetPolicy, arn, &error);
        };
        let request = || self.client.get_policy_version().policy_arn(arn).version_id(&version).send();
        match self.caller.call(Read::GetPolicyVersion.action(), "", request).await {
            Ok(answer) => {
                let document = answer.policy_version.and_then(|version| version.document).as_deref().map(decode);
                let policy = ManagedPolicy { arn: arn.to_owned(), version_id: Some(version), document };
                self.found(|found| found.policies.push(policy));
            }
            Err(error) => self.gap(Read::GetPolicyVersion, arn, &error),
        }
    }

    /// Reads the whole account and keeps what belongs to the profiles. Returns the profiles with a role.
    async fn account(&self, wanted_roles: &Wanted<'_>) -> Result<BTreeSet<String>, Gap> {
        const API: Read = Read::GetAccountAuthorizationDetails;
        let (items, gap) = self
            .caller
            .pages(
                API,
                "",
                None,
                |marker| {
                    self.client
                        .get_account_authorization_details()
                        .filter(EntityType::Role)
                        .filter(EntityType::LocalManagedPolicy)
                        .filter(EntityType::AwsManagedPolicy)
                        .max_items(PAGE)
                        .set_marker(marker)
                        .send()
                },
                |answer| {
                    let roles = answer
                        .role_detail_list
                        .unwrap_or_default()
                        .into_iter()
                        .map(|role| DetailItem::Role(Box::new(role)));
                    let policies = answer
                        .policies
                        .unwrap_or_default()
                        .into_iter()
                        .map(|policy| DetailItem::Policy(Box::new(policy)));
                    marked(roles.chain(policies).collect(), answer.is_truncated, answer.marker)
                },
            )
            .await;
        if let Some(gap) = gap {
            return Err(gap);
        }
        let mut seen = BTreeSet::new();
        let mut wanted = BTreeSet::new();
        let mut documents: BTreeMap<String, types::ManagedPolicyDetail> = BTreeMap::new();
        let (mut roles, mut paths) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                DetailItem::Policy(policy) => {
                    if let Some(arn) = policy.arn.clone() {
                        documents.insert(arn, *policy);
                    }
                }
                DetailItem::Role(detail) => {
                    paths.extend(detail.path.clone());
                    let Some(role) = convert_role(*detail, wanted_roles, &mut seen, self) else { continue };
                    wanted.extend(role.attached_policies.iter().flatten().cloned());
                    wanted.extend(role.permissions_boundary.clone());
                    self.claim(&role.arn);
                    roles.push(role);
                }
            }
        }
        self.found(|found| {
            found.roles.extend(roles);
            found.linked_services = Some(linked_services(paths.iter().map(String::as_str)));
        });
        // A policy that is not in the answer is read separately.
        let mut missing = Vec::new();
        for arn in wanted {
            let default = documents.remove(&arn).and_then(|policy| {
                let versions = policy.policy_version_list.unwrap_or_default().into_iter();
                let default = versions.into_iter().find(|version| version.is_default_version)?;
                Some((default.version_id, default.document?))
            });
            match default {
                Some((version_id, document)) => {
                    let document = Some(decode(&document));
                    self.found(|found| found.policies.push(ManagedPolicy { arn, version_id, document }));
                }
                None => missing.push(arn),
            }
        }
        join_all(missing.iter().map(|arn| self.managed(arn))).await;
        Ok(seen)
    }
}
