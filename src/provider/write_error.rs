//! Errors of writes, in either cloud.

/// Error of a write that was not accepted, or may not have been.
#[derive(Debug, Clone)]
pub(crate) struct WriteError {
    /// Class of the failure.
    pub(crate) kind: WriteErrorKind,
    /// Displayable code and message.
    pub(crate) message: String,
    /// Code of the API.
    pub(crate) code: String,
}

/// Class of a failed write, by what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteErrorKind {
    /// Too many requests: it was not made, and may be retried later.
    Throttled,
    /// Something still uses the resource: it was not made, and may be retried later.
    #[cfg_attr(not(feature = "aws"), expect(dead_code, reason = "only leftovers in AWS are deleted"))]
    Busy,
    /// Credentials or clock are wrong: no write will succeed any more.
    Credentials,
    /// The caller is not authorized, or a tag policy forbids it.
    Denied,
    /// A resource or the value is invalid.
    Invalid,
    /// It may or may not have been made.
    Ambiguous,
    /// A signal came before the call was sent.
    Stopped,
}
