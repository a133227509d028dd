//! Changes that tagaudit plans in AWS.

use std::collections::BTreeSet;

use crate::aws::{grant, leftovers};
use crate::finding::Applicability;
use crate::fix::plan::cloud;
use crate::fix::plan::observed::Observed;
use crate::fix::plan::{Kind, Plan, PlannedChange};
use crate::resource::ResourceKind;
use crate::role_audit::grant::NAME_PREFIX;
use crate::tags::{self, OWNED, SHARED, Tag, TagSpecification};
use crate::transition::tag_specifications;
use crate::transition::{Attribute, Target, Transition, Value};

use super::{InvalidChange, check_attachment, has_own_documents, require};

/// Checks an attribute of AWS.
pub(super) fn check_change(plan: &Plan, change: &PlannedChange) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    let fits = attribute.fits(target);
    let replaces = fits && new.is_some() && old.is_some();
    match attribute {
        Attribute::Tag { key } => check_tag(plan, change, key),
        Attribute::MetadataOption { .. } => require(replaces, InvalidChange::MetadataOption),
        Attribute::VpcAttribute { .. } => require(replaces, InvalidChange::VpcAttribute),
        Attribute::SourceDestCheck {} => require(replaces, InvalidChange::SourceDestCheck),
        Attribute::GroupTag { key } => check_group_tag(plan, change, key),
        Attribute::TemplateTags { .. } => check_template_tags(plan, change),
        Attribute::Resource {} => {
            let is_deleted = fits && plan.kind == Kind::Fix && new.is_none() && change.class == Applicability::Choice;
            let is_of_cluster =
                old.as_ref().is_some_and(|old| leftovers::is_described_as(&plan.cluster_id, target, old));
            require(is_deleted && is_of_cluster, InvalidChange::Deletion)
        }
        Attribute::IngressRule { .. } => {
            let is_removed = fits && (plan.kind == Kind::Undo || new.is_none());
            require(is_removed, InvalidChange::Deletion)?;
            let is_expected = plan.kind == Kind::Undo || change.expect.cluster_tags.is_some();
            require(is_expected, InvalidChange::Precondition("cluster tags"))
        }
        Attribute::InlinePolicy { name } => {
            let is_own = fits && name.starts_with(NAME_PREFIX) && has_own_documents(&change.transition);
            require(is_own, InvalidChange::Policy)?;
            require(change.expect.role_id.is_some(), InvalidChange::Precondition("role id"))
        }
        Attribute::ManagedPolicy {} => {
            let is_own = fits && is_own_policy(plan, &target.id) && has_own_documents(&change.transition);
            require(is_own, InvalidChange::Policy)
        }
        Attribute::AttachedPolicy { policy_arn } => {
            require(fits && is_own_policy(plan, policy_arn), InvalidChange::Policy)?;
            check_attachment(plan, change)
        }
    }
}

fn check_tag(plan: &Plan, change: &PlannedChange, key: &str) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    let is_fix = plan.kind == Kind::Fix;
    require(attribute.fits(target), InvalidChange::Resource)?;
    let found = Observed { free_tag_slots: Some(1), ..Observed::default() };
    if let Some(refused) = cloud::limit(&change.transition, &found) {
        return Err(InvalidChange::Limit(refused));
    }
    require(is_our_key(plan, key, old.as_ref(), new.as_ref()), InvalidChange::Tag)?;
    let written = if is_fix { new } else { old };
    let is_planned = written.as_ref().is_none_or(|value| is_planned_value(plan, target, key, value));
    require(is_planned, InvalidChange::Value)?;
    let is_expected = !is_fix || !tags::is_membership(key) || change.expect.cluster_tags.is_some();
    require(is_expected, InvalidChange::Precondition("cluster tags"))
}

/// Checks a tag of an Auto Scaling group: the cluster's own, or one by which the cluster autoscaler discovers groups.
fn check_group_tag(plan: &Plan, change: &PlannedChange, key: &str) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    require(attribute.fits(target), InvalidChange::Resource)?;
    let is_own = key == tags::cluster_key(&plan.cluster_id);
    let discovery = key.strip_prefix(tags::AUTOSCALER_PREFIX);
    require(is_own || discovery.is_some_and(|name| name == "enabled" || name == plan.cluster_id), InvalidChange::Tag)?;
    let is_fix = plan.kind == Kind::Fix;
    let written = if is_fix { new } else { old };
    let is_planned = written.as_ref().is_some_and(|written| match written {
        Value::GroupTag { value, propagates } => !is_own || (*propagates && value == OWNED),
        _ => false,
    });
    require(is_planned, InvalidChange::Value)?;
    require(!is_fix || change.expect.cluster_tags.is_some(), InvalidChange::Precondition("cluster tags"))
}

/// Checks the tags of a new version of a launch template: those of other clusters are removed, that of this one is added, and
/// nothing else changes.
fn check_template_tags(plan: &Plan, change: &PlannedChange) -> Result<(), InvalidChange> {
    let Transition { target, attribute, old, new } = &change.transition;
    require(attribute.fits(target), InvalidChange::Resource)?;
    let is_fix = plan.kind == Kind::Fix;
    require(!is_fix || change.class == Applicability::Choice, InvalidChange::Tag)?;
    let parse = |value: &Option<Value>| tag_specifications::parse(&value.as_ref()?.to_string());
    let (before, after) = if is_fix { (old, new) } else { (new, old) };
    let (Some(before), Some(after)) = (parse(before), parse(after)) else { return Err(InvalidChange::Value) };
    let own = tags::cluster_key(&plan.cluster_id);
    let tags_of = |all: &[TagSpecification]| -> BTreeSet<(String, Tag)> {
        let each = |one: &TagSpecification| -> Vec<(String, Tag)> {
            one.tags.iter().map(|tag| (one.resource_type.clone(), tag.clone())).collect()
        };
        all.iter().flat_map(each).collect()
    };
    let (before, after) = (tags_of(&before), tags_of(&after));
    let is_instance = |kind: &str| kind == TagSpecification::INSTANCE;
    let is_own = |tag: &Tag| tag.key == own || tag.key == tags::LEGACY_TAG && tag.value == plan.cluster_id;
    let removes = before.difference(&after).all(|(_, tag)| tags::is_membership(&tag.key) && !is_own(tag));
    let adds = after.difference(&before).all(|(kind, tag)| is_instance(kind) && tag.key == own && tag.value == OWNED);
    require(removes && adds, InvalidChange::Tag)
}

/// True if the rules write a key, or remove it because it only resembles one of theirs. An undo restores removed keys.
fn is_our_key(plan: &Plan, key: &str, old: Option<&Value>, new: Option<&Value>) -> bool {
    let removes = if plan.kind == Kind::Fix { new.is_none() } else { true };
    let held = old.or(new).map(ToString::to_string).unwrap_or_default();
    let tag = Tag { key: key.to_owned(), value: held };
    let role = |right: &str| key == right || (removes && key.trim().trim_end_matches('/').eq_ignore_ascii_case(right));
    tags::is_membership(key)
        || role(tags::ROLE_ELB)
        || role(tags::ROLE_INTERNAL_ELB)
        || (removes && tags::near_miss(&tag, &plan.cluster_id).is_some())
}

/// True if a rule writes this value: any value of the cluster's own keys, and only `shared` for another cluster's, on
/// resources that clusters share.
fn is_planned_value(plan: &Plan, target: &Target, key: &str, value: &Value) -> bool {
    let Value::Text(value) = value else { return false };
    match key {
        tags::ROLE_ELB | tags::ROLE_INTERNAL_ELB => value == "1",
        tags::LEGACY_TAG => *value == plan.cluster_id,
        key if key == tags::cluster_key(&plan.cluster_id) => value == OWNED || value == SHARED,
        _ => tags::is_membership(key) && value == SHARED && target.kind != ResourceKind::Instance,
    }
}

/// True for the ARN of a policy that tagaudit creates.
fn is_own_policy(plan: &Plan, arn: &str) -> bool {
    let Plan { partition, account_id, .. } = plan;
    arn.starts_with(&format!("arn:{partition}:iam::{account_id}:policy{}{NAME_PREFIX}", grant::MANAGED_PATH))
}
