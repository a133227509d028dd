//! The parts that the inventories of all clouds share: the provider, reads that failed, the recorded form, and the
//! recording of a Kubernetes cluster. The resources are in `aws` and `alibaba`.
//!
//! An inventory is the one data type between collecting and checking. Nothing in it is derived: policy documents and
//! tags are kept verbatim, so that every run can be replayed and every rule tested on a literal.

use serde::{Deserialize, Serialize};

mod file;
mod gap;
pub(crate) mod kubernetes;
mod storage;
mod unlisted;

pub use crate::resource::Read;
pub use crate::tags::Tag;
pub use file::to_json;
pub(crate) use file::{
    Access, InventoryError, MAX_INVENTORY_BYTES, PendingFile, detect_provider, is_recorded, read_inventory, write_file,
    write_private,
};
pub use gap::Gap;
pub(crate) use gap::{GapSubject, REASON_CONTRADICTED, REASON_NOT_PROVIDED, REASON_NOTHING_SEEN};
pub use storage::Storage;
pub(crate) use unlisted::Unlisted;
pub(crate) use unlisted::gaps as unlisted_gaps;

/// The schema that this version writes; the number increases when a field changes its meaning.
pub(crate) const SCHEMA: &str = "tagaudit.inventory/1";

/// The cloud an inventory comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Amazon Web Services, in any partition.
    #[default]
    Aws,
    /// Alibaba Cloud.
    Alibaba,
}

impl Provider {
    /// Every cloud.
    pub(crate) const ALL: &'static [Self] = &[Self::Aws, Self::Alibaba];
    /// AWS alone.
    pub(crate) const AWS: &'static [Self] = &[Self::Aws];
    /// Alibaba Cloud alone.
    pub(crate) const ALIBABA: &'static [Self] = &[Self::Alibaba];

    /// True for AWS, the default, which files omit where possible.
    #[must_use]
    pub fn is_aws(&self) -> bool {
        *self == Self::Aws
    }

    /// True if a text can be the id of an account: twelve digits in AWS (AWS Account Management, "AWS account
    /// identifiers"); digits in Alibaba Cloud, which guarantees no length and uses sixteen (RAM documentation, "Policy
    /// elements", `<account-id>`).
    pub(crate) fn is_account_id(self, id: &str) -> bool {
        let lengths = match self {
            Self::Aws => 12..=12,
            Self::Alibaba => 1..=20,
        };
        lengths.contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The name in a sentence.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Aws => "AWS",
            Self::Alibaba => "Alibaba Cloud",
        }
    }

    /// The name used on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Alibaba => "alibaba",
        }
    }
}

/// A region that is not in an inventory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no region `{0}`")]
pub struct MissingRegion(pub String);
