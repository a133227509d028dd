//! Roles, policies and instance profiles on the copy of an account.
//! Source: hashicorp/terraform-provider-aws `internal/service/iam/role.go`, `policy.go`, `instance_profile.go`,
//! `role_policies_exclusive.go`, `role_policy_attachments_exclusive.go`.

use serde_json::Value;

use crate::aws::{InlinePolicy, InstanceProfile, ManagedPolicy, Role};
use crate::resource::ResourceKind;

use super::change::{Action, Setting, texts};
use super::links_on_copy::{is_document, on_role};
use super::plan::Text;
use super::trial::Trial;

/// A role: its trust, its boundary, its tags, and the policies that its own blocks manage.
pub(super) fn role(trial: &mut Trial<'_>) {
    let change = trial.change;
    let name = change.identity();
    let is_affected = trial.affected.roles.contains(&name);
    let is_new = !trial.account.roles.iter().any(|role| role.name == name);
    if is_new {
        if change.is(Action::Update) {
            if is_affected {
                trial.undecided(format!("the inventory does not hold the role `{name}`"));
            }
            return;
        }
        let path = change.after_text("path").unwrap_or("/");
        let arn = format!("arn:{}:iam::{}:role{path}{name}", trial.account.partition, trial.account.account_id);
        trial.account.roles.push(Role {
            name: name.clone(),
            arn,
            role_id: change.address.clone(),
            path: path.to_owned(),
            trust_policy: None,
            permissions_boundary: None,
            inline_policies: Some(Vec::new()),
            attached_policies: Some(Vec::new()),
            tags: Some(Vec::new()),
        });
    }
    for key in ["assume_role_policy", "permissions_boundary", "inline_policy", "managed_policy_arns"] {
        // The provider computes the blocks that the configuration does not set.
        let is_computed = matches!(key, "inline_policy" | "managed_policy_arns")
            && change.after(key) == Setting::Unknown
            && !trial.plan.is_configured(change, key);
        // A new role has nothing of the one that it replaces.
        let is_replaced = change.is(Action::Replace);
        if is_computed || !is_replaced && !change.differs(key) {
            continue;
        }
        let after = match (change.after(key), change.has_unknown(key)) {
            (Setting::Known(value), false) => Some(value.clone()),
            (Setting::Absent, false) => None,
            // A policy of the plan is known by its address.
            _ => {
                if let Some(value) = followed(trial, key) {
                    Some(value)
                } else {
                    if is_affected {
                        trial.open(key);
                    }
                    continue;
                }
            }
        };
        let before = change.before(key).filter(|_| !is_replaced).cloned();
        if key == "managed_policy_arns" {
            note_unread_policies(trial, &name, before.as_ref(), after.as_ref());
        }
        on_role(trial, &name, |role| match key {
            "assume_role_policy" => role.trust_policy = after.and_then(|text| text.as_str().map(str::to_owned)),
            "permissions_boundary" => {
                role.permissions_boundary =
                    after.and_then(|arn| arn.as_str().filter(|arn| !arn.is_empty()).map(str::to_owned));
            }
            "inline_policy" => put_inline(role, before.as_ref(), after.as_ref()),
            _ => put_attached(role, before.as_ref(), after.as_ref()),
        });
    }
    let tags = super::tags::change(trial.plan, change);
    if !tags.is_empty() {
        on_role(trial, &name, |role| tags.apply(role.tags.get_or_insert_default()));
    }
    boundary_is_read(trial, &name);
}

/// An unknown attribute that names policies of the plan.
fn followed(trial: &Trial<'_>, key: &str) -> Option<Value> {
    match key {
        "managed_policy_arns" => trial.plan.list(trial.change, key).map(Value::from),
        "permissions_boundary" => match trial.plan.text(trial.change, key) {
            Text::Known(arn) => Some(Value::from(arn)),
            Text::Absent | Text::Unknown => None,
        },
        _ => None,
    }
}

/// A boundary whose document was not read decides everything.
fn boundary_is_read(trial: &mut Trial<'_>, name: &str) {
    if !trial.change.differs("permissions_boundary") || !trial.affected.roles.contains(name) {
        return;
    }
    let role = trial.account.roles.iter().find(|role| role.name == name);
    let Some(boundary) = role.and_then(|role| role.permissions_boundary.clone()) else { return };
    let is_read = |policy: &ManagedPolicy| policy.arn == boundary && policy.document.is_some();
    if !trial.account.managed_policies.iter().any(is_read) {
        trial.undecided(format!("the document of the policy `{boundary}` is not in the inventory"));
    }
}

/// The difference of the `inline_policy` blocks.
fn put_inline(role: &mut Role, before: Option<&Value>, after: Option<&Value>) {
    let of = |value: Option<&Value>| -> Vec<InlinePolicy> {
        let blocks = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |block: &Value, key: &str| {
            block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        blocks
            .iter()
            .filter_map(|block| Some(InlinePolicy { name: text(block, "name")?, document: text(block, "policy") }))
            .collect()
    };
    let (before, after) = (of(before), of(after));
    let held = role.inline_policies.get_or_insert_default();
    held.retain(|one| !before.iter().any(|old| old.name == one.name && !after.contains(old)));
    for policy in after.into_iter().filter(|one| !before.contains(one)) {
        held.retain(|one| one.name != policy.name);
        held.push(policy);
    }
}

/// The difference of `managed_policy_arns`.
fn put_attached(role: &mut Role, before: Option<&Value>, after: Option<&Value>) {
    let (before, after) = (texts(before), texts(after));
    let held = role.attached_policies.get_or_insert_default();
    held.retain(|arn| !before.contains(arn) || after.contains(arn));
    for arn in after {
        if !before.contains(&arn) && !held.contains(&arn) {
            held.push(arn);
        }
    }
}

/// An added policy whose document was not read may deny anything.
fn note_unread_policies(trial: &mut Trial<'_>, name: &str, before: Option<&Value>, after: Option<&Value>) {
    if !trial.affected.roles.contains(name) {
        return;
    }
    let before = texts(before);
    for arn in texts(after).into_iter().filter(|arn| !before.contains(arn)) {
        let is_read = |policy: &ManagedPolicy| policy.arn == arn && policy.document.is_some();
        if !trial.account.managed_policies.iter().any(is_read) {
            trial.undecided(format!("the document of the policy `{arn}` is not in the inventory"));
        }
    }
}

/// Removes a role.
pub(super) fn remove_role(trial: &mut Trial<'_>, name: &str) {
    on_role(trial, name, |_| {});
    trial.account.roles.retain(|role| role.name != name);
    empty_profiles(trial, name);
}

/// IAM deletes no role that an instance profile holds: the provider takes it out of its profiles first.
/// Source: hashicorp/terraform-provider-aws `internal/service/iam/role.go#deleteRole`.
fn empty_profiles(trial: &mut Trial<'_>, name: &str) {
    let mut emptied = Vec::new();
    for profile in trial.account.instance_profiles.iter_mut().filter(|one| one.roles.iter().any(|role| role == name)) {
        profile.roles.retain(|role| role != name);
        emptied.push(profile.arn.clone());
    }
    for arn in emptied {
        trial.touch(ResourceKind::InstanceProfile, &arn);
    }
}

/// Takes away what does not survive the replacement of a role: its place in profiles, and its policies, which the plan
/// adds again or not. If the provider does not detach the policies, IAM refuses to delete the role.
pub(super) fn replace_role(trial: &mut Trial<'_>, name: &str) {
    let change = trial.change;
    if change.identity() != name {
        return remove_role(trial, name);
    }
    empty_profiles(trial, name);
    if change.before("force_detach_policies").and_then(Value::as_bool) == Some(true) {
        on_role(trial, name, |role| {
            role.inline_policies = Some(Vec::new());
            role.attached_policies = Some(Vec::new());
        });
    } else if trial.affected.roles.contains(name) {
        trial.undecided("the role is replaced: policies that the plan does not attach again are lost");
    }
}

/// A managed policy: its document.
pub(super) fn policy(trial: &mut Trial<'_>) {
    let change = trial.change;
    let arn = change.identity();
    if !change.is(Action::Create) && !change.differs("policy") {
        return;
    }
    let planned = trial.plan.text(change, "policy");
    let document = match planned {
        Text::Known(document) if is_document(&document) => Some(document),
        Text::Known(_) | Text::Absent | Text::Unknown => {
            let users = |role: &&Role| {
                role.attached_policies.as_ref().is_some_and(|attached| attached.contains(&arn))
                    || role.permissions_boundary.as_ref() == Some(&arn)
            };
            let matters =
                trial.account.roles.iter().filter(users).any(|role| trial.affected.roles.contains(&role.name));
            match planned {
                _ if !matters => {
                    // A role that gets it later in the plan has a policy of which nothing is known.
                    let mut all = trial.account.managed_policies.iter_mut();
                    if let Some(held) = all.find(|policy| policy.arn == arn) {
                        held.document = None;
                    }
                }
                Text::Unknown => trial.open("policy"),
                Text::Known(_) | Text::Absent => trial.undecided("`policy` is not a policy document: IAM refuses it"),
            }
            return;
        }
    };
    let held = trial.account.managed_policies.iter_mut().find(|policy| policy.arn == arn);
    match held {
        Some(policy) => policy.document = document,
        None if change.is(Action::Create) => {
            trial.account.managed_policies.push(ManagedPolicy { arn: arn.clone(), version_id: None, document });
        }
        None => {}
    }
    touch_policy(trial, &arn);
}

/// Marks a policy as changed, and every role that has it.
fn touch_policy(trial: &mut Trial<'_>, arn: &str) {
    let is_user = |role: &&Role| {
        role.attached_policies.as_ref().is_some_and(|attached| attached.iter().any(|one| one == arn))
            || role.permissions_boundary.as_deref() == Some(arn)
    };
    let roles: Vec<String> = trial.account.roles.iter().filter(is_user).map(|role| role.arn.clone()).collect();
    for role in roles {
        trial.touch(ResourceKind::Role, &role);
    }
    trial.touch(ResourceKind::Policy, arn);
}

pub(super) fn remove_policy(trial: &mut Trial<'_>, arn: &str) {
    touch_policy(trial, arn);
    for role in &mut trial.account.roles {
        if let Some(attached) = &mut role.attached_policies {
            attached.retain(|one| one != arn);
        }
    }
    trial.account.managed_policies.retain(|policy| policy.arn != arn);
}

/// An instance profile: its role.
pub(super) fn profile(trial: &mut Trial<'_>) {
    let change = trial.change;
    let name = change.identity();
    let is_update = change.is(Action::Update);
    if is_update && !change.differs("role") {
        return;
    }
    let roles: Vec<String> = match trial.plan.text(change, "role") {
        Text::Known(role) => vec![role],
        Text::Absent => Vec::new(),
        Text::Unknown => {
            if trial.affected.profiles.contains(&name) {
                trial.open("role");
            }
            return;
        }
    };
    let path = change.after_text("path").unwrap_or("/");
    let arn = format!("arn:{}:iam::{}:instance-profile{path}{name}", trial.account.partition, trial.account.account_id);
    let arn = change.before_text("arn").filter(|_| is_update).unwrap_or(&arn).to_owned();
    for role in &roles {
        on_role(trial, role, |_| {});
    }
    match trial.account.instance_profiles.iter_mut().find(|profile| profile.arn == arn) {
        Some(profile) => {
            profile.roles = roles;
            profile.exists = true;
        }
        None => trial.account.instance_profiles.push(InstanceProfile { arn: arn.clone(), exists: true, roles }),
    }
    trial.touch(ResourceKind::InstanceProfile, &arn);
}

pub(super) fn remove_profile(trial: &mut Trial<'_>, name: &str) {
    let Some(arn) = trial.change.before_text("arn").map(str::to_owned).or_else(|| arn_of_profile(trial, name)) else {
        return;
    };
    for profile in trial.account.instance_profiles.iter_mut().filter(|profile| profile.arn == arn) {
        profile.exists = false;
        profile.roles.clear();
    }
    trial.touch(ResourceKind::InstanceProfile, &arn);
}

/// Takes away what does not survive the replacement of a profile: its ARN, if that changes. Instances keep the deleted one,
/// even if a new one has its name.
/// Source: IAM API Reference, `DeleteInstanceProfile`.
pub(super) fn replace_profile(trial: &mut Trial<'_>, name: &str) {
    let change = trial.change;
    let path = |text: Option<&str>| text.unwrap_or("/").to_owned();
    let is_renamed = change.before_text("name").is_some_and(|before| before != change.identity());
    if is_renamed || path(change.before_text("path")) != path(change.after_text("path")) {
        return remove_profile(trial, name);
    }
    if trial.affected.profiles.contains(name) {
        trial
            .undecided(format!("instances keep the deleted instance profile `{name}` until they are associated again"));
    }
}

/// The ARN of a profile of the account, by its name.
pub(super) fn arn_of_profile(trial: &Trial<'_>, name: &str) -> Option<String> {
    let ends = |profile: &&InstanceProfile| profile.arn.rsplit('/').next() == Some(name);
    trial.account.instance_profiles.iter().find(ends).map(|profile| profile.arn.clone())
}

pub(super) fn oidc_provider(trial: &mut Trial<'_>) {
    let change = trial.change;
    if change.is(Action::Update) && change.differs("client_id_list") {
        trial.undecided("which audiences the provider accepts is not in the inventory");
    }
    let Some(arn) = change.before_text("arn").or_else(|| change.after_text("arn")).map(str::to_owned).or_else(|| {
        let host = change.after_text("url")?.trim_start_matches("https://");
        let account = &*trial.account;
        Some(format!("arn:{}:iam::{}:oidc-provider/{host}", account.partition, account.account_id))
    }) else {
        return;
    };
    if let Some(providers) = &mut trial.account.oidc_providers
        && !providers.contains(&arn)
    {
        providers.push(arn);
    }
}

pub(super) fn remove_oidc_provider(trial: &mut Trial<'_>) {
    let arn = trial.change.before_text("arn");
    let trusts = |role: &&Role| {
        let trust = role.trust_policy.as_deref().unwrap_or_default();
        arn.is_some_and(|arn| trust.contains(arn))
    };
    let users: Vec<(String, String)> =
        trial.account.roles.iter().filter(trusts).map(|role| (role.name.clone(), role.arn.clone())).collect();
    for (name, role) in users {
        trial.touch(ResourceKind::Role, &role);
        // Without the ServiceAccounts, no rule looks at its trust.
        if trial.affected.roles.contains(&name) {
            trial.undecided(format!("the role `{name}` trusts it: no token of it is accepted any more"));
        }
    }
    if let Some(providers) = &mut trial.account.oidc_providers {
        providers.retain(|one| Some(one.as_str()) != arn);
    }
}

/// The inline policies that a role may have: others are removed.
pub(super) fn only_inline(trial: &mut Trial<'_>) {
    only(trial, "policy_names", |role, names| {
        let Some(held) = &mut role.inline_policies else { return };
        held.retain(|policy| names.contains(&policy.name));
    });
}

/// The managed policies that a role may have: others are detached, and those that it lacks are attached.
pub(super) fn only_attached(trial: &mut Trial<'_>) {
    only(trial, "policy_arns", |role, arns| role.attached_policies = Some(arns.to_vec()));
}

fn only(trial: &mut Trial<'_>, key: &str, change: impl FnOnce(&mut Role, &[String])) {
    let Text::Known(role) = trial.plan.text(trial.change, "role_name") else {
        trial.open("role_name");
        return;
    };
    match trial.plan.list(trial.change, key) {
        Some(names) => on_role(trial, &role, |role| change(role, &names)),
        None if trial.affected.roles.contains(&role) => trial.open(key),
        None => {}
    }
}
