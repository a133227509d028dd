//! The value that a change is about, in an inventory: what it is, whether it is as planned, and how it is after the change.

use sha2::{Digest, Sha256};

use crate::inventory::{Account, InlinePolicy, Instance, ManagedPolicy, Region, Role, Tag, Tagged};
use crate::role_audit::grant;
use crate::tags;
use crate::text;
use crate::transition::{Attribute, MetadataOption, Target, Transition, Value, VpcAttribute};

use super::{PlannedChange, Sibling};

/// What a resource looks like, as far as a change depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The value that the change is about.
    pub value: Option<Value>,
    /// Whether it is an instance on its way out, which EC2 still shows.
    pub is_gone: bool,
    /// VPC.
    pub vpc_id: Option<String>,
    /// Whether instance tags are readable through the metadata service.
    pub instance_metadata_tags: Option<String>,
    /// Cluster tags, new-style and legacy.
    pub cluster_tags: Vec<Tag>,
    /// Tags that can still be added.
    pub free_tag_slots: Option<usize>,
    /// Id of the role.
    pub role_id: Option<String>,
    /// Characters left to the inline policies, the one that the change is about left out of what they use.
    pub inline_characters_left: Option<usize>,
    /// Managed policies that may still be attached.
    pub attachments_left: Option<usize>,
    /// SHA-256 of the document of the policy to attach, in hexadecimal.
    pub policy_sha256: Option<String>,
    /// Whether only AWS may change the role.
    pub is_protected: bool,
}

/// Whether a change can be made on what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It is as planned.
    AsPlanned,
    /// The value is the new one already.
    Done,
    /// It is not as planned: why, for a person.
    Stale(String),
}

/// The cluster tags of a resource, by key.
pub(super) fn cluster_tags(all: &[Tag]) -> Vec<Tag> {
    let mut found: Vec<Tag> = all.iter().filter(|tag| tags::is_membership(&tag.key)).cloned().collect();
    found.sort();
    found
}

fn region<'a>(account: &'a Account, target: &Target) -> Option<&'a Region> {
    account.regions.iter().find(|region| Some(&region.name) == target.region.as_ref())
}

fn role<'a>(account: &'a Account, name: &str) -> Option<&'a Role> {
    account.roles.iter().find(|role| role.name == name)
}

fn policy_document<'a>(account: &'a Account, arn: &str) -> Option<&'a str> {
    account.managed_policies.iter().find(|policy| policy.arn == arn)?.document.as_deref()
}

fn digest(document: &str) -> String {
    text::hex(&Sha256::digest(document.as_bytes()), 32)
}

fn metadata_option(instance: &Instance, option: MetadataOption) -> Option<Value> {
    let options = instance.metadata_options.as_ref()?;
    let word = |word: &Option<String>| {
        let attribute = Attribute::MetadataOption { option };
        // A word that this version does not know is no value to plan with, and none that fits a plan.
        word.as_ref().map(|word| attribute.parse(word).unwrap_or_else(|| Value::Text(word.clone())))
    };
    match option {
        MetadataOption::HttpEndpoint => word(&options.http_endpoint),
        MetadataOption::InstanceMetadataTags => word(&options.instance_metadata_tags),
        MetadataOption::HttpPutResponseHopLimit => options.http_put_response_hop_limit.map(Value::Number),
    }
}

/// What a change finds; `None` when the resource is not there, or was not read.
#[must_use]
pub fn observe(account: &Account, target: &Target, attribute: &Attribute) -> Option<Observed> {
    match attribute {
        Attribute::InlinePolicy { name } => {
            let role = role(account, &target.id)?;
            let policies = role.inline_policies.as_deref()?;
            let (same, others): (Vec<_>, Vec<_>) = policies.iter().partition(|policy| policy.name == *name);
            let used: usize = others.iter().filter_map(|policy| policy.document.as_deref()).map(grant::counted).sum();
            let value = match same.first() {
                None => None,
                // A document that could not be read is not absent.
                Some(policy) => Some(Value::Document(policy.document.clone()?)),
            };
            Some(Observed {
                value,
                role_id: Some(role.role_id.clone()),
                inline_characters_left: Some(grant::INLINE_QUOTA.saturating_sub(used)),
                is_protected: grant::is_protected(&role.path),
                ..Observed::default()
            })
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let role = role(account, &target.id)?;
            let attached = role.attached_policies.as_deref()?;
            Some(Observed {
                value: attached.contains(policy_arn).then_some(Value::Attached),
                role_id: Some(role.role_id.clone()),
                attachments_left: Some(grant::ATTACHED_QUOTA.saturating_sub(attached.len())),
                policy_sha256: policy_document(account, policy_arn).map(digest),
                is_protected: grant::is_protected(&role.path),
                ..Observed::default()
            })
        }
        Attribute::ManagedPolicy {} => {
            let policy = account.managed_policies.iter().find(|policy| policy.arn == target.id);
            let value = match policy {
                None => None,
                Some(policy) => Some(Value::Document(policy.document.clone()?)),
            };
            Some(Observed { value, ..Observed::default() })
        }
        Attribute::Tag { key } => observe_ec2(region(account, target)?, target, |region, id| {
            Some(tags::value(region.tags_of(id)?, key).map(|value| Value::Text(value.to_owned())))
        }),
        Attribute::MetadataOption { option } => observe_ec2(region(account, target)?, target, |region, id| {
            Some(metadata_option(region.instance(id)?, *option))
        }),
        Attribute::VpcAttribute { attribute } => observe_ec2(region(account, target)?, target, |region, id| {
            let vpc = region.vpc(id)?;
            let on = match attribute {
                VpcAttribute::EnableDnsSupport => vpc.enable_dns_support?,
                VpcAttribute::EnableDnsHostnames => vpc.enable_dns_hostnames?,
            };
            Some(Some(Value::Switch(on)))
        }),
        Attribute::SourceDestCheck {} => observe_ec2(region(account, target)?, target, |region, id| {
            Some(Some(Value::Switch(region.instance(id)?.source_dest_check?)))
        }),
    }
}

/// What all changes of a resource of EC2 depend on, with the value that this one is about: `None` where it was not read.
fn observe_ec2(
    region: &Region,
    target: &Target,
    value: impl FnOnce(&Region, &str) -> Option<Option<Value>>,
) -> Option<Observed> {
    let id = target.id.as_str();
    let instance = region.instance(id);
    let found = region.find(id);
    let held = found?.tags();
    let value = value(region, id)?;
    let user_tags = held.iter().filter(|tag| !tag.key.starts_with("aws:")).count();
    Some(Observed {
        value,
        is_gone: instance.is_some_and(|instance| !instance.state.is_live()),
        vpc_id: found.and_then(Tagged::vpc_id).map(str::to_owned),
        instance_metadata_tags: instance
            .and_then(|found| found.metadata_options.as_ref())
            .and_then(|options| options.instance_metadata_tags.clone()),
        cluster_tags: cluster_tags(held),
        free_tag_slots: Some(tags::QUOTA.saturating_sub(user_tags)),
        ..Observed::default()
    })
}

/// Whether a change can be made on what was just read.
#[must_use]
pub fn fit(account: &Account, change: &PlannedChange) -> Fit {
    let stale = |why: String| Fit::Stale(why);
    let Transition { target, attribute, old, new } = &change.transition;
    let Some(found) = observe(account, target, attribute) else {
        return stale("it is gone, or not visible to this caller".to_owned());
    };
    let expect = &change.expect;
    if found.is_gone {
        return stale("the instance is shutting down or terminated".to_owned());
    }
    if expect.role_id.is_some() && expect.role_id != found.role_id {
        return stale("the role was deleted and made again since".to_owned());
    }
    if found.is_protected {
        return stale("only AWS changes that role".to_owned());
    }
    if found.value == *new {
        return Fit::Done;
    }
    if found.value != *old {
        return stale(format!("it is {} now, not {}", shown(found.value.as_ref()), shown(old.as_ref())));
    }
    if expect.vpc_id.is_some() && expect.vpc_id != found.vpc_id {
        return stale("it is in another VPC now".to_owned());
    }
    if expect.instance_metadata_tags.is_some() && expect.instance_metadata_tags != found.instance_metadata_tags {
        return stale(
            "instance metadata tags were switched since: with them on, EC2 takes no key with a slash".to_owned(),
        );
    }
    if expect.cluster_tags.as_ref().is_some_and(|planned| *planned != found.cluster_tags) {
        return stale("its cluster tags have changed since".to_owned());
    }
    if let Some(why) = beside_changed(account, change) {
        return stale(why);
    }
    let adds_tag = change.transition.tag().is_some() && old.is_none();
    if adds_tag && found.free_tag_slots == Some(0) {
        return stale(format!("it has {} tags already", tags::QUOTA));
    }
    let grows = new.as_ref().and_then(Value::document).map_or(0, grant::counted);
    if found.inline_characters_left.is_some_and(|left| grows > left) {
        return stale(format!(
            "the inline policies of the role have no room left of {} characters",
            grant::INLINE_QUOTA
        ));
    }
    if expect.policy_sha256.is_some() && expect.policy_sha256 != found.policy_sha256 {
        return stale("the policy to attach is not there, or holds something else".to_owned());
    }
    if new.is_some() && found.attachments_left == Some(0) {
        return stale(format!("the role has {} managed policies already", grant::ATTACHED_QUOTA));
    }
    Fit::AsPlanned
}

fn beside_changed(account: &Account, change: &PlannedChange) -> Option<String> {
    let region = region(account, &change.transition.target);
    change.expect.siblings.iter().find_map(|Sibling { id, cluster_tags: planned }| {
        let found = region.and_then(|region| region.tags_of(id)).map(cluster_tags);
        (found.as_ref() != Some(planned))
            .then(|| format!("the cluster tags of {id}, which is on the same nodes, have changed since"))
    })
}

fn shown(value: Option<&Value>) -> String {
    match value.map(ToString::to_string) {
        None => "absent".to_owned(),
        Some(text) if text.len() > 60 => "another text".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}

/// Makes a change in an inventory. What is not there stays so.
pub fn simulate(account: &mut Account, transition: &Transition) {
    let Transition { target, attribute, new, .. } = transition;
    let document = new.as_ref().and_then(Value::document).map(str::to_owned);
    match attribute {
        Attribute::InlinePolicy { name } => {
            let found = account.roles.iter_mut().find(|role| role.name == target.id);
            let Some(policies) = found.and_then(|role| role.inline_policies.as_mut()) else { return };
            policies.retain(|policy| policy.name != *name);
            if document.is_some() {
                policies.push(InlinePolicy { name: name.clone(), document });
                policies.sort_by(|a, b| a.name.cmp(&b.name));
            }
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let found = account.roles.iter_mut().find(|role| role.name == target.id);
            let Some(attached) = found.and_then(|role| role.attached_policies.as_mut()) else { return };
            attached.retain(|arn| arn != policy_arn);
            if new.is_some() {
                attached.push(policy_arn.clone());
                attached.sort();
            }
        }
        Attribute::ManagedPolicy {} => {
            let known = account.managed_policies.iter_mut().find(|policy| policy.arn == target.id);
            match (known, document) {
                (Some(policy), Some(document)) => policy.document = Some(document),
                (None, Some(document)) => {
                    account.managed_policies.push(ManagedPolicy {
                        arn: target.id.clone(),
                        version_id: Some("v1".to_owned()),
                        document: Some(document),
                    });
                    account.managed_policies.sort_by(|a, b| a.arn.cmp(&b.arn));
                }
                (_, None) => account.managed_policies.retain(|policy| policy.arn != target.id),
            }
        }
        Attribute::Tag { key } => {
            let found = region_mut(account, target).and_then(|region| region.tags_of_mut(&target.id));
            let Some(held) = found else { return };
            held.retain(|tag| tag.key != *key);
            if let Some(value) = new {
                held.push(Tag { key: key.clone(), value: value.to_string() });
                held.sort();
            }
        }
        Attribute::VpcAttribute { attribute } => {
            let Some(vpc) = region_mut(account, target).and_then(|region| region.vpc_mut(&target.id)) else { return };
            let on = switch(new.as_ref());
            match attribute {
                VpcAttribute::EnableDnsSupport => vpc.enable_dns_support = on,
                VpcAttribute::EnableDnsHostnames => vpc.enable_dns_hostnames = on,
            }
        }
        Attribute::SourceDestCheck {} => {
            let found = region_mut(account, target).and_then(|region| region.instance_mut(&target.id));
            let Some(instance) = found else { return };
            instance.source_dest_check = switch(new.as_ref());
        }
        Attribute::MetadataOption { option } => {
            let found = region_mut(account, target).and_then(|region| region.instance_mut(&target.id));
            let Some(options) = found.and_then(|instance| instance.metadata_options.as_mut()) else { return };
            let word = new.as_ref().map(ToString::to_string);
            match option {
                MetadataOption::HttpEndpoint => options.http_endpoint = word,
                MetadataOption::InstanceMetadataTags => options.instance_metadata_tags = word,
                MetadataOption::HttpPutResponseHopLimit => {
                    options.http_put_response_hop_limit = match new {
                        Some(Value::Number(limit)) => Some(*limit),
                        Some(_) | None => None,
                    };
                }
            }
        }
    }
}

fn switch(value: Option<&Value>) -> Option<bool> {
    match value {
        Some(Value::Switch(on)) => Some(*on),
        Some(_) | None => None,
    }
}

fn region_mut<'a>(account: &'a mut Account, target: &Target) -> Option<&'a mut Region> {
    account.regions.iter_mut().find(|region| Some(&region.name) == target.region.as_ref())
}
