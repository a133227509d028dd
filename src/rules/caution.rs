//! What a fix has to be careful about: resources that others own, share, or will make again. A rule says what would mend
//! the finding; here it is decided whether that may happen without asking.

use std::collections::BTreeMap;

use crate::finding::{Applicability, Change};
use crate::inventory::{Instance, Tag};
use crate::tags::{self, LEGACY_TAG, OWNED, ROLE_ELB, ROLE_INTERNAL_ELB, SHARED};
use crate::text;
use crate::view::{AUTO_SCALING_GROUP_TAG, ClusterView, RegionView};

use super::Violation;

/// Who makes a resource again from a template of its own, as far as tags tell. Terraform leaves no mark.
#[must_use]
pub(crate) fn maker(resource_tags: &[Tag]) -> Option<String> {
    let value = |key: &str| tags::value(resource_tags, key).map(text::printable);
    if let Some(stack) = value("aws:cloudformation:stack-name") {
        return Some(format!("the CloudFormation stack `{stack}`"));
    }
    if resource_tags.iter().any(|tag| tag.key.starts_with("aws:cloudformation:")) {
        return Some("a CloudFormation stack".to_owned());
    }
    if let Some(pool) = value("karpenter.sh/nodepool").or_else(|| value("karpenter.sh/provisioner-name")) {
        return Some(format!("the Karpenter node pool `{pool}`"));
    }
    if resource_tags.iter().any(|tag| tag.key.starts_with("karpenter.sh/")) {
        return Some("Karpenter".to_owned());
    }
    value(AUTO_SCALING_GROUP_TAG).map(|group| format!("the Auto Scaling group `{group}`"))
}

/// Says what the operator has to know about the resources of a fix, and takes `safe` from it where it is not provable.
pub(super) fn settle(violation: &mut Violation, view: &ClusterView<'_>) {
    mark_shared(violation, view);
    name_makers(violation, view);
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let safe = || violation.fix.changes.iter().all(|change| is_safe(change, account, view));
    if violation.fix.applicability == Applicability::Safe && !safe() {
        violation.fix.applicability = Applicability::Confirm;
    }
}

/// Says whose a shared resource is. Tags on it are kept by each account for itself, so the controller sees those that its
/// own account set, as we do; whether to write on what another account owns is for a person to decide.
/// Source: Amazon VPC User Guide, "Share your VPC subnets with other accounts".
fn mark_shared(violation: &mut Violation, view: &ClusterView<'_>) {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let touched = writes(violation).flat_map(Change::ec2_resources).chain([violation.resource.id.as_str()]);
    let shared: BTreeMap<&str, &str> = touched.filter_map(|id| Some((id, *view.shared.get(&(account, id))?))).collect();
    if shared.is_empty() {
        return;
    }
    let ids: Vec<&str> = shared.keys().copied().collect();
    let mut owners: Vec<&str> = shared.into_values().collect();
    owners.sort_unstable();
    owners.dedup();
    let note = format!(
        "; {} {} to account {}, and this account sees only the tags that it set itself, as the controller does",
        crate::text::list(&ids, 3),
        if ids.len() == 1 { "belongs" } else { "belong" },
        crate::text::list(&owners, 3)
    );
    violation.message.push_str(&note);
}

/// The writes of a fix and of all answers to its question.
fn writes(violation: &Violation) -> impl Iterator<Item = &Change> {
    let fix = &violation.fix;
    fix.changes.iter().chain(fix.choices.iter().flat_map(|choice| &choice.changes))
}

fn region<'v, 'a>(view: &'v ClusterView<'a>, account: &str, name: &str) -> Option<&'v RegionView<'a>> {
    view.regions.iter().find(|region| region.account.account_id == account && region.region.name == name)
}

/// What a template makes again loses the fix with the next instance or update: the advice is to mend the template.
fn name_makers(violation: &mut Violation, view: &ClusterView<'_>) {
    let account = violation.resource.account_id.as_deref().unwrap_or_default();
    let mut makers: Vec<String> = Vec::new();
    for change in writes(violation) {
        match change {
            Change::PutRolePolicy { role, .. } | Change::AttachRolePolicy { role, .. } => {
                let account = view.inventory.accounts.iter().find(|known| known.account_id == account);
                let role = account.and_then(|account| account.roles.iter().find(|known| known.name == *role));
                makers.extend(role.and_then(|role| maker(role.tags.as_deref().unwrap_or_default())));
            }
            change => {
                let Some(region) = change.region().and_then(|name| region(view, account, name)) else { continue };
                makers.extend(change.ec2_resources().filter_map(|id| maker(region.tags_of(id)?)));
            }
        }
    }
    makers.sort_unstable();
    makers.dedup();
    if makers.is_empty() {
        return;
    }
    let note = format!("; made by {}: mend that too, or it comes back", text::list(&makers, 3));
    violation.fix.summary.push_str(&note);
}

/// Whether a write only adds the one lawful value to a resource that provably belongs to this cluster alone.
fn is_safe(change: &Change, account: &str, view: &ClusterView<'_>) -> bool {
    let Change::CreateTags { region: name, resources, key, value } = change else { return false };
    let Some(region) = region(view, account, name) else { return false };
    let own = view.cluster_id;
    resources.iter().all(|id| {
        let Some(held) = region.tags_of(id) else { return false };
        let instance = region.instance(id);
        let lawful = if *key == tags::cluster_key(own) {
            if instance.is_some() { value == OWNED } else { is_network(region, id) && value == SHARED }
        } else {
            region.subnet(id).is_some() && [ROLE_ELB, ROLE_INTERNAL_ELB].contains(&key.as_str()) && value == "1"
        };
        let alone = !tags::has_foreign_cluster_tag(held, own)
            && tags::value(held, LEGACY_TAG).is_none_or(|legacy| legacy.is_empty() || legacy == own);
        lawful
            && alone
            && tags::value(held, key).is_none()
            && maker(held).is_none()
            && instance.is_none_or(|instance| instance.managed_by.is_none() && !forbids_slash(instance))
            && !view.shared.contains_key(&(account, id.as_str()))
    })
}

fn is_network(region: &RegionView<'_>, id: &str) -> bool {
    region.subnet(id).is_some() || region.vpc(id).is_some()
}

/// Whether the metadata service makes a key with a slash impossible. Source: Amazon EC2 User Guide, "View tags using
/// instance metadata".
#[must_use]
pub(crate) fn forbids_slash(instance: &Instance) -> bool {
    let options = instance.metadata_options.as_ref();
    options.is_some_and(|options| options.instance_metadata_tags.as_deref() == Some("enabled"))
}
