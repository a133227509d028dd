//! Grants missing actions to a RAM role: through one custom policy with a name that tagaudit owns, attached to the
//! role.
//!
//! RAM has no inline policies, and its statements have no `Sid`: tagaudit recognises its policies by name and by a form
//! that no person would write. A policy of this name that others wrote or edited is never replaced.

use serde_json::json;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::policy::RAM;
use crate::role_audit::grant::{NAME_PREFIX, is_whole_service};
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value};

use super::inventory::{Account, Attachment, PolicyType, Principal, PrincipalKind};
use super::{CUSTOM_ATTACHMENTS_QUOTA, POLICY_QUOTA};

/// True if only Alibaba Cloud may change a role: service-linked roles have names of this form.
/// Source: RAM documentation, "Service-linked roles": `AliyunServiceRoleFor…`.
#[must_use]
pub(crate) fn is_protected(role: &str) -> bool {
    role.get(..20).is_some_and(|prefix| prefix.eq_ignore_ascii_case("AliyunServiceRoleFor"))
}

/// Document that grants these actions and nothing else, minified, with sorted actions.
#[must_use]
pub fn document(actions: &[String]) -> String {
    let mut actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    actions.sort_unstable();
    actions.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
    json!({
        "Version": RAM.newest_version(),
        "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    })
    .to_string()
}

/// Actions of a document that is exactly as tagaudit writes it; `None` for every other document.
#[must_use]
pub fn own_actions(text: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let actions: Vec<String> = serde_json::from_value(value.pointer("/Statement/0/Action")?.clone()).ok()?;
    let valid = !actions.is_empty() && !actions.iter().any(|action| is_whole_service(action));
    (valid && document(&actions) == text).then_some(actions)
}

/// Name of the policy that tagaudit creates for a role. Role names may hold more characters than policy names; a digest
/// distinguishes names that had to be changed.
/// Source: RAM 2015-05-01, `CreateRole` (letters, digits, `.`, `-`) and `CreatePolicy` (letters, digits, `-`; 128
/// characters).
#[must_use]
pub(crate) fn policy_name(role: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if role.chars().all(is_allowed) && role.len() <= 64 {
        return format!("{NAME_PREFIX}{role}");
    }
    let readable: String = role.chars().map(|c| if is_allowed(c) { c } else { '-' }).take(64).collect();
    format!("{NAME_PREFIX}{readable}-{}", text::hex(&Sha256::digest(role.as_bytes()), 4))
}

/// Custom policy that tagaudit creates for a role: `acs:ram::ACCOUNT:policy/NAME`.
#[must_use]
pub(crate) fn policy_arn(account_id: &str, role: &str) -> String {
    format!("acs:ram::{account_id}:policy/{}", policy_name(role))
}

/// Reason why actions cannot be granted without losing or exceeding something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum GrantError {
    /// Users and groups are never modified.
    #[error("tagaudit writes to roles only, not to a {}", .0.name())]
    NotARole(PrincipalKind),
    /// A role that Alibaba Cloud manages.
    #[error("only Alibaba Cloud can change this role")]
    Protected,
    /// Without its id the role cannot be identified when the plan is applied.
    #[error("the id of the role was not read, and a plan needs it: scan again")]
    NoRoleId,
    /// The policies of the role were not listed.
    #[error("the policies of the role were not read")]
    Attachments,
    /// The document of a policy is unknown.
    #[error("the policy `{0}` was not read")]
    Policy(String),
    /// An action is a pattern for all actions of a service.
    #[error("`{0}` covers a whole service")]
    WholeService(String),
    /// Other principals would get the actions too.
    #[error("the policy `{0}` is attached elsewhere too, or in a resource group")]
    AttachedElsewhere(String),
    /// Other principals may get the actions too.
    #[error("the attachments of the policy `{0}` were not read: scan again")]
    NoAttachmentCount(String),
    /// Others wrote to the policy.
    #[error("the policy `{0}` holds something that tagaudit did not write, or that was changed since")]
    ForeignPolicy(String),
    /// The policy would be too long.
    #[error("the actions exceed the limit of {POLICY_QUOTA} characters for a policy")]
    TooLong,
    /// No further policy can be attached.
    #[error("{0} custom policies are attached to the role, and the default quota is {CUSTOM_ATTACHMENTS_QUOTA}")]
    TooManyAttached(usize),
}

/// Writes that give a role these actions. Actions that the policy of tagaudit already grants stay.
///
/// # Errors
/// If they cannot be written without losing or exceeding something.
pub(crate) fn place<S: AsRef<str>>(
    account: &Account,
    role: &Principal,
    actions: &[S],
) -> Result<Vec<Transition>, GrantError> {
    if role.kind != PrincipalKind::Role {
        return Err(GrantError::NotARole(role.kind));
    }
    if is_protected(&role.name) {
        return Err(GrantError::Protected);
    }
    if role.id.is_none() {
        return Err(GrantError::NoRoleId);
    }
    let attached = role.attachments.as_deref().ok_or(GrantError::Attachments)?;
    if let Some(whole) = actions.iter().map(AsRef::as_ref).find(|action| is_whole_service(action)) {
        return Err(GrantError::WholeService(whole.to_owned()));
    }
    let arn = policy_arn(&account.account_id, &role.name);
    let name = policy_name(&role.name);
    let ours = Attachment { policy_type: PolicyType::Custom, policy: name.clone(), resource_group_id: None };
    let is_attached = attached.contains(&ours);
    let old = match account.policy(&ours) {
        None if is_attached => return Err(GrantError::Policy(name)),
        None => None,
        Some(policy) => {
            // Any other principal with the policy would get these rights as well.
            if policy.attachment_count != Some(u64::from(is_attached)) {
                return Err(match policy.attachment_count {
                    Some(_) => GrantError::AttachedElsewhere(name),
                    None => GrantError::NoAttachmentCount(name),
                });
            }
            Some(policy.document.as_deref().ok_or_else(|| GrantError::Policy(name.clone()))?)
        }
    };
    let held = match old {
        None => Vec::new(),
        Some(text) => own_actions(text).ok_or_else(|| GrantError::ForeignPolicy(name.clone()))?,
    };
    let wanted = actions.iter().map(|action| action.as_ref().to_owned());
    let document = document(&held.into_iter().chain(wanted).collect::<Vec<_>>());
    if document.chars().count() > POLICY_QUOTA {
        return Err(GrantError::TooLong);
    }
    let custom = attached.iter().filter(|one| one.policy_type == PolicyType::Custom).count();
    if !is_attached && custom >= CUSTOM_ATTACHMENTS_QUOTA {
        return Err(GrantError::TooManyAttached(custom));
    }
    let write = Transition {
        target: Target::ram_policy(&arn),
        attribute: Attribute::ManagedPolicy {},
        old: old.map(|text| Value::Document(text.to_owned())),
        new: Some(Value::Document(document)),
    };
    let mut changes = Vec::new();
    if write.old != write.new {
        changes.push(write);
    }
    if !is_attached {
        let attribute = Attribute::AttachedPolicy { policy_arn: arn };
        changes.push(Transition::set(Target::ram_role(&role.name), attribute, Value::Attached));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alibaba::Policy;
    use crate::transition::{Call, calls};

    fn account() -> Account {
        Account { account_id: "1234567890123456".to_owned(), ..Account::default() }
    }

    fn role(attached: &[&str]) -> Principal {
        let custom = |name: &&str| Attachment {
            policy_type: PolicyType::Custom,
            policy: (*name).to_owned(),
            resource_group_id: None,
        };
        Principal {
            id: Some("3".to_owned()),
            attachments: Some(attached.iter().map(custom).collect()),
            ..Principal::new(PrincipalKind::Role, "k8s.master")
        }
    }

    fn strings(actions: &[&str]) -> Vec<String> {
        actions.iter().map(|action| (*action).to_owned()).collect()
    }

    #[test]
    fn what_we_wrote_is_recognised_and_what_was_edited_is_not() {
        let text = document(&strings(&["slb:SetServerCertificate", "ecs:DescribeInstances", "ecs:describeinstances"]));
        assert_eq!(own_actions(&text).unwrap(), ["ecs:DescribeInstances", "slb:SetServerCertificate"]);
        for edited in [
            text.replace("ecs:DescribeInstances", "zzz:Anything"),
            text.replace("Allow", "Deny"),
            text.replace("\"*\"", "\"acs:ecs:*:*:*\""),
            text.replace(':', ": "),
            format!("{text}\n"),
            document(&strings(&["ram:*"])),
            document(&[]),
        ] {
            assert!(own_actions(&edited).is_none(), "{edited}");
        }
    }

    #[test]
    fn policy_names_are_valid_and_distinct() {
        assert_eq!(policy_name("k8s-master"), "tagaudit-baseline-k8s-master");
        let names: Vec<String> = ["k8s.master", "k8s-master", "k8s_master", "kubernetes\u{e9}"].map(policy_name).into();
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() <= 128 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
            assert!(!names[..index].contains(name), "{name}");
        }
        assert!(policy_name(&"x".repeat(300)).len() <= 128);
    }

    #[test]
    fn adds_versions_to_an_existing_policy() {
        let mut account = account();
        let first = place(&account, &role(&["other"]), &["slb:CreateLoadBalancer"]).unwrap();
        assert!(matches!(calls(&first).as_slice(), [Call::RamCreatePolicy { .. }, Call::RamAttachPolicyToRole { .. }]));
        let name = policy_name("k8s.master");
        account.policies.push(Policy {
            policy_type: PolicyType::Custom,
            name: name.clone(),
            default_version: Some("v1".to_owned()),
            document: Some(document(&strings(&["slb:CreateLoadBalancer"]))),
            attachment_count: Some(1),
        });
        let second = place(&account, &role(&["other", &name]), &["ecs:DescribeInstances"]).unwrap();
        let made = calls(&second);
        let [Call::RamCreatePolicyVersion { document, .. }] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!(own_actions(document).unwrap(), ["ecs:DescribeInstances", "slb:CreateLoadBalancer"]);
        // The policy exists and is not attached: it gets a version, and is attached.
        account.policies[0].attachment_count = Some(0);
        let again = calls(&place(&account, &role(&["other"]), &["ecs:DescribeInstances"]).unwrap());
        assert!(matches!(&again[..], [Call::RamCreatePolicyVersion { .. }, Call::RamAttachPolicyToRole { .. }]));
        let same = calls(&place(&account, &role(&["other"]), &["slb:CreateLoadBalancer"]).unwrap());
        assert!(matches!(&same[..], [Call::RamAttachPolicyToRole { .. }]), "it holds them already");
        // The policy is attached elsewhere too.
        for (attached, count) in [(&["other", &name][..], Some(2)), (&["other"], Some(1)), (&["other"], None)] {
            account.policies[0].attachment_count = count;
            let refused = place(&account, &role(attached), &["ecs:DescribeInstances"]).unwrap_err().to_string();
            assert!(refused.contains("attach"), "{refused}");
        }
    }

    #[test]
    fn what_cannot_be_written_without_loss_is_refused_with_the_reason() {
        let account = account();
        let of = |role: &Principal, actions: &[String]| place(&account, role, actions).unwrap_err().to_string();
        let one = strings(&["ecs:DescribeInstances"]);
        assert!(of(&role(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]), &one).contains("10 custom policies"));
        let long: Vec<String> = (0..200).map(|n| format!("service{n}:SomeRatherLongActionOfIt")).collect();
        assert!(of(&role(&[]), &long).contains("6144"));
        assert!(of(&role(&[]), &strings(&["ecs:*"])).contains("whole service"));
        assert!(of(&Principal { id: None, ..role(&[]) }, &one).contains("id of the role"));
        assert!(of(&Principal { attachments: None, ..role(&[]) }, &one).contains("not read"));
        assert!(of(&Principal { kind: PrincipalKind::User, ..role(&[]) }, &one).contains("roles only"));
        assert!(
            of(&Principal { name: "AliyunServiceRoleForX".to_owned(), ..role(&[]) }, &one).contains("only Alibaba")
        );
    }
}
