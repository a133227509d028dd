//! Principals of an account: their policies, trust policies and groups.

use std::collections::BTreeSet;

use crate::alibaba::trail::CallerName;
use crate::alibaba::{
    Account, Attachment, ControllerCalls, Policy, PolicyType, Principal, PrincipalKind, grant, roles,
};
use crate::inventory::Read;
use crate::provider::alibaba::answers::{AttachmentAnswer, GroupList, PolicyAnswer, PolicyList, RawRole, RoleAnswer};

use super::super::Request;
use super::super::client::{CallError, CallErrorKind};
use super::machines::roles_in_use;
use super::{Session, joined, whole};

const ATTACHMENT_PAGE: (&str, usize) = ("PageSize", 100);

/// Principals of the audit trail that are read.
const SEEN_PRINCIPALS: usize = 32;

/// Principals with their policies, and those that do not exist and may not.
#[derive(Default)]
pub(super) struct Attached {
    pub(super) found: Vec<Principal>,
    pub(super) policies: Vec<Policy>,
    pub(super) absent: BTreeSet<(PrincipalKind, String)>,
}

impl Attached {
    /// Names of roles that do not exist.
    pub(super) fn absent_roles(&self) -> Vec<String> {
        let roles = self.absent.iter().filter(|(kind, _)| *kind == PrincipalKind::Role);
        roles.map(|(_, name)| name.clone()).collect()
    }
}

/// True for a principal that may be absent: it is then not a gap.
pub(super) type MayBeAbsent<'a> = dyn Fn(PrincipalKind, &str) -> bool + Sync + 'a;

impl Session {
    /// Reads the principals that the audit trail names for the clusters, and that no node has. Those that the operator
    /// names decide instead. Calls of principals that were deleted since are omitted.
    pub(super) fn read_seen_principals(&self, account: &mut Account, request: &Request<'_>) {
        let ids = request.audit_trail.as_deref().unwrap_or_default();
        if !request.principals.controller_roles.is_empty() {
            return;
        }
        let is_wanted =
            |calls: &&ControllerCalls| ids.is_empty() || calls.cluster_id.as_ref().is_some_and(|id| ids.contains(id));
        let calls = account.regions.iter().flat_map(|region| region.controller_calls.iter().flatten());
        let wanted: BTreeSet<(PrincipalKind, String)> = calls
            .filter(is_wanted)
            .filter_map(|calls| seen_principal(calls, &account.account_id))
            .filter(|(kind, name)| account.principal(*kind, name).is_none())
            .take(SEEN_PRINCIPALS)
            .collect();
        if wanted.is_empty() {
            return;
        }
        let id = account.account_id.clone();
        let Attached { found, policies, absent: deleted } = self.principals(&id, &wanted, &|_, _| true);
        account.policies.extend(policies);
        account.principals.extend(found);
        for calls in account.regions.iter_mut().filter_map(|region| region.controller_calls.as_mut()) {
            calls.retain(|one| seen_principal(one, &id).is_none_or(|principal| !deleted.contains(&principal)));
        }
    }

    /// Reads the roles of instances that were found after the roles of the others had been read.
    pub(super) fn read_late_roles(&self, account: &mut Account, request: &Request<'_>) {
        let used: BTreeSet<(PrincipalKind, String)> = roles_in_use(account, request)
            .into_iter()
            .filter(|name| account.principal(PrincipalKind::Role, name).is_none())
            .map(|name| (PrincipalKind::Role, name))
            .collect();
        let Attached { found, policies: own, .. } = self.attached_to(&account.account_id, &used, &|_, _| false);
        account.policies.extend(own);
        account.policies.extend(self.policies(&found, &account.principals, &account.policies));
        account.principals.extend(found);
    }

    /// Reads principals, the groups of users, and the policies of all of them.
    pub(super) fn principals(
        &self,
        account_id: &str,
        wanted: &BTreeSet<(PrincipalKind, String)>,
        may_be_absent: &MayBeAbsent<'_>,
    ) -> Attached {
        let Attached { mut found, mut policies, absent } = self.attached_to(account_id, wanted, may_be_absent);
        let groups = found.iter().flat_map(|one| one.groups.iter().flatten());
        let groups: BTreeSet<(PrincipalKind, String)> =
            groups.map(|name| (PrincipalKind::Group, name.clone())).collect();
        found.extend(self.attached_to(account_id, &groups, may_be_absent).found);
        policies.extend(self.policies(&found, &[], &policies));
        Attached { found, policies, absent }
    }

    /// Reads principals with their attachments, and the policies that a fix would make for roles: it has to know
    /// whether one exists.
    pub(super) fn attached_to(
        &self,
        account_id: &str,
        wanted: &BTreeSet<(PrincipalKind, String)>,
        may_be_absent: &MayBeAbsent<'_>,
    ) -> Attached {
        std::thread::scope(|scope| {
            let read = |kind: PrincipalKind, name: &str| {
                let (principal, failed) = self.principal(account_id, kind, name);
                let own = if kind == PrincipalKind::Role { Read::RamGetRole } else { kind.policies_read() };
                let is_absent =
                    failed.iter().any(|(read, error)| *read == own && error.kind == CallErrorKind::NotFound);
                if is_absent && may_be_absent(kind, name) {
                    return Err((kind, name.to_owned()));
                }
                let arn = crate::alibaba::principal_arn(account_id, kind, name);
                for (read, error) in failed {
                    self.gap(read, (None, Some(arn.clone())), error);
                }
                Ok(principal)
            };
            let reading: Vec<_> = wanted.iter().map(|(kind, name)| scope.spawn(move || read(*kind, name))).collect();
            let roles = wanted.iter().filter(|(kind, _)| *kind == PrincipalKind::Role);
            let own: Vec<_> = roles.map(|(_, name)| scope.spawn(|| self.own_policy(name))).collect();
            let mut attached = Attached::default();
            for principal in reading.into_iter().map(joined) {
                match principal {
                    Ok(principal) => attached.found.push(principal),
                    Err(absent) => {
                        attached.absent.insert(absent);
                    }
                }
            }
            attached.policies = own.into_iter().filter_map(joined).collect();
            attached
        })
    }

    /// Policy that a fix makes for a role; `None` if it does not exist. The audit does not need it: if it cannot be
    /// read, nothing is known of it, and no fix adds to it.
    fn own_policy(&self, role: &str) -> Option<Policy> {
        let (policy_type, name) = (PolicyType::Custom, grant::policy_name(role));
        let attachment = Attachment { policy_type, policy: name.clone(), resource_group_id: None };
        match self.get_policy(&attachment) {
            Err(error) if error.kind == CallErrorKind::NotFound => None,
            Ok(Some(policy)) => Some(policy),
            Ok(None) | Err(_) => {
                Some(Policy { policy_type, name, default_version: None, document: None, attachment_count: None })
            }
        }
    }

    /// Policies attached to principals, except those that are known, and those of principals whose policies were
    /// requested before.
    pub(super) fn policies(&self, principals: &[Principal], before: &[Principal], known: &[Policy]) -> Vec<Policy> {
        let is_read = |one: &Attachment| {
            let is_it = |policy: &&Policy| policy.policy_type == one.policy_type && policy.name == one.policy;
            known.iter().find(is_it).is_some_and(|policy| policy.document.is_some())
        };
        let attached = |principals: &[Principal]| -> BTreeSet<Attachment> {
            let all = principals.iter().flat_map(|one| one.attachments.iter().chain(&one.resource_group_attachments));
            all.flatten().map(|one| Attachment { resource_group_id: None, ..one.clone() }).collect()
        };
        let asked = attached(before);
        let attached = attached(principals).into_iter();
        let attached: Vec<Attachment> = attached.filter(|one| !asked.contains(one) && !is_read(one)).collect();
        std::thread::scope(|scope| {
            let reading: Vec<_> = attached.iter().map(|one| scope.spawn(|| self.policy(one))).collect();
            reading.into_iter().filter_map(joined).collect()
        })
    }

    /// A principal, and the calls that failed.
    fn principal(&self, account_id: &str, kind: PrincipalKind, name: &str) -> (Principal, Vec<(Read, CallError)>) {
        let mut principal = Principal::new(kind, name);
        let mut failures = Vec::new();
        let list = kind.policies_read();
        let parameter = match kind {
            PrincipalKind::Role => "RoleName",
            PrincipalKind::User => "UserName",
            PrincipalKind::Group => "GroupName",
        };
        let mut failed = |read: Read, error: CallError| failures.push((read, error));
        let ask = |read: Read| Self::call_for_read(read, &self.home).with(parameter, name);
        std::thread::scope(|scope| {
            let trust = scope.spawn(|| -> Result<Option<RawRole>, CallError> {
                if kind != PrincipalKind::Role {
                    return Ok(None);
                }
                let role = self.call::<RoleAnswer>(&ask(Read::RamGetRole))?.role;
                if !role.role_name.eq_ignore_ascii_case(name) {
                    let message = format!("the answer is about the role `{}`", role.role_name);
                    return Err(CallError::new(CallErrorKind::Protocol, "Protocol", message));
                }
                Ok(Some(role))
            });
            let groups = scope.spawn(|| -> Result<Option<Vec<String>>, CallError> {
                if kind != PrincipalKind::User {
                    return Ok(None);
                }
                let answer: GroupList = self.call(&ask(Read::ListGroupsForUser))?;
                whole(answer.is_truncated)?;
                Ok(Some(answer.groups.group.into_iter().map(|group| group.group_name).collect()))
            });
            let in_groups = scope.spawn(|| {
                // Users are named with their domain there.
                let full = match kind {
                    PrincipalKind::User => format!("{name}@{account_id}.onaliyun.com"),
                    PrincipalKind::Role => format!("{name}@role.{account_id}.onaliyunservice.com"),
                    PrincipalKind::Group => format!("{name}@group.{account_id}.onaliyun.com"),
                };
                let call = Self::call_for_read(Read::ListPolicyAttachments, &self.home)
                    .with("PrincipalType", crate::provider::alibaba::principal_type(kind))
                    .with("PrincipalName", full);
                self.keys().and_then(|keys| self.client.pages::<AttachmentAnswer>(&keys, &call, ATTACHMENT_PAGE))
            });
            match self.call::<PolicyList>(&ask(list)).and_then(|answer| whole(answer.is_truncated).map(|()| answer)) {
                Ok(answer) => principal.attachments = answer.into_attachments(),
                Err(error) => failed(list, error),
            }
            match joined(trust) {
                Ok(Some(role)) => {
                    // The audit trail names it in lower case.
                    principal.name = role.role_name;
                    (principal.id, principal.trust_policy) = (role.role_id, role.assume_role_policy_document);
                }
                Ok(None) => {}
                Err(error) => failed(Read::RamGetRole, error),
            }
            match joined(groups) {
                Ok(groups) => principal.groups = groups,
                Err(error) => failed(Read::ListGroupsForUser, error),
            }
            match joined(in_groups) {
                Ok(attachments) => {
                    principal.resource_group_attachments =
                        Some(crate::provider::alibaba::resource_group_attachments(attachments, kind, name));
                }
                Err(error) => failed(Read::ListPolicyAttachments, error),
            }
        });
        (principal, failures)
    }

    fn policy(&self, attachment: &Attachment) -> Option<Policy> {
        self.get_policy(attachment).unwrap_or_else(|error| {
            self.gap(Read::RamGetPolicy, (None, Some(attachment.policy.clone())), error);
            None
        })
    }

    fn get_policy(&self, attachment: &Attachment) -> Result<Option<Policy>, CallError> {
        let call = Self::call_for_read(Read::RamGetPolicy, &self.home)
            .with("PolicyName", &attachment.policy)
            .with("PolicyType", attachment.policy_type.name());
        self.call::<PolicyAnswer>(&call).map(PolicyAnswer::into_policy)
    }
}

/// Principal of an account that made calls.
fn seen_principal(calls: &ControllerCalls, account_id: &str) -> Option<(PrincipalKind, String)> {
    let Some(CallerName::Principal(arn)) = calls.caller() else { return None };
    let (id, kind, name) = roles::named(&arn)?;
    (id == account_id).then(|| (kind, name.to_owned()))
}
