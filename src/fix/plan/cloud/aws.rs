//! Observes and simulates changes in an AWS account.

use std::collections::BTreeSet;

use crate::aws::grant;
use crate::aws::leftovers::{self, Sighting};
use crate::aws::template_copies;
use crate::aws::view::{Neighbour, instance_clusters, neighbours_by_vpc};
use crate::aws::{Account, InlinePolicy, Instance, Inventory, ManagedPolicy, MetadataOptions, Region, Role, Tagged};
use crate::fix::plan::PlannedChange;
use crate::fix::plan::observed::{Observed, digest};
use crate::inventory::Tag;
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;
use crate::transition::tag_specifications;
use crate::transition::{Attribute, MetadataOption, Target, TemplateAlias, Transition, Value, VpcAttribute};

/// The cluster tags of a resource, by key.
pub(in crate::fix::plan) fn cluster_tags(all: &[Tag]) -> Vec<Tag> {
    let mut found: Vec<Tag> = all.iter().filter(|tag| tags::is_membership(&tag.key)).cloned().collect();
    found.sort();
    found
}

pub(in crate::fix::plan) fn find_region<'a>(account: &'a Account, target: &Target) -> Option<&'a Region> {
    account.regions.iter().find(|region| Some(&region.name) == target.region.as_ref())
}

/// ARN of an Auto Scaling group; `None` for another kind.
pub(super) fn group_arn(region: &Region, target: &Target) -> Option<String> {
    let mut groups =
        region.auto_scaling_groups.iter().flatten().filter(|_| target.kind == ResourceKind::AutoScalingGroup);
    groups.find(|group| group.name == target.id).map(|group| group.arn.clone())
}

fn role<'a>(account: &'a Account, name: &str) -> Option<&'a Role> {
    account.roles.iter().find(|role| role.name == name)
}

fn policy_document<'a>(account: &'a Account, arn: &str) -> Option<&'a str> {
    account.managed_policies.iter().find(|policy| policy.arn == arn)?.document.as_deref()
}

fn metadata_option(instance: &Instance, option: MetadataOption) -> Option<Value> {
    let options = instance.metadata_options.as_ref()?;
    let word = |word: &Option<String>| {
        let attribute = Attribute::MetadataOption { option };
        // A value unknown to this version can neither be planned nor match a plan.
        word.as_ref().map(|word| attribute.parse(word).unwrap_or_else(|| Value::Text(word.clone())))
    };
    match option {
        MetadataOption::HttpEndpoint => word(&options.http_endpoint),
        MetadataOption::InstanceMetadataTags => word(&options.instance_metadata_tags),
        MetadataOption::HttpPutResponseHopLimit => options.http_put_response_hop_limit.map(Value::Number),
    }
}

/// Observes the state that a change depends on; `None` if the resource does not exist or was not read.
pub(super) fn observe(account: &Account, target: &Target, attribute: &Attribute) -> Option<Observed> {
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
        Attribute::Tag { key } => observe_ec2(find_region(account, target)?, target, |region, id| {
            Some(tags::value(region.tags_of(id)?, key).map(|value| Value::Text(value.to_owned())))
        }),
        Attribute::MetadataOption { option } => observe_ec2(find_region(account, target)?, target, |region, id| {
            Some(metadata_option(region.instance(id)?, *option))
        }),
        Attribute::VpcAttribute { attribute } => observe_ec2(find_region(account, target)?, target, |region, id| {
            let vpc = region.vpc(id)?;
            let on = match attribute {
                VpcAttribute::EnableDnsSupport => vpc.enable_dns_support?,
                VpcAttribute::EnableDnsHostnames => vpc.enable_dns_hostnames?,
            };
            Some(Some(Value::Switch(on)))
        }),
        Attribute::SourceDestCheck {} => observe_ec2(find_region(account, target)?, target, |region, id| {
            Some(Some(Value::Switch(region.instance(id)?.source_dest_check?)))
        }),
        Attribute::GroupTag { key } => observe_group_tag(find_region(account, target)?, target, key),
        Attribute::TemplateTags { version } => observe_template_tags(find_region(account, target)?, target, *version),
        Attribute::Resource {} => {
            let region = find_region(account, target)?;
            Some(Observed {
                value: seen(leftovers::description(region, target.key()), Value::Resource)?,
                in_use: leftovers::in_use(region, target.key()),
                ..Observed::default()
            })
        }
        Attribute::IngressRule { rule } => {
            let region = find_region(account, target)?;
            let value = seen(leftovers::rule_description(region, &target.id, rule), Value::Text)?;
            let tags = region.tags_of(&target.id)?;
            Some(Observed { value, cluster_tags: cluster_tags(tags), ..Observed::default() })
        }
    }
}

/// The value of something that was seen; `None` if it was not read.
#[expect(clippy::option_option, reason = "an absent value differs from an unread one, as in `observe_ec2`")]
fn seen(sighting: Sighting, value: fn(String) -> Value) -> Option<Option<Value>> {
    match sighting {
        Sighting::Unread => None,
        Sighting::Absent => Some(None),
        Sighting::Present(text) => Some(Some(value(text))),
    }
}

/// State that all changes of an EC2 resource depend on, with the value that this one sets; `None` if it was not read.
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

fn observe_group_tag(region: &Region, target: &Target, key: &str) -> Option<Observed> {
    let group = region.auto_scaling_groups.as_ref()?.iter().find(|group| group.name == target.id)?;
    let propagates = group.launch.as_ref()?.propagated.iter().any(|propagated| propagated == key);
    let value = tags::value(&group.tags, key).map(|value| Value::GroupTag { value: value.to_owned(), propagates });
    let free = tags::QUOTA.saturating_sub(group.tags.len());
    let cluster_tags = cluster_tags(&group.tags);
    Some(Observed { value, cluster_tags, free_tag_slots: Some(free), ..Observed::default() })
}

fn observe_template_tags(region: &Region, target: &Target, version: TemplateAlias) -> Option<Observed> {
    let template = region.launch_templates.as_ref()?.iter().find(|template| template.id == target.id)?;
    let all = template_copies::specifications(template_copies::version_of(template, version)?)?;
    Some(Observed { value: tag_specifications::to_text(all).map(Value::Text), ..Observed::default() })
}

/// Makes a change in an inventory. A missing resource is left as it is.
pub(super) fn simulate(account: &mut Account, transition: &Transition) {
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
        Attribute::ManagedPolicy {} => set_managed_policy(account, &target.id, document),
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
        Attribute::GroupTag { key } => {
            if let Some(region) = region_mut(account, target) {
                set_group_tag(region, &target.id, key, new.as_ref());
            }
        }
        Attribute::TemplateTags { version } => {
            if let Some(region) = region_mut(account, target) {
                set_template_tags(region, &target.id, *version, new.as_ref());
            }
        }
        Attribute::Resource {} => {
            if let Some(region) = region_mut(account, target).filter(|_| new.is_none()) {
                leftovers::delete(region, target.key());
            }
        }
        Attribute::IngressRule { rule } => {
            if let Some(region) = region_mut(account, target) {
                leftovers::set_rule(region, &target.id, rule, new.as_ref().map(ToString::to_string));
            }
        }
        Attribute::SourceDestCheck {} => {
            let found = region_mut(account, target).and_then(|region| region.instance_mut(&target.id));
            let Some(instance) = found else { return };
            instance.source_dest_check = switch(new.as_ref());
        }
        Attribute::MetadataOption { option } => {
            let found = region_mut(account, target).and_then(|region| region.instance_mut(&target.id));
            if let Some(options) = found.and_then(|instance| instance.metadata_options.as_mut()) {
                set_metadata_option(options, *option, new.as_ref());
            }
        }
    }
}

fn set_group_tag(region: &mut Region, group: &str, key: &str, new: Option<&Value>) {
    let mut groups = region.auto_scaling_groups.iter_mut().flatten();
    let Some(group) = groups.find(|one| one.name == group) else { return };
    group.tags.retain(|tag| tag.key != key);
    let Some(launch) = &mut group.launch else { return };
    launch.propagated.retain(|propagated| propagated != key);
    if let Some(Value::GroupTag { value, propagates }) = new {
        group.tags.push(Tag { key: key.to_owned(), value: value.clone() });
        group.tags.sort();
        launch.propagated.extend(propagates.then(|| key.to_owned()));
        launch.propagated.sort();
    }
}

fn set_managed_policy(account: &mut Account, arn: &str, document: Option<String>) {
    let known = account.managed_policies.iter_mut().find(|policy| policy.arn == arn);
    match (known, document) {
        (Some(policy), Some(document)) => policy.document = Some(document),
        (None, Some(document)) => {
            account.managed_policies.push(ManagedPolicy {
                arn: arn.to_owned(),
                version_id: Some("v1".to_owned()),
                document: Some(document),
            });
            account.managed_policies.sort_by(|a, b| a.arn.cmp(&b.arn));
        }
        (_, None) => account.managed_policies.retain(|policy| policy.arn != arn),
    }
}

fn set_template_tags(region: &mut Region, template: &str, version: TemplateAlias, new: Option<&Value>) {
    let template = region.launch_templates.iter_mut().flatten().find(|one| one.id == template);
    let all = new.and_then(|new| tag_specifications::parse(&new.to_string()));
    if let Some((template, all)) = template.zip(all) {
        template_copies::add_version(template, version, all);
    }
}

fn set_metadata_option(options: &mut MetadataOptions, option: MetadataOption, new: Option<&Value>) {
    let word = new.map(ToString::to_string);
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

fn switch(value: Option<&Value>) -> Option<bool> {
    match value {
        Some(Value::Switch(on)) => Some(*on),
        Some(_) | None => None,
    }
}

fn region_mut<'a>(account: &'a mut Account, target: &Target) -> Option<&'a mut Region> {
    account.regions.iter_mut().find(|region| Some(&region.name) == target.region.as_ref())
}

/// Longest tag key (EC2 API model, `Tag`; the User Guide states 128).
pub(in crate::fix::plan) const MAX_KEY: usize = 127;
/// Longest tag value (EC2 API model, `Tag`).
pub(in crate::fix::plan) const MAX_VALUE: usize = 256;

/// Reason EC2 would refuse a transition; `None` if none is known.
pub(super) fn limit(transition: &Transition, found: &Observed) -> Option<String> {
    let (key, new) = transition.tag()?;
    if key.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("aws:")) {
        return Some(format!("only AWS sets and removes tags like `{}`", text::printable(key)));
    }
    let length = new?.to_string().chars().count();
    if key.is_empty() || key.chars().count() > MAX_KEY {
        return Some(format!("a tag key has 1 to {MAX_KEY} characters, but this one has {}", key.chars().count()));
    }
    if length > MAX_VALUE {
        return Some(format!("a tag value has at most {MAX_VALUE} characters"));
    }
    if found.value.is_none() && found.free_tag_slots == Some(0) {
        return Some(format!("it has {} tags already, as many as EC2 allows", tags::QUOTA));
    }
    if transition.target.kind == ResourceKind::Instance
        && found.instance_metadata_tags.as_deref() == Some("enabled")
        && key.contains(['/', ' '])
    {
        return Some(
            "with instance metadata tags on, EC2 accepts no key with a slash: --allow imds-instance-tags-enabled first"
                .to_owned(),
        );
    }
    None
}

/// Other clusters that a plan could harm: those named on the changed resources, or with nodes in the same VPC.
pub(super) fn neighbours(inventory: &Inventory, own: &str, changes: &[&PlannedChange]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for region in inventory.accounts.iter().flat_map(|account| &account.regions) {
        let touched: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.transition.target.region.as_ref() == Some(&region.name))
            .map(|change| change.transition.target.id.as_str())
            .collect();
        if touched.is_empty() {
            continue;
        }
        let vpcs: BTreeSet<&str> = changes
            .iter()
            .filter_map(|change| change.expect.vpc_id.as_deref())
            .chain(touched.iter().copied())
            .collect();
        let groups = region.auto_scaling_groups.iter().flatten().filter(|group| touched.contains(group.name.as_str()));
        found.extend(groups.flat_map(|group| instance_clusters(&group.tags)).map(str::to_owned));
        let templates = region.launch_templates.iter().flatten();
        let versions = templates.filter(|one| touched.contains(one.id.as_str())).flat_map(|one| &one.versions);
        found.extend(versions.flat_map(|version| instance_clusters(&version.instance_tags)).map(str::to_owned));
        for id in &touched {
            found.extend(region.tags_of(id).into_iter().flat_map(instance_clusters).map(str::to_owned));
        }
        let all = neighbours_by_vpc(region, own);
        let near = all.into_iter().filter(|(vpc, _)| vpcs.contains(vpc)).flat_map(|(_, here)| here.into_keys());
        found.extend(near.filter_map(|neighbour| match neighbour {
            Neighbour::Cluster(name) => Some(name),
            Neighbour::LoadBalancer(_) | Neighbour::Unnamed(_) => None,
        }));
    }
    found.retain(|id| id != own && !tags::is_slip(id, own));
    found
}

/// Id of the default version of a managed policy.
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(super) fn default_version(inventory: &Inventory, target: &Target) -> Option<String> {
    let mut policies = inventory.accounts.iter().flat_map(|account| &account.managed_policies);
    policies.find(|policy| policy.arn == target.id)?.version_id.clone()
}
