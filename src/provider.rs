//! Providers fill an [`crate::inventory::Inventory`]; nothing after them touches network, clock or environment.

#[cfg(feature = "aws")]
pub mod aws;
pub mod folder;
