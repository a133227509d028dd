//! Why a write was not made, whichever the cloud.

/// Whether and why a write was not accepted.
#[derive(Debug, Clone)]
pub(crate) struct WriteError {
    /// What it means for what comes next.
    pub(crate) kind: WriteErrorKind,
    /// Code and message, for a person.
    pub(crate) message: String,
    /// Code of the API.
    pub(crate) code: String,
}

/// What a failed write means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteErrorKind {
    /// Too many requests: it was not made, and may be tried later.
    Throttled,
    /// No write will succeed any more: credentials, clock.
    Credentials,
    /// The caller may not, or a tag policy forbids it.
    Denied,
    /// One of the resources, or the value, is wrong.
    Invalid,
    /// It may have been made or not.
    Ambiguous,
}
