//! Observes and simulates changes in an Alibaba Cloud account.

use std::collections::BTreeSet;

use crate::alibaba::view::{SCALING_GROUP_TAG, STACK_TAG, cluster_ids};
use crate::alibaba::{
    Account, Attachment, CLUSTER_TAG, CUSTOM_ATTACHMENTS_QUOTA, Instance, Inventory, Policy, PolicyType, Principal,
    PrincipalKind, SYSTEM_TAG_PREFIX, TAG_QUOTA, grant,
};
use crate::fix::plan::PlannedChange;
use crate::fix::plan::observed::{Observed, digest};
use crate::tags::{self, Tag};
use crate::text;
use crate::transition::{Attribute, Target, Transition, Value, policy_name};

fn instance<'a>(account: &'a Account, target: &Target) -> Option<&'a Instance> {
    let region = account.regions.iter().find(|region| region.name == target.region())?;
    region.instances.iter().find(|instance| instance.id == target.id)
}

fn role<'a>(account: &'a Account, name: &str) -> Option<&'a Principal> {
    account.principal(PrincipalKind::Role, name)
}

/// The attachment of a custom policy that holds in the account.
fn attachment(arn: &str) -> Attachment {
    Attachment { policy_type: PolicyType::Custom, policy: policy_name(arn).to_owned(), resource_group_id: None }
}

/// Tags that identify the cluster of an instance, or what re-creates it, sorted by key.
fn cluster_tags(all: &[Tag]) -> Vec<Tag> {
    let counts = |tag: &&Tag| {
        tag.key == CLUSTER_TAG || tags::is_membership(&tag.key) || [SCALING_GROUP_TAG, STACK_TAG].contains(&&*tag.key)
    };
    let mut found: Vec<Tag> = all.iter().filter(counts).cloned().collect();
    found.sort();
    found
}

/// Observes the state that a change depends on; `None` if the resource does not exist or was not read.
pub(super) fn observe(account: &Account, target: &Target, attribute: &Attribute) -> Option<Observed> {
    match attribute {
        Attribute::Tag { key } => {
            let instance = instance(account, target)?;
            let user_tags = instance.tags.iter().filter(|tag| !tag.key.starts_with(SYSTEM_TAG_PREFIX)).count();
            Some(Observed {
                value: tags::value(&instance.tags, key).map(|value| Value::Text(value.to_owned())),
                vpc_id: instance.vpc_id.clone(),
                addresses: Some(instance.private_addresses.clone()),
                cluster_tags: cluster_tags(&instance.tags),
                free_tag_slots: Some(TAG_QUOTA.saturating_sub(user_tags)),
                ..Observed::default()
            })
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let role = role(account, &target.id)?;
            let attached = role.attachments.as_deref()?;
            let wanted = attachment(policy_arn);
            let custom = attached.iter().filter(|one| one.policy_type == PolicyType::Custom).count();
            let document = account.policy(&wanted).and_then(|policy| policy.document.as_deref());
            Some(Observed {
                value: attached.contains(&wanted).then_some(Value::Attached),
                role_id: role.id.clone(),
                attachments_left: Some(CUSTOM_ATTACHMENTS_QUOTA.saturating_sub(custom)),
                policy_sha256: document.map(digest),
                is_protected: grant::is_protected(&role.name),
                ..Observed::default()
            })
        }
        Attribute::ManagedPolicy {} => {
            let value = match account.policy(&attachment(&target.id)) {
                None => None,
                // A document that could not be read is not absent.
                Some(policy) => Some(Value::Document(policy.document.clone()?)),
            };
            Some(Observed { value, ..Observed::default() })
        }
        Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {}
        | Attribute::GroupTag { .. }
        | Attribute::TemplateTags { .. }
        | Attribute::Resource {}
        | Attribute::IngressRule { .. }
        | Attribute::InlinePolicy { .. } => None,
    }
}

/// Makes a change in an inventory. A missing resource is left as it is.
pub(super) fn simulate(account: &mut Account, transition: &Transition) {
    let Transition { target, attribute, new, .. } = transition;
    match attribute {
        Attribute::Tag { key } => {
            let region = account.regions.iter_mut().find(|region| region.name == target.region());
            let found = region.and_then(|region| region.instances.iter_mut().find(|instance| instance.id == target.id));
            let Some(instance) = found else { return };
            instance.tags.retain(|tag| tag.key != *key);
            if let Some(value) = new {
                instance.tags.push(Tag { key: key.clone(), value: value.to_string() });
                instance.tags.sort();
            }
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let is_it =
                |one: &&mut Principal| one.kind == PrincipalKind::Role && one.name.eq_ignore_ascii_case(&target.id);
            let found = account.principals.iter_mut().find(is_it);
            let Some(attached) = found.and_then(|role| role.attachments.as_mut()) else { return };
            let wanted = attachment(policy_arn);
            attached.retain(|one| *one != wanted);
            if new.is_some() {
                attached.push(wanted.clone());
                attached.sort();
            }
            let is_it = |policy: &&mut Policy| policy.policy_type == wanted.policy_type && policy.name == wanted.policy;
            if let Some(count) = account.policies.iter_mut().find(is_it).and_then(|one| one.attachment_count.as_mut()) {
                *count = if new.is_some() { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        }
        Attribute::ManagedPolicy {} => {
            let name = policy_name(&target.id).to_owned();
            let is_it = |policy: &Policy| policy.policy_type == PolicyType::Custom && policy.name == name;
            let document = new.as_ref().and_then(Value::document).map(str::to_owned);
            match (account.policies.iter_mut().find(|policy| is_it(policy)), document) {
                (Some(policy), Some(document)) => policy.document = Some(document),
                (None, Some(document)) => {
                    let policy_type = PolicyType::Custom;
                    let default_version = Some("v1".to_owned());
                    account.policies.push(Policy {
                        policy_type,
                        name,
                        default_version,
                        document: Some(document),
                        attachment_count: Some(0),
                    });
                    account.policies.sort_by(|a, b| (a.policy_type, &a.name).cmp(&(b.policy_type, &b.name)));
                }
                (_, None) => account.policies.retain(|policy| !is_it(policy)),
            }
        }
        Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {}
        | Attribute::GroupTag { .. }
        | Attribute::TemplateTags { .. }
        | Attribute::Resource {}
        | Attribute::IngressRule { .. }
        | Attribute::InlinePolicy { .. } => {}
    }
}

/// Longest tag value in ECS (ECS 2014-05-26, `TagResources`, `Tag.N.Value`).
const MAX_ECS_VALUE: usize = 128;

/// Reason ECS would refuse a tag. Source: ECS 2014-05-26, `TagResources`, `Tag.N`.
pub(super) fn limit(new: Option<&Value>, found: &Observed) -> Option<String> {
    let value = new?.to_string();
    let begins = |prefix: &str| value.get(..prefix.len()).is_some_and(|text| text.eq_ignore_ascii_case(prefix));
    if value.chars().count() > MAX_ECS_VALUE {
        return Some(format!("an ECS tag value has at most {MAX_ECS_VALUE} characters"));
    }
    if begins("aliyun") || begins("acs:") || value.contains("http://") || value.contains("https://") {
        return Some(format!("ECS accepts no tag value like `{}`", text::printable(&value)));
    }
    if found.value.is_none() && found.free_tag_slots == Some(0) {
        return Some(format!("it has {TAG_QUOTA} tags already, as many as ECS allows"));
    }
    None
}

/// Other clusters that a plan could harm: those named on the changed instances, or with instances in the same VPC.
pub(super) fn neighbours(inventory: &Inventory, own: &str, changes: &[&PlannedChange]) -> BTreeSet<String> {
    let vpcs: BTreeSet<&str> = changes.iter().filter_map(|change| change.expect.vpc_id.as_deref()).collect();
    let touched: BTreeSet<&str> = changes.iter().map(|change| change.transition.target.id.as_str()).collect();
    let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
    let near = regions.flat_map(|region| &region.instances).filter(|instance| {
        touched.contains(instance.id.as_str()) || instance.vpc_id.as_deref().is_some_and(|vpc| vpcs.contains(vpc))
    });
    let ids = near.flat_map(|instance| cluster_ids(&instance.tags));
    ids.filter(|id| *id != own).map(str::to_owned).collect()
}

/// Id of the default version of a custom policy.
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(super) fn default_version(inventory: &Inventory, target: &Target) -> Option<String> {
    let name = policy_name(&target.id);
    let mut policies = inventory.accounts.iter().flat_map(|account| &account.policies);
    let is_it = |policy: &&Policy| policy.policy_type == PolicyType::Custom && policy.name == name;
    policies.find(is_it)?.default_version.clone()
}
