//! Karpenter's EC2NodeClasses and NodePools, compared with the account.

use crate::aws::companion_requests::RoleGrants;
use crate::aws::companions::CompanionRole;
use crate::controller::companion::Companion;
use crate::finding::ResourceRef;
use crate::inventory::Tag;
use crate::inventory::kubernetes::List;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object};
use crate::policy;
use crate::resource::ResourceKind;

use super::Rule;
use super::aws::Context;

mod karpenter_ami_unpublished;
mod karpenter_api_removed;
mod karpenter_class_missing;
mod karpenter_groups_several_tagged;
mod karpenter_queue_not_granted;
mod karpenter_role_missing;
mod karpenter_role_not_passable;
mod karpenter_selector_empty;
mod karpenter_selector_vpcs;

/// Lists that these rules use.
const LISTS: &[List] = &[List::Ec2NodeClasses, List::NodePools];

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/karpenter.rs"));

const NO_CLASSES: &str = "no EC2NodeClass was given";

/// EC2NodeClasses with their names.
fn node_classes(evidence: &Evidence) -> impl Iterator<Item = (&str, Object<'_>)> {
    let classes = evidence.documents_by_kind(DocumentKind::Ec2NodeClass).map(Document::object);
    classes.map(|object| (object.text(&["metadata", "name"]).unwrap_or_default(), object))
}

/// Karpenters whose role was read, with what that grants.
fn karpenters<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (&'c CompanionRole<'c>, RoleGrants)> {
    let roles = context.companions.iter().map(|entry| &entry.one);
    let karpenters = roles.filter(|one| one.run.row.companion == Companion::Karpenter);
    karpenters.filter_map(|one| Some((one, RoleGrants::new(one, context.view, context.role_options).ok()?)))
}

/// A subnet or a security group that a term of a selector may match.
struct Candidate<'a> {
    id: &'a str,
    name: Option<&'a str>,
    tags: &'a [Tag],
}

/// True if a term selects a subnet or group.
/// Source: aws/karpenter-provider-aws `pkg/providers/securitygroup/securitygroup.go#getFilterSets`.
fn matches(term: Object<'_>, candidate: &Candidate<'_>) -> bool {
    if let Some(id) = term.text(&["id"]) {
        return id == candidate.id;
    }
    let is_named = term.text(&["name"]).is_none_or(|name| candidate.name.is_some_and(|own| policy::matches(name, own)));
    let has_tag =
        |key: &str, value: &str| candidate.tags.iter().any(|tag| tag.key == key && policy::matches(value, &tag.value));
    let mut tags = term.members(&["tags"]);
    is_named && tags.all(|(key, value)| value.scalar().is_some_and(|value| has_tag(&key.value, &value)))
}

/// Reference to an object of Karpenter in a report.
fn reference(kind: &str, name: &str) -> ResourceRef {
    ResourceRef::bare(ResourceKind::ClusterConfig, format!("{kind}/{name}"))
}
