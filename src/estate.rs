//! What was read of a cloud. Clouds share no inventory that a rule could be written against: each has one of its own, with its
//! own view and rules. What is shared is what comes after: findings, transitions, plans, journals and reports.

use crate::inventory::{Gap, Inventory, InventoryError, Provider};

/// What was read of a cloud.
#[derive(Debug, Clone, PartialEq)]
pub enum Estate {
    /// Accounts of AWS.
    Aws(Inventory),
}

impl Estate {
    /// Reads a recorded inventory, of whichever cloud; `file` is only used in errors.
    ///
    /// # Errors
    /// When the bytes are not JSON, not an inventory, or one of another schema or of a cloud that this version does not audit.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, InventoryError> {
        let inventory = Inventory::from_slice(file, bytes)?;
        match inventory.provider {
            Provider::Aws => Ok(Self::Aws(inventory)),
            provider @ Provider::Alibaba => Err(InventoryError::Unsupported { file: file.to_owned(), provider }),
        }
    }

    /// The bytes of the recorded form.
    ///
    /// # Errors
    /// When serialising fails, which plain data does not.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Aws(inventory) => inventory.to_json(),
        }
    }

    /// What could not be read.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        match self {
            Self::Aws(inventory) => &inventory.gaps,
        }
    }

    /// Whether every region was refused so thoroughly that nothing is known.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        match self {
            Self::Aws(inventory) => inventory.is_empty_handed(),
        }
    }
}
