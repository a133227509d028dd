//! Why a write was not made.

use crate::provider::aws::call::CallError;

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

impl WriteError {
    pub(super) fn of(error: &CallError) -> Self {
        use WriteErrorKind as Kind;
        let kind = match error.code.as_str() {
            "RequestLimitExceeded"
            | "EC2ThrottledException"
            | "Throttling"
            | "ThrottlingException"
            | "TooManyRequestsException" => Kind::Throttled,
            "ExpiredToken"
            | "ExpiredTokenException"
            | "RequestExpired"
            | "InvalidClientTokenId"
            | "AuthFailure"
            | "UnrecognizedClientException"
            | "SignatureDoesNotMatch"
            | "NoCredentials" => Kind::Credentials,
            "UnauthorizedOperation" | "AccessDenied" | "AccessDeniedException" | "TagPolicyViolation" => Kind::Denied,
            "Timeout" | "Unreachable" | "Protocol" | "InternalError" | "InternalFailure" | "ServiceFailure"
            | "ServiceUnavailable" | "Unavailable" | "RequestTimeout" => Kind::Ambiguous,
            code if code.starts_with("Http5") => Kind::Ambiguous,
            _ => Kind::Invalid,
        };
        Self { kind, message: format!("{}: {}", error.code, error.message), code: error.code.clone() }
    }
}

/// What no plan that is valid leads to.
pub(super) fn unknown() -> CallError {
    CallError { code: "Unknown".to_owned(), message: "no such change is made".to_owned() }
}

/// What is not done, for a reason of ours.
pub(super) fn refused(why: &str) -> CallError {
    CallError { code: "Refused".to_owned(), message: why.to_owned() }
}

pub(super) fn is_gone(error: &CallError) -> bool {
    error.code.ends_with(".NotFound") || error.code.ends_with(".Malformed") || error.is_no_such_entity()
}
