//! `sts:DecodeAuthorizationMessage`.

use futures_util::future::join_all;

use super::call::{CallError, Caller};
use super::config::{self, Session};
use super::{Error, Request};
use crate::provider::signals::until_signal;
use crate::why::{Decoded, NotDecoded};

/// Decodes encoded authorization messages, as the caller or as each role to assume until one may. A message that is not
/// decoded has its reason; the messages themselves are never written anywhere.
///
/// # Errors
/// If arguments, environment or credentials make calls impossible, or the run is interrupted.
pub(crate) fn decode(request: &Request<'_>, messages: &[String]) -> Result<Decoded, Error> {
    config::validate_environment(request)?;
    until_signal(decode_all(request, messages), "stopped before all messages were decoded")
}

async fn decode_all(request: &Request<'_>, messages: &[String]) -> Result<Decoded, Error> {
    let caller = Caller::new(request);
    let session = Session::load(request).await?;
    let sessions = if request.assume_roles.is_empty() {
        vec![session]
    } else {
        join_all(request.assume_roles.iter().map(|role| session.assume(role, request))).await
    };
    let decoded = join_all(messages.iter().map(|message| decode_one(&sessions, &caller, message))).await;
    caller.finish();
    Ok(messages.iter().cloned().zip(decoded).collect())
}

async fn decode_one(sessions: &[Session], caller: &Caller, message: &str) -> Result<String, NotDecoded> {
    let mut reason = "no credentials".to_owned();
    for session in sessions {
        let client = session.sts();
        let send = || client.decode_authorization_message().encoded_message(message).send();
        let answer: Result<_, CallError> = caller.call("sts:DecodeAuthorizationMessage", "", send).await;
        match answer.map(|answer| answer.decoded_message) {
            Ok(Some(text)) => return Ok(text),
            Ok(None) => "the response has no decoded message".clone_into(&mut reason),
            Err(error) => reason = format!("{}: {}", error.code, error.message),
        }
    }
    Err(NotDecoded { reason })
}
