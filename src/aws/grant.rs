//! Placement of a role's missing actions: in one policy with tagaudit's name, inline while the quota allows, else
//! managed.
//!
//! A policy that tagaudit wrote is recognised by its content: the `Sid` of each statement contains a digest of it. A policy with tagaudit's name that somebody else wrote or edited is never replaced: IAM would overwrite it
//! silently.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::aws::{Account, Role};
use crate::policy::Document;
use crate::role_audit::grant::{Grant, Limits, NAME_PREFIX, is_whole_service};
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value};

/// Path of the managed policies that tagaudit creates.
pub(crate) const MANAGED_PATH: &str = "/tagaudit/";
/// Prefix of the `Sid` of a statement of tagaudit; a digest of its content follows.
const SID_PREFIX: &str = "TagauditBaseline";
/// Total characters of all inline policies of a role, without white space (IAM quotas).
pub(crate) const INLINE_QUOTA: usize = 10_240;
/// Characters of a managed policy, without white space (IAM quotas).
pub(crate) const MANAGED_QUOTA: usize = 6_144;
/// Default number of managed policies of a role (IAM quotas); accounts can raise it.
pub(crate) const ATTACHED_QUOTA: usize = 10;

/// True if only AWS can change a role with this path: service-linked roles and those of IAM Identity Center.
#[must_use]
pub(crate) fn is_protected(path: &str) -> bool {
    path.starts_with("/aws-service-role/") || path.starts_with("/aws-reserved/")
}

/// Number of characters that count towards the quotas.
#[must_use]
pub(crate) fn counted(document: &str) -> usize {
    document.chars().filter(|c| !c.is_whitespace()).count()
}

/// The document that grants exactly these actions on every resource, minified, with the actions sorted.
#[must_use]
pub fn document(actions: &[String]) -> String {
    document_of(&Grant::everywhere(actions))
}

/// The document that grants exactly these rights, minified: a statement for all resources, and one for each limit.
#[must_use]
pub(crate) fn document_of(grants: &[Grant]) -> String {
    let mut everywhere: Vec<&str> = Vec::new();
    let mut limited: BTreeMap<&Limits, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants {
        match grant {
            Grant::Everywhere(action) => everywhere.push(action),
            Grant::Limited(action, limits) => {
                limited.entry(limits).or_default().insert(action);
            }
        }
    }
    everywhere.sort_unstable();
    everywhere.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
    let mut statements = Vec::new();
    if !everywhere.is_empty() {
        let sid = sid(&everywhere.join("\n"));
        statements.push(json!({"Sid": sid, "Effect": "Allow", "Action": everywhere, "Resource": "*"}));
    }
    for (Limits { resources, condition }, actions) in limited {
        let actions: Vec<&str> = actions.into_iter().collect();
        let sid = sid(&format!("{}\n\n{}\n\n{condition}", actions.join("\n"), resources.join("\n")));
        // A condition is JSON that was parsed.
        statements.push(match serde_json::from_str::<serde_json::Value>(condition) {
            Ok(condition) => {
                json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources, "Condition": condition})
            }
            Err(_) => json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources}),
        });
    }
    json!({"Version": "2012-10-17", "Statement": statements}).to_string()
}

fn sid(content: &str) -> String {
    format!("{SID_PREFIX}{}", text::hex(&Sha256::digest(content.as_bytes()), 8))
}

/// The rights of a document that tagaudit wrote and that was not changed since; `None` for every other document.
#[must_use]
pub fn own_grants(text: &str) -> Option<Vec<Grant>> {
    // Limits the depth, which the next parser does not.
    Document::parse(text).ok()?;
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let strings = |value: &serde_json::Value| serde_json::from_value::<Vec<String>>(value.clone()).ok();
    let mut grants = Vec::new();
    for statement in value.get("Statement")?.as_array()? {
        let actions = strings(statement.get("Action")?)?;
        match statement.get("Resource")? {
            serde_json::Value::String(_) => grants.extend(Grant::everywhere(actions)),
            resources => {
                let condition = statement.get("Condition").map(ToString::to_string).unwrap_or_default();
                let limits = Limits { resources: strings(resources)?, condition };
                grants.extend(actions.into_iter().map(|action| Grant::Limited(action, limits.clone())));
            }
        }
    }
    let is_valid = !grants.is_empty() && !grants.iter().any(|grant| is_whole_service(grant.action()));
    let written = document_of(&grants);
    // A repeated key makes a text longer.
    let is_same = serde_json::from_str::<serde_json::Value>(&written).is_ok_and(|written| written == value)
        && counted(&written) == counted(text);
    (is_valid && is_same).then_some(grants)
}

/// ARN of the managed policy that tagaudit creates for a role.
#[must_use]
pub fn managed_arn(account: &Account, role: &Role) -> String {
    format!("arn:{}:iam::{}:policy{MANAGED_PATH}{NAME_PREFIX}{}", account.partition, account.account_id, role.name)
}

/// Purpose of the policy that tagaudit writes for a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PolicyPurpose {
    Worker,
    Controlplane,
    /// Another controller, with a separate role.
    Controller,
}

impl PolicyPurpose {
    const ALL: [Self; 3] = [Self::Worker, Self::Controlplane, Self::Controller];

    /// Name of the inline policy.
    #[must_use]
    pub(crate) fn policy_name(self) -> String {
        let name = match self {
            Self::Worker => "worker",
            Self::Controlplane => "controlplane",
            Self::Controller => "controller",
        };
        format!("{NAME_PREFIX}{name}")
    }

    /// The purpose of an inline policy of tagaudit.
    #[must_use]
    pub(crate) fn from_policy_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.policy_name() == name)
    }
}

/// Actions that cannot be granted without losing or exceeding something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum GrantError {
    /// The inline policies of the role were not read.
    #[error("the inline policies of the role were not read")]
    InlinePolicies,
    /// The attached policies of the role were not read.
    #[error("the attached policies of the role were not read")]
    AttachedPolicies,
    /// The document of a policy was not read.
    #[error("the policy `{0}` was not read")]
    Policy(String),
    /// An action is a pattern for all actions of a service.
    #[error("`{0}` covers a whole service")]
    WholeService(String),
    /// Others wrote to the policy.
    #[error("the policy `{0}` holds something that tagaudit did not write, or that was changed since")]
    ForeignPolicy(String),
    /// Neither the inline policies nor a managed one have room.
    #[error(
        "the inline policies have no room left within {inline} characters, and a managed policy holds at most {managed}"
    )]
    TooLong {
        /// Quota of the inline policies of a role, in characters.
        inline: usize,
        /// Quota of a managed policy, in characters.
        managed: usize,
    },
    /// The inline policies have no room, and no managed policy can be attached.
    #[error(
        "the inline policies have no room left within {inline} characters, and {attached} managed policies are attached (default quota: {quota})"
    )]
    TooManyAttached {
        /// Quota of the inline policies of a role, in characters.
        inline: usize,
        /// Managed policies that are attached.
        attached: usize,
        /// Their quota.
        quota: usize,
    },
}

/// The writes that give a role these rights. Rights already in tagaudit's policy are kept.
///
/// # Errors
/// If they cannot be written without losing or exceeding something.
pub(crate) fn place(
    account: &Account,
    role: &Role,
    purpose: PolicyPurpose,
    grants: &[Grant],
) -> Result<Vec<Transition>, GrantError> {
    let policy_name = purpose.policy_name();
    let inline = role.inline_policies.as_deref().ok_or(GrantError::InlinePolicies)?;
    let attached = role.attached_policies.as_deref().ok_or(GrantError::AttachedPolicies)?;
    if let Some(whole) = grants.iter().map(Grant::action).find(|action| is_whole_service(action)) {
        return Err(GrantError::WholeService(whole.to_owned()));
    }
    let union = |held: &[Grant]| document_of(&held.iter().chain(grants).cloned().collect::<Vec<_>>());
    let unread = |name: &str| GrantError::Policy(name.to_owned());
    let foreign = |name: &str| GrantError::ForeignPolicy(name.to_owned());

    let known = inline.iter().find(|policy| policy.name == policy_name);
    let held = match known {
        None => Vec::new(),
        Some(policy) => {
            let text = policy.document.as_deref().ok_or_else(|| unread(&policy_name))?;
            own_grants(text).ok_or_else(|| foreign(&policy_name))?
        }
    };
    let merged = union(&held);
    let others = inline.iter().filter(|policy| policy.name != policy_name);
    let used: usize = others.filter_map(|policy| policy.document.as_deref()).map(counted).sum();
    if used + counted(&merged) <= INLINE_QUOTA {
        let attribute = Attribute::InlinePolicy { name: policy_name };
        return Ok(vec![Transition::set(Target::role(&role.name), attribute, Value::Document(merged))]);
    }

    let policy_arn = managed_arn(account, role);
    let (held, known) = if attached.contains(&policy_arn) {
        let policy = account.managed_policies.iter().find(|policy| policy.arn == policy_arn);
        let text = policy.and_then(|policy| policy.document.as_deref());
        let text = text.ok_or_else(|| unread(&policy_arn))?;
        (own_grants(text).ok_or_else(|| foreign(&policy_arn))?, Some(Value::Document(text.to_owned())))
    } else {
        (Vec::new(), None)
    };
    let document = union(&held);
    if counted(&document) > MANAGED_QUOTA {
        return Err(GrantError::TooLong { inline: INLINE_QUOTA, managed: MANAGED_QUOTA });
    }
    let write = Transition {
        target: Target::policy(&policy_arn),
        attribute: Attribute::ManagedPolicy {},
        old: known,
        new: Some(Value::Document(document)),
    };
    if write.old.is_some() {
        return Ok(vec![write]);
    }
    if attached.len() >= ATTACHED_QUOTA {
        return Err(GrantError::TooManyAttached {
            inline: INLINE_QUOTA,
            attached: attached.len(),
            quota: ATTACHED_QUOTA,
        });
    }
    let attach = Transition::set(Target::role(&role.name), Attribute::AttachedPolicy { policy_arn }, Value::Attached);
    Ok(vec![write, attach])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::{InlinePolicy, ManagedPolicy};
    use crate::transition::{Call, calls};

    fn account() -> Account {
        Account {
            account_id: "123456789012".into(),
            partition: "aws".into(),
            caller_arn: String::new(),
            regions: Vec::new(),
            instance_profiles: Vec::new(),
            roles: Vec::new(),
            managed_policies: Vec::new(),
            ..Account::default()
        }
    }

    fn role(inline: &[(&str, &str)], attached: &[String]) -> Role {
        Role {
            name: "nodes".into(),
            arn: "arn:aws:iam::123456789012:role/nodes".into(),
            role_id: "AROA".into(),
            path: "/".into(),
            trust_policy: None,
            permissions_boundary: None,
            inline_policies: Some(
                inline
                    .iter()
                    .map(|(name, text)| InlinePolicy { name: (*name).into(), document: Some((*text).into()) })
                    .collect(),
            ),
            attached_policies: Some(attached.to_vec()),
            tags: None,
        }
    }

    fn strings(actions: &[&str]) -> Vec<String> {
        actions.iter().map(|action| (*action).to_owned()).collect()
    }

    #[test]
    fn what_we_wrote_is_recognised_and_what_was_edited_is_not() {
        let text = document(&strings(&["ec2:CreateTags", "ec2:AttachVolume", "ec2:createtags"]));
        assert_eq!(own_grants(&text).unwrap(), Grant::everywhere(["ec2:AttachVolume", "ec2:CreateTags"]));
        assert!(own_grants(&text.replace("AttachVolume", "DetachVolume")).is_none());
        assert!(own_grants(&text.replace("\"*\"", "\"arn:aws:ec2:*:*:volume/*\"")).is_none());
        assert!(own_grants(&document(&strings(&["iam:*"]))).is_none(), "no policy of ours grants a whole service");
        assert!(own_grants(r#"{"Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"}]}"#).is_none());
    }

    fn limited(action: &str, condition: &str) -> Grant {
        let resources = vec!["arn:aws:ec2:*:*:snapshot/*".to_owned(), "arn:aws:ec2:*:*:volume/*".to_owned()];
        Grant::Limited(action.to_owned(), Limits { resources, condition: condition.to_owned() })
    }

    #[test]
    fn rights_with_limits_have_their_statements() {
        let condition = r#"{"StringEquals":{"ec2:CreateAction":["CreateSnapshot","CreateVolume"]}}"#;
        let mut grants = Grant::everywhere(["ec2:DescribeVolumes"]);
        grants.extend([limited("ec2:DeleteVolume", ""), limited("ec2:CreateTags", condition)]);
        grants.push(limited("ec2:AttachVolume", ""));
        let text = document_of(&grants);
        assert_eq!(Document::parse(&text).unwrap().statements.len(), 3);
        let mut read = own_grants(&text).unwrap();
        read.sort();
        grants.sort();
        assert_eq!(read, grants);
        for (from, to) in [
            ("CreateSnapshot\",", "RunInstances\","),
            ("volume/*", "volume/vol-*"),
            ("\"ec2:AttachVolume\",", ""),
            ("ec2:DescribeVolumes", "ec2:*"),
            ("\"Effect\":\"Allow\"", "\"Effect\":\"Deny\""),
            ("\"Version\"", "\"Id\":\"x\",\"Version\""),
            ("\"Version\"", "\"Version\":\"2008-10-17\",\"Version\""),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            assert_eq!(own_grants(&edited), None, "{edited}");
        }
        let whole = document_of(&[limited("ec2:*", "")]);
        assert_eq!(own_grants(&whole), None);
    }

    #[test]
    fn what_our_policy_grants_already_stays() {
        let before = document(&strings(&["ec2:AttachVolume"]));
        let role = role(&[("tagaudit-baseline-worker", &before)], &[]);
        let changes = place(&account(), &role, PolicyPurpose::Worker, &Grant::everywhere(["ec2:CreateTags"])).unwrap();
        let calls = calls(&changes);
        let [Call::PutRolePolicy { document, policy_name, .. }] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!(policy_name, "tagaudit-baseline-worker");
        assert_eq!(own_grants(document).unwrap(), Grant::everywhere(["ec2:AttachVolume", "ec2:CreateTags"]));
    }

    #[test]
    fn keeps_foreign_policies_with_our_name() {
        let theirs = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#;
        let role = role(&[("tagaudit-baseline-worker", theirs)], &[]);
        assert!(
            place(&account(), &role, PolicyPurpose::Worker, &Grant::everywhere(["ec2:CreateTags"]))
                .unwrap_err()
                .to_string()
                .contains("did not write")
        );
    }

    #[test]
    fn uses_a_managed_policy_when_inline_is_full() {
        let large = format!("\"{}\"", "x".repeat(INLINE_QUOTA - 40));
        let full = role(&[("large", &large)], &[]);
        let changes = place(&account(), &full, PolicyPurpose::Worker, &Grant::everywhere(["ec2:CreateTags"])).unwrap();
        assert!(matches!(calls(&changes).as_slice(), [Call::CreatePolicy { .. }, Call::AttachRolePolicy { .. }]));

        let attached: Vec<String> = (0..10).map(|n| format!("arn:aws:iam::123456789012:policy/p{n}")).collect();
        let crowded = role(&[("large", &large)], &attached);
        assert!(
            place(&account(), &crowded, PolicyPurpose::Worker, &Grant::everywhere(["ec2:CreateTags"]))
                .unwrap_err()
                .to_string()
                .contains("10 managed")
        );

        let long: Vec<String> = (0..400).map(|n| format!("service{n}:SomeRatherLongAction")).collect();
        assert!(
            place(&account(), &full, PolicyPurpose::Worker, &Grant::everywhere(&long))
                .unwrap_err()
                .to_string()
                .contains("6144")
        );
    }

    #[test]
    fn our_attached_policy_gets_a_new_version() {
        let large = format!("\"{}\"", "x".repeat(INLINE_QUOTA - 40));
        let mut account = account();
        let arn = "arn:aws:iam::123456789012:policy/tagaudit/tagaudit-baseline-nodes".to_owned();
        account.managed_policies.push(ManagedPolicy {
            arn: arn.clone(),
            version_id: Some("v1".into()),
            document: Some(document(&strings(&["ec2:AttachVolume"]))),
        });
        let role = role(&[("large", &large)], std::slice::from_ref(&arn));
        let changes = place(&account, &role, PolicyPurpose::Worker, &Grant::everywhere(["ec2:CreateTags"])).unwrap();
        let calls = calls(&changes);
        let [Call::CreatePolicyVersion { document, .. }] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!(own_grants(document).unwrap().len(), 2);
    }
}
