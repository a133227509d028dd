//! Calls that set or remove tags: never without a key, never a key without its value.

use aws_sdk_ec2::types::{self as ec2_types};

use crate::fix::plan::PlannedChange;

/// A tag call: at least one resource and exactly one tag with its value, by construction. `DeleteTags` without a tag
/// removes every tag, and without a resource it is not a valid call.
pub(super) struct TagCall {
    pub(super) first: String,
    others: Vec<String>,
    key: String,
    pub(super) value: String,
}

impl TagCall {
    pub(super) fn from_batch(batch: &[&PlannedChange]) -> Option<Self> {
        let (first, others) = batch.split_first()?;
        let (key, new) = first.transition.tag()?;
        Some(Self {
            first: first.transition.target.id.clone(),
            others: others.iter().map(|change| change.transition.target.id.clone()).collect(),
            key: key.to_owned(),
            value: new.or(first.transition.old.as_ref())?.to_string(),
        })
    }

    pub(super) fn resources(&self) -> Vec<String> {
        std::iter::once(&self.first).chain(&self.others).cloned().collect()
    }

    pub(super) fn tag(&self) -> ec2_types::Tag {
        ec2_types::Tag::builder().key(&self.key).value(&self.value).build()
    }
}
