//! The policies that apply to a RAM principal: its own, those of its groups and resource groups, and control policies.

use std::collections::BTreeMap;

use crate::inventory::Read;
use crate::policy::{Document, NamedDocument, PolicySet, RAM, control_levels};
use crate::role_audit::{Missing, RoleAuditOptions, RoleGap, RoleGapCause};

use super::grant;
use super::inventory::{Account, Attachment, Policy, Principal, PrincipalKind};

pub(super) fn not_read(account_id: &str, role: String, read: Read, missing: Missing) -> RoleGap {
    RoleGap { account_id: account_id.to_owned(), role, cause: RoleGapCause::NotRead(read, missing) }
}

pub(super) fn gap(account: &Account, arn: &str, cause: RoleGapCause) -> RoleGap {
    RoleGap { account_id: account.account_id.clone(), role: arn.to_owned(), cause }
}

/// Policies that apply to a principal, with the control policies.
///
/// # Errors
/// What was not read or is malformed.
pub(crate) fn checked_policies(
    account: &Account,
    principal: &Principal,
    options: &RoleAuditOptions,
) -> Result<PolicySet, Vec<RoleGap>> {
    let mut gaps = Vec::new();
    let arn = account.principal_arn(principal);
    let set = policies(account, principal, &arn, principal.kind.policies_read(), &mut gaps);
    let control = control_policies(account, principal, options, &mut gaps);
    if gaps.is_empty() { Ok(set.with_control_policies(control)) } else { Err(gaps) }
}

/// Control policies that apply to a principal: those of the operator, and each level of the Resource Directory.
/// Service-linked roles are exempt.
/// Source: Resource Management documentation, "Overview of access control policies", how they work and limits.
pub(super) fn control_policies(
    account: &Account,
    principal: &Principal,
    options: &RoleAuditOptions,
    gaps: &mut Vec<RoleGap>,
) -> Vec<Vec<NamedDocument>> {
    let mut levels = control_levels(&options.scps);
    if principal.kind == PrincipalKind::Role && grant::is_protected(&principal.name) {
        return levels;
    }
    let mut named = |policy: &Policy| {
        let text = policy.document.as_deref().unwrap_or_default();
        match Document::parse_as(text, &RAM) {
            Ok(document) => Some(NamedDocument { name: policy.name.clone(), document }),
            Err(error) => {
                let cause = RoleGapCause::Malformed { policy: policy.name.clone(), error: error.to_string() };
                gaps.push(gap(account, &account.principal_arn(principal), cause));
                None
            }
        }
    };
    for level in account.control_policies.iter().flatten() {
        levels.push(level.policies.iter().filter_map(&mut named).collect());
    }
    levels
}

/// Policies that apply to a principal.
pub(super) fn policies(
    account: &Account,
    principal: &Principal,
    arn: &str,
    list: Read,
    gaps: &mut Vec<RoleGap>,
) -> PolicySet {
    let mut in_account: Vec<NamedDocument> = Vec::new();
    let mut in_groups: BTreeMap<&str, Vec<NamedDocument>> = BTreeMap::new();
    let mut holders: Vec<&Principal> = vec![principal];
    if principal.kind == PrincipalKind::User {
        match &principal.groups {
            None => gaps.push(not_read(
                &account.account_id,
                arn.to_owned(),
                Read::ListGroupsForUser,
                Missing::AttachedPolicies,
            )),
            Some(groups) => {
                for name in groups {
                    match account.principal(PrincipalKind::Group, name) {
                        Some(group) => holders.push(group),
                        None => gaps.push(not_read(
                            &account.account_id,
                            arn.to_owned(),
                            Read::ListPoliciesForGroup,
                            Missing::AttachedPolicies,
                        )),
                    }
                }
            }
        }
    }
    for holder in holders {
        if holder.attachments.is_none() {
            gaps.push(not_read(&account.account_id, arn.to_owned(), list, Missing::AttachedPolicies));
        }
        if holder.resource_group_attachments.is_none() {
            let missing = Missing::ResourceGroupPolicies;
            gaps.push(not_read(
                &account.account_id,
                account.principal_arn(holder),
                Read::ListPolicyAttachments,
                missing,
            ));
        }
        let attached = holder.attachments.iter().flatten();
        for attachment in attached.chain(holder.resource_group_attachments.iter().flatten()) {
            let Some(document) = document(account, arn, attachment, gaps) else { continue };
            let named = NamedDocument { name: attachment.policy.clone(), document };
            match attachment.resource_group_id.as_deref() {
                None if in_account.contains(&named) => {}
                None => in_account.push(named),
                Some(group) => in_groups.entry(group).or_default().push(named),
            }
        }
    }
    let set = PolicySet::for_identity(in_account);
    in_groups.into_iter().fold(set, |set, (group, policies)| set.with_resource_group(group, policies))
}

fn document(account: &Account, arn: &str, attachment: &Attachment, gaps: &mut Vec<RoleGap>) -> Option<Document> {
    let Some(text) = account.policy(attachment).and_then(|policy| policy.document.as_deref()) else {
        let missing = Missing::AttachedPolicy(attachment.policy.clone());
        gaps.push(not_read(&account.account_id, arn.to_owned(), Read::RamGetPolicy, missing));
        return None;
    };
    match Document::parse_as(text, &RAM) {
        Ok(document) => Some(document),
        Err(error) => {
            let cause = RoleGapCause::Malformed { policy: attachment.policy.clone(), error: error.to_string() };
            gaps.push(gap(account, arn, cause));
            None
        }
    }
}
