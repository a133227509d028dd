//! State of the attribute that a change sets, as observed in an inventory.

use sha2::{Digest, Sha256};

use crate::aws::leftovers::Stays;
use crate::inventory::Tag;
use crate::text;
use crate::transition::Value;

/// State of a resource, as far as a change depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Current value of the attribute that the change sets.
    pub value: Option<Value>,
    /// True for an instance that is shutting down or terminated, which EC2 still lists.
    pub is_gone: bool,
    pub vpc_id: Option<String>,
    /// Access to instance tags through the metadata service, such as `enabled`.
    pub instance_metadata_tags: Option<String>,
    /// Private addresses of an ECS instance.
    pub addresses: Option<Vec<String>>,
    /// Cluster tags, new-style and legacy; in ECS also those of the scaling group or stack that re-creates the
    /// instance.
    pub cluster_tags: Vec<Tag>,
    /// Tags that can still be added.
    pub free_tag_slots: Option<usize>,
    pub role_id: Option<String>,
    /// Characters still available for inline policies, excluding the policy that the change writes.
    pub inline_characters_left: Option<usize>,
    /// Managed policies that may still be attached.
    pub attachments_left: Option<usize>,
    /// SHA-256 of the document of the policy to attach, in hexadecimal.
    pub policy_sha256: Option<String>,
    /// True if only the cloud may change the role.
    pub is_protected: bool,
    /// What still uses a resource that the change deletes.
    pub(crate) in_use: Option<Stays>,
}

/// SHA-256 of a document, in hexadecimal.
pub(super) fn digest(document: &str) -> String {
    text::hex(&Sha256::digest(document.as_bytes()), 32)
}
