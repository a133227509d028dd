//! Providers fill an [`crate::aws::Inventory`]; no later stage uses network, clock or environment.

#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) mod account_writer;
pub(crate) mod alibaba;
#[cfg(feature = "aws")]
pub(crate) mod aws;
pub(crate) mod cli_output;
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
mod error;
#[cfg(feature = "kubernetes")]
pub(crate) mod kubernetes;
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub(crate) mod progress;
#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub(crate) mod signals;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) mod targets;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) mod write_error;

#[cfg(any(feature = "aws", feature = "alibaba", feature = "kubernetes"))]
pub(crate) use error::{Error, ErrorKind};

/// Strategy for reading roles from a live account.
#[cfg(feature = "aws")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IamReads {
    /// The strategy with fewer calls
    Auto,
    /// Each role of an instance profile in use separately
    PerRole,
    /// The whole account with `GetAccountAuthorizationDetails`
    Account,
}
