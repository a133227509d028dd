//! Roles, users, groups and policies of RAM on the copy of an account.
//! Source: aliyun/terraform-provider-alicloud `alicloud/resource_alicloud_ram_role.go`, `_ram_policy.go`, `_ram_user.go`,
//! `_ram_group.go`, `_resource_manager_role.go`, `_resource_manager_policy.go`.

use crate::alibaba::{Attachment, Policy, PolicyType, Principal, PrincipalKind, principal_arn};
use crate::guard::change::Action;
use crate::resource::ResourceKind;

use super::{New, Trial};

/// Names of the attribute with the document of a policy.
const DOCUMENT: [&str; 2] = ["policy_document", "document"];

/// Names of the attribute with the trust policy of a role.
const TRUST: [&str; 2] = ["assume_role_policy_document", "document"];

/// A trust policy that admits nobody.
const NOBODY: &str = r#"{"Version":"1","Statement":[]}"#;

/// Changes a principal of the copy, and marks it.
pub(super) fn on_principal(
    trial: &mut Trial<'_>,
    kind: PrincipalKind,
    name: &str,
    change: impl FnOnce(&mut Principal),
) -> bool {
    let found = trial.account.principals.iter_mut().find(|one| one.kind == kind && one.name.eq_ignore_ascii_case(name));
    let Some(principal) = found else { return false };
    change(principal);
    let name = principal.name.clone();
    mark(trial, kind, &name);
    true
}

/// Marks a principal as changed; with a group, its users.
fn mark(trial: &mut Trial<'_>, kind: PrincipalKind, name: &str) {
    let resource = if kind == PrincipalKind::Role { ResourceKind::RamRole } else { ResourceKind::RamUser };
    let account = trial.account.account_id.clone();
    trial.touch(resource, &principal_arn(&account, kind, name));
    if kind == PrincipalKind::Group {
        let has_group = |one: &&Principal| one.groups.iter().flatten().any(|group| group.eq_ignore_ascii_case(name));
        let users: Vec<String> =
            trial.account.principals.iter().filter(has_group).map(|one| one.name.clone()).collect();
        for user in users {
            trial.touch(ResourceKind::RamUser, &principal_arn(&account, PrincipalKind::User, &user));
        }
    }
}

/// Marks every principal to which a custom policy is attached.
fn mark_holders(trial: &mut Trial<'_>, policy: &str) {
    let holders: Vec<(PrincipalKind, String)> = trial
        .account
        .principals
        .iter()
        .filter(|one| attachments(one).any(|held| held.policy_type == PolicyType::Custom && held.policy == policy))
        .map(|one| (one.kind, one.name.clone()))
        .collect();
    for (kind, name) in &holders {
        mark(trial, *kind, name);
    }
}

fn attachments(principal: &Principal) -> impl Iterator<Item = &Attachment> {
    [&principal.attachments, &principal.resource_group_attachments].into_iter().flatten().flatten()
}

fn list_mut<'p>(principal: &'p mut Principal, attachment: &Attachment) -> &'p mut Option<Vec<Attachment>> {
    match attachment.resource_group_id {
        Some(_) => &mut principal.resource_group_attachments,
        None => &mut principal.attachments,
    }
}

/// Attaches a policy. What its document allows or denies is undecided if the inventory does not hold it.
pub(super) fn attached(trial: &mut Trial<'_>, (kind, name): (PrincipalKind, &str), attachment: &Attachment) {
    let is_read = trial.account.policy(attachment).is_some_and(|policy| policy.document.is_some());
    let mut is_new = false;
    let is_held = on_principal(trial, kind, name, |one| {
        // A list that was not read stays unread.
        if let Some(list) = list_mut(one, attachment).as_mut().filter(|list| !list.contains(attachment)) {
            list.push(attachment.clone());
            is_new = true;
        }
    });
    if !trial.affected.uses(kind, name) {
        return;
    }
    if !is_held {
        trial.undecided(format!("the inventory does not hold the {} `{name}`", kind.name()));
    } else if is_new && !is_read {
        trial.undecided(format!("the document of the policy `{}` is not in the inventory", attachment.policy));
    }
}

pub(super) fn detached(trial: &mut Trial<'_>, (kind, name): (PrincipalKind, &str), attachment: &Attachment) {
    on_principal(trial, kind, name, |one| {
        if let Some(list) = list_mut(one, attachment) {
            list.retain(|held| held != attachment);
        }
    });
}

/// The name before the plan; that of after for one that another change makes again.
fn old_name(trial: &Trial<'_>, key: &str) -> String {
    let change = trial.change;
    let before = [key, "name", "id"].into_iter().find_map(|key| change.before_text(key));
    before.map_or_else(|| change.identity(), str::to_owned)
}

/// Removes a policy, or one that gets another name. RAM deletes no attached policy: the provider or the plan detaches it
/// first.
pub(super) fn remove_policy(trial: &mut Trial<'_>) {
    let name = old_name(trial, "policy_name");
    mark_holders(trial, &name);
    // Without `force`, RAM refuses to delete a policy that is attached.
    if !trial.is_gone() && trial.change.identity() == name && !is_forced(trial) {
        return;
    }
    let is_it = |held: &Attachment| held.policy_type == PolicyType::Custom && held.policy == name;
    trial.account.policies.retain(|one| one.policy_type != PolicyType::Custom || one.name != name);
    for principal in &mut trial.account.principals {
        for list in [&mut principal.attachments, &mut principal.resource_group_attachments].into_iter().flatten() {
            list.retain(|held| !is_it(held));
        }
    }
}

pub(super) fn policy(trial: &mut Trial<'_>) {
    let name = trial.change.identity();
    let is_it = |one: &Policy| one.policy_type == PolicyType::Custom && one.name == name;
    let is_held = trial.account.policies.iter().any(is_it);
    // The policies of the inventory are those that a principal in it has.
    if !is_held && trial.change.is(Action::Update) {
        return;
    }
    if !is_held {
        trial.account.policies.push(Policy {
            policy_type: PolicyType::Custom,
            name: name.clone(),
            default_version: Some("v1".to_owned()),
            document: None,
            attachment_count: Some(0),
        });
    }
    let document = match trial.new_text(&DOCUMENT) {
        New::Text(text) => text,
        New::Unchanged | New::Removed => {
            // They decide the document too, which then keeps its old text in the plan.
            let others = ["statement", "version", "default_version"].into_iter().filter(|key| trial.sets(key));
            let others: Vec<&str> = others.collect();
            if !others.is_empty() && is_used(trial, &name) {
                trial
                    .undecided(format!("`{}` decides its document, which the plan does not show", others.join("`, `")));
            }
            return;
        }
        New::Unknown(key) => {
            if is_used(trial, &name) {
                trial.open(key);
            }
            return;
        }
    };
    if let Some(held) = trial.account.policies.iter_mut().find(|one| is_it(one)) {
        held.document = Some(document);
    }
    mark_holders(trial, &name);
}

/// True if a principal of a cluster has a custom policy.
fn is_used(trial: &Trial<'_>, policy: &str) -> bool {
    trial.account.principals.iter().any(|one| {
        trial.affected.uses(one.kind, &one.name)
            && attachments(one).any(|held| held.policy_type == PolicyType::Custom && held.policy == policy)
    })
}

/// True if the provider first takes everything from an object that it deletes.
fn is_forced(trial: &Trial<'_>) -> bool {
    trial.change.before("force").and_then(serde_json::Value::as_bool) == Some(true)
}

/// Takes a principal away: it can do nothing, and nobody can use it.
fn remove(trial: &mut Trial<'_>, kind: PrincipalKind, name: &str) {
    let is_gone = on_principal(trial, kind, name, |one| {
        one.attachments = Some(Vec::new());
        one.resource_group_attachments = Some(Vec::new());
        one.trust_policy = one.trust_policy.as_ref().map(|_| NOBODY.to_owned());
        one.groups = one.groups.as_ref().map(|_| Vec::new());
    });
    if kind == PrincipalKind::Group {
        for principal in &mut trial.account.principals {
            principal.groups.iter_mut().for_each(|groups| groups.retain(|one| !one.eq_ignore_ascii_case(name)));
        }
    }
    if kind == PrincipalKind::Role {
        // The metadata service gives no credentials of a role that does not exist.
        let mut left = Vec::new();
        for instance in trial.account.regions.iter_mut().flat_map(|region| &mut region.instances) {
            if instance.ram_role.as_deref().is_some_and(|held| held.eq_ignore_ascii_case(name)) {
                instance.ram_role = None;
                left.push(instance.id.clone());
            }
        }
        for id in &left {
            trial.touch(ResourceKind::Instance, id);
        }
        if is_gone && trial.affected.rrsa.contains(&name.to_lowercase()) {
            trial.account.principals.retain(|one| one.kind != kind || !one.name.eq_ignore_ascii_case(name));
            trial.account.absent_roles.push(name.to_owned());
        }
    }
}

pub(super) fn remove_role(trial: &mut Trial<'_>) {
    let name = old_name(trial, "role_name");
    if trial.is_gone() || !trial.change.identity().eq_ignore_ascii_case(&name) {
        return remove(trial, PrincipalKind::Role, &name);
    }
    // The role that takes its place has only the policies that the plan attaches.
    if is_forced(trial) {
        on_principal(trial, PrincipalKind::Role, &name, |one| {
            one.attachments = Some(Vec::new());
            one.resource_group_attachments = Some(Vec::new());
        });
    } else if trial.affected.uses(PrincipalKind::Role, &name) {
        trial.undecided("the role is replaced: policies that the plan does not attach again are lost");
    }
}

pub(super) fn role(trial: &mut Trial<'_>) {
    let name = trial.change.identity();
    let is_held = trial.account.principal(PrincipalKind::Role, &name).is_some();
    if !is_held && !add(trial, PrincipalKind::Role, &name) {
        return;
    }
    match trial.new_text(&TRUST) {
        New::Text(text) => {
            on_principal(trial, PrincipalKind::Role, &name, |one| one.trust_policy = Some(text));
        }
        New::Unknown(key) if trial.affected.uses(PrincipalKind::Role, &name) => trial.open(key),
        New::Unchanged if trial.affected.uses(PrincipalKind::Role, &name) => {
            // Attributes of old versions of the provider, from which it makes the trust policy.
            let others = ["ram_users", "services", "version"].into_iter().filter(|key| trial.sets(key));
            let others: Vec<&str> = others.collect();
            if !others.is_empty() {
                let names = others.join("`, `");
                trial.undecided(format!("`{names}` decides its trust policy, which the plan does not show"));
            }
        }
        New::Unknown(_) | New::Removed | New::Unchanged => {}
    }
}

/// Adds a principal that the plan makes; false for an update of one that the inventory does not hold, which is undecided if
/// a cluster uses it.
fn add(trial: &mut Trial<'_>, kind: PrincipalKind, name: &str) -> bool {
    if trial.change.is(Action::Update) {
        if trial.affected.uses(kind, name) {
            trial.undecided(format!("the inventory does not hold the {} `{name}`", kind.name()));
        }
        return false;
    }
    let is_user = kind == PrincipalKind::User;
    trial.account.principals.push(Principal {
        attachments: Some(Vec::new()),
        resource_group_attachments: Some(Vec::new()),
        groups: is_user.then(Vec::new),
        ..Principal::new(kind, name)
    });
    trial.account.absent_roles.retain(|one| kind != PrincipalKind::Role || !one.eq_ignore_ascii_case(name));
    mark(trial, kind, name);
    true
}

pub(super) fn remove_user(trial: &mut Trial<'_>) {
    let name = old_name(trial, "name");
    if trial.is_gone() || !trial.change.identity().eq_ignore_ascii_case(&name) {
        remove(trial, PrincipalKind::User, &name);
    } else if trial.affected.uses(PrincipalKind::User, &name) {
        trial.undecided(
            "the user is replaced: its access keys, and policies that the plan does not attach again, are lost",
        );
    }
}

/// A principal that gets another name keeps its policies. What names it in the cluster is not in the account.
fn is_renamed(trial: &mut Trial<'_>, kind: PrincipalKind, key: &str) -> bool {
    let (before, after) = (old_name(trial, key), trial.change.identity());
    let is_renamed = trial.change.is(Action::Update) && before != after;
    if is_renamed && trial.affected.uses(kind, &before) {
        trial.undecided(format!("the {} `{before}` gets another name, `{after}`", kind.name()));
    }
    is_renamed
}

/// A user or a group, which has nothing but its name.
fn named(trial: &mut Trial<'_>, kind: PrincipalKind, key: &str) {
    if is_renamed(trial, kind, key) {
        return;
    }
    let name = trial.change.identity();
    if trial.account.principal(kind, &name).is_none() {
        add(trial, kind, &name);
    }
}

pub(super) fn user(trial: &mut Trial<'_>) {
    named(trial, PrincipalKind::User, "name");
}

pub(super) fn remove_group(trial: &mut Trial<'_>) {
    let name = old_name(trial, "group_name");
    if trial.is_gone() || !trial.change.identity().eq_ignore_ascii_case(&name) || is_forced(trial) {
        remove(trial, PrincipalKind::Group, &name);
    }
}

pub(super) fn group(trial: &mut Trial<'_>) {
    named(trial, PrincipalKind::Group, "group_name");
}
