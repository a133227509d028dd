//! What was read of a cloud. Clouds share no inventory that a rule could be written against: each has one of its own, with its
//! own view and rules. What is shared is what comes after: findings, transitions, plans, journals and reports.

use crate::alibaba;
use crate::inventory::{Gap, Inventory, InventoryError, Provider};

/// What was read of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub enum Estate {
    /// Accounts of AWS.
    Aws(Inventory),
    /// Accounts of Alibaba Cloud.
    Alibaba(alibaba::Inventory),
}

impl Estate {
    /// Reads a recorded inventory, of whichever cloud; `file` is only used in errors.
    ///
    /// # Errors
    /// When the bytes are not JSON, not an inventory, or one of another schema.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        match crate::inventory::provider_of(bytes) {
            Some(Provider::Alibaba) => alibaba::Inventory::from_slice(file, bytes).map(Self::Alibaba),
            Some(Provider::Aws) | None => Inventory::from_slice(file, bytes).map(Self::Aws),
        }
    }

    /// The bytes of the recorded form.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Aws(inventory) => inventory.to_json(),
            Self::Alibaba(inventory) => crate::inventory::to_json(inventory),
        }
    }

    /// The cloud.
    #[must_use]
    pub fn provider(&self) -> Provider {
        match self {
            Self::Aws(_) => Provider::Aws,
            Self::Alibaba(_) => Provider::Alibaba,
        }
    }

    /// Leaves out every region but these.
    ///
    /// # Errors
    /// With the name of one that it does not hold.
    pub fn retain_regions(&mut self, wanted: &[String]) -> Result<(), String> {
        match self {
            Self::Aws(inventory) => inventory.retain_regions(wanted),
            Self::Alibaba(inventory) => inventory.retain_regions(wanted),
        }
    }

    /// What could not be read.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        match self {
            Self::Aws(inventory) => &inventory.gaps,
            Self::Alibaba(inventory) => &inventory.gaps,
        }
    }

    /// Whether every region was refused so thoroughly that nothing is known.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        match self {
            Self::Aws(inventory) => inventory.is_empty_handed(),
            Self::Alibaba(inventory) => inventory.is_empty_handed(),
        }
    }
}
