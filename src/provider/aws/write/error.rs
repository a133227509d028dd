//! Classes of failed writes.

use crate::provider::aws::call::CallError;
use crate::provider::write_error::{WriteError, WriteErrorKind};

impl From<&CallError> for WriteError {
    fn from(error: &CallError) -> Self {
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
            "DependencyViolation" | "ResourceInUse" => Kind::Busy,
            code if code.starts_with("Http5") => Kind::Ambiguous,
            STOPPED => Kind::Stopped,
            _ => Kind::Invalid,
        };
        Self { kind, message: format!("{}: {}", error.code, error.message), code: error.code.clone() }
    }
}

/// Code of a write that was not sent because of a signal.
const STOPPED: &str = "Stopped";

/// Error for a write that was not sent because of a signal.
pub(super) fn stopped() -> CallError {
    CallError::new(STOPPED, "a signal came")
}

/// Error for a change that no valid plan contains.
pub(super) fn unknown() -> CallError {
    CallError::new("Unknown", "tagaudit does not make this change")
}

/// Error for a write that tagaudit refuses.
pub(super) fn refused(why: &str) -> CallError {
    CallError::new("Refused", why.to_owned())
}

pub(super) fn is_gone(error: &CallError) -> bool {
    error.code.ends_with(".NotFound") || error.code.ends_with(".Malformed") || error.is_no_such_entity()
}
