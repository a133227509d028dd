//! Providers fill an [`crate::inventory::Inventory`]; no later stage uses network, clock or environment.

#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) mod account_writer;
pub mod alibaba;
#[cfg(feature = "aws")]
pub mod aws;
pub mod cli_output;
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
mod error;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub(crate) mod signals;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) mod write_error;

#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub use error::{Error, ErrorKind};

/// Strategy for reading roles from a live account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IamReads {
    /// The strategy with fewer calls
    Auto,
    /// Each role of an instance profile in use separately
    PerRole,
    /// The whole account with `GetAccountAuthorizationDetails`
    Account,
}
