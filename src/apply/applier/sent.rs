//! Outcomes of a call.

use crate::provider::write_error::WriteError;

use super::super::Stop;

/// Detail of a conflict.
pub(super) const ANOTHER_VALUE: &str = "somebody else wrote another value";

/// State after an unanswered call.
pub(super) enum Seen {
    /// All of it is there.
    Made,
    /// None of it is there.
    Nothing,
    /// Something else, or part of it, is there.
    Changed,
}

/// Outcome of a call.
pub(super) enum Sent {
    /// The call was accepted, or is seen to have been made.
    Yes,
    /// The call was refused for good.
    No(WriteError),
    /// The call was not made, and no other will be.
    Never(Stop),
}
