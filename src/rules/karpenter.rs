//! Karpenter's EC2NodeClasses and NodePools, compared with the account.

use crate::finding::ResourceRef;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object};
use crate::resource::ResourceKind;

use super::Rule;

mod karpenter_class_missing;
mod karpenter_role_missing;
mod karpenter_selector_empty;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/karpenter.rs"));

const NO_CLASSES: &str = "no EC2NodeClass was given";

/// EC2NodeClasses with their names.
fn node_classes(evidence: &Evidence) -> impl Iterator<Item = (&str, Object<'_>)> {
    let classes = evidence.documents_by_kind(DocumentKind::Ec2NodeClass).map(Document::object);
    classes.map(|object| (object.text(&["metadata", "name"]).unwrap_or_default(), object))
}

/// Reference to an object of Karpenter in a report.
fn reference(kind: &str, name: &str) -> ResourceRef {
    ResourceRef::bare(ResourceKind::ClusterConfig, format!("{kind}/{name}"))
}
