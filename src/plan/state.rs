//! The value that a change is about, in an inventory: what it is, whether it is as planned, and how it is after the change.

use sha2::{Digest, Sha256};

use crate::iam::grant;
use crate::inventory::{Account, InlinePolicy, Instance, ManagedPolicy, Region, Role, Tag};
use crate::tags;
use crate::text;

use super::{ATTACHED, Attribute, Beside, PlannedChange, Target};

/// What a resource looks like, as far as a change depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The value that the change is about.
    pub value: Option<String>,
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

fn metadata_option(instance: &Instance, option: &str) -> Option<String> {
    let options = instance.metadata_options.as_ref()?;
    match option {
        "http-endpoint" => options.http_endpoint.clone(),
        "http-tokens" => options.http_tokens.clone(),
        "http-put-response-hop-limit" => options.http_put_response_hop_limit.map(|limit| limit.to_string()),
        super::INSTANCE_METADATA_TAGS => options.instance_metadata_tags.clone(),
        _ => None,
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
                Some(policy) => Some(policy.document.clone()?),
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
                value: attached.contains(policy_arn).then(|| ATTACHED.to_owned()),
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
                Some(policy) => Some(policy.document.clone()?),
            };
            Some(Observed { value, ..Observed::default() })
        }
        Attribute::Tag { .. }
        | Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {} => observe_ec2(region(account, target)?, target, attribute),
    }
}

fn observe_ec2(region: &Region, target: &Target, attribute: &Attribute) -> Option<Observed> {
    let id = target.id.as_str();
    let instance = region.instance(id);
    let vpc = region.vpc(id);
    let held = region.tags_of(id)?;
    let value = match attribute {
        Attribute::Tag { key } => tags::value(held, key).map(str::to_owned),
        Attribute::MetadataOption { option } => metadata_option(instance?, option),
        Attribute::VpcAttribute { attribute } => {
            let on = match attribute.as_str() {
                "enable-dns-support" => vpc?.enable_dns_support?,
                "enable-dns-hostnames" => vpc?.enable_dns_hostnames?,
                _ => return None,
            };
            Some(on.to_string())
        }
        Attribute::SourceDestCheck {} => Some(instance?.source_dest_check?.to_string()),
        _ => return None,
    };
    let user_tags = held.iter().filter(|tag| !tag.key.starts_with("aws:")).count();
    Some(Observed {
        value,
        is_gone: instance.is_some_and(|instance| !instance.state.is_live()),
        vpc_id: vpc_of(region, id),
        instance_metadata_tags: instance.and_then(|found| metadata_option(found, super::INSTANCE_METADATA_TAGS)),
        cluster_tags: cluster_tags(held),
        free_tag_slots: Some(tags::QUOTA.saturating_sub(user_tags)),
        ..Observed::default()
    })
}

fn vpc_of(region: &Region, id: &str) -> Option<String> {
    let instance = region.instance(id).and_then(|found| found.vpc_id.clone());
    instance
        .or_else(|| region.subnet(id).map(|found| found.vpc_id.clone()))
        .or_else(|| region.security_group(id).and_then(|found| found.vpc_id.clone()))
        .or_else(|| region.route_table(id).map(|found| found.vpc_id.clone()))
        .or_else(|| region.network_interface(id).and_then(|found| found.vpc_id.clone()))
}

/// Whether a change can be made on what was just read.
#[must_use]
pub fn fit(account: &Account, change: &PlannedChange) -> Fit {
    let stale = |why: String| Fit::Stale(why);
    let Some(found) = observe(account, &change.target, &change.attribute) else {
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
    if found.value == change.new {
        return Fit::Done;
    }
    if found.value != change.old {
        return stale(format!("it is {} now, not {}", shown(found.value.as_deref()), shown(change.old.as_deref())));
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
    let adds_tag = matches!(change.attribute, Attribute::Tag { .. }) && change.old.is_none();
    if adds_tag && found.free_tag_slots == Some(0) {
        return stale(format!("it has {} tags already", tags::QUOTA));
    }
    let grows = change.new.as_deref().map_or(0, grant::counted);
    if found.inline_characters_left.is_some_and(|left| grows > left) {
        return stale(format!(
            "the inline policies of the role have no room left of {} characters",
            grant::INLINE_QUOTA
        ));
    }
    if expect.policy_sha256.is_some() && expect.policy_sha256 != found.policy_sha256 {
        return stale("the policy to attach is not there, or holds something else".to_owned());
    }
    if change.new.is_some() && found.attachments_left == Some(0) {
        return stale(format!("the role has {} managed policies already", grant::ATTACHED_QUOTA));
    }
    Fit::AsPlanned
}

fn beside_changed(account: &Account, change: &PlannedChange) -> Option<String> {
    let region = region(account, &change.target);
    change.expect.beside.iter().find_map(|Beside { id, cluster_tags: planned }| {
        let found = region.and_then(|region| region.tags_of(id)).map(cluster_tags);
        (found.as_ref() != Some(planned))
            .then(|| format!("the cluster tags of {id}, which is on the same nodes, have changed since"))
    })
}

fn shown(value: Option<&str>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(text) if text.len() > 60 => "another text".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}

/// Makes a change in an inventory. What is not there stays so.
pub fn simulate(account: &mut Account, target: &Target, attribute: &Attribute, new: Option<&str>) {
    let owned = new.map(str::to_owned);
    match attribute {
        Attribute::InlinePolicy { name } => {
            let found = account.roles.iter_mut().find(|role| role.name == target.id);
            let Some(policies) = found.and_then(|role| role.inline_policies.as_mut()) else { return };
            policies.retain(|policy| policy.name != *name);
            if owned.is_some() {
                policies.push(InlinePolicy { name: name.clone(), document: owned });
                policies.sort_by(|a, b| a.name.cmp(&b.name));
            }
        }
        Attribute::AttachedPolicy { policy_arn } => {
            let found = account.roles.iter_mut().find(|role| role.name == target.id);
            let Some(attached) = found.and_then(|role| role.attached_policies.as_mut()) else { return };
            attached.retain(|arn| arn != policy_arn);
            if owned.is_some() {
                attached.push(policy_arn.clone());
                attached.sort();
            }
        }
        Attribute::ManagedPolicy {} => {
            let known = account.managed_policies.iter_mut().find(|policy| policy.arn == target.id);
            match (known, owned) {
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
        Attribute::Tag { .. }
        | Attribute::MetadataOption { .. }
        | Attribute::VpcAttribute { .. }
        | Attribute::SourceDestCheck {} => {
            let found = account.regions.iter_mut().find(|region| Some(&region.name) == target.region.as_ref());
            if let Some(region) = found {
                simulate_ec2(region, &target.id, attribute, owned);
            }
        }
    }
}

fn simulate_ec2(region: &mut Region, id: &str, attribute: &Attribute, new: Option<String>) {
    match attribute {
        Attribute::Tag { key } => {
            let Some(held) = region.tags_of_mut(id) else { return };
            held.retain(|tag| tag.key != *key);
            if let Some(value) = new {
                held.push(Tag { key: key.clone(), value });
                held.sort();
            }
        }
        Attribute::VpcAttribute { attribute } => {
            let Some(vpc) = region.vpc_mut(id) else { return };
            let on = new.and_then(|value| value.parse().ok());
            match attribute.as_str() {
                "enable-dns-support" => vpc.enable_dns_support = on,
                "enable-dns-hostnames" => vpc.enable_dns_hostnames = on,
                _ => {}
            }
        }
        _ => {
            let Some(instance) = region.instance_mut(id) else { return };
            if matches!(attribute, Attribute::SourceDestCheck {}) {
                instance.source_dest_check = new.and_then(|value| value.parse().ok());
                return;
            }
            let (Attribute::MetadataOption { option }, Some(options)) = (attribute, &mut instance.metadata_options)
            else {
                return;
            };
            match option.as_str() {
                "http-endpoint" => options.http_endpoint = new,
                "http-tokens" => options.http_tokens = new,
                "http-put-response-hop-limit" => {
                    options.http_put_response_hop_limit = new.and_then(|value| value.parse().ok());
                }
                super::INSTANCE_METADATA_TAGS => options.instance_metadata_tags = new,
                _ => {}
            }
        }
    }
}
