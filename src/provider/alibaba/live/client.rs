//! One call: signed, sent, retried where that helps, and classified if it fails.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use ureq::http::Request;

use crate::inventory::Read;
use crate::json_input;
use crate::provider::alibaba::answers::Refusal;
use crate::provider::progress::{Progress, log};
use crate::text;
use crate::transition::Operation;

use super::endpoint::{Endpoints, Product};
use super::keys::Keys;
use super::sign::{self, Unsigned};
use super::transport::{HttpAnswer, Transport, TransportError, TransportErrorKind};

/// Attempts of a read, the first included.
const ATTEMPTS: u32 = 8;

/// First wait before a retry; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(300);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Time after which an unanswered request is retried.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes per second for one API: the cluster's controllers share its quota.
const WRITES_PER_SECOND: u32 = 2;

/// Lookups of events per second. Source: `ActionTrail` 2020-07-06, `LookupEvents`.
const LOOKUPS_PER_SECOND: u32 = 2;

/// Requests in flight at the same time.
const AT_ONCE: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallError {
    pub(super) kind: CallErrorKind,
    /// Code of the API, or of tagaudit.
    pub(super) code: String,
    /// Displayable message, with the id of the request if there is one.
    pub(super) message: String,
}

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallErrorKind {
    /// The caller is not authorized.
    Denied,
    /// The keys are wrong, unknown, expired or switched off.
    Credentials,
    /// The clock is wrong.
    Clock,
    /// The requested resource does not exist.
    NotFound,
    /// The region does not exist.
    NoSuchRegion,
    /// Too many requests, up to the last attempt.
    Throttled,
    /// No answer in time.
    Timeout,
    /// No connection.
    Unreachable,
    /// The certificate of the server is not trusted.
    Certificate,
    /// Malformed answer.
    Protocol,
    /// An answer that is larger than is read.
    TooLarge,
    /// A signal came before the call was sent.
    Stopped,
    /// Any other error of the API.
    Other,
}

impl CallErrorKind {
    /// True if a call may fail this way because its region does not exist: it is refused, or its host cannot be
    /// reached.
    pub(super) fn may_be_for_region(self) -> bool {
        matches!(self, Self::NoSuchRegion | Self::Unreachable | Self::Timeout)
    }

    /// Classifies a status and a code. Sources: ECS and RAM 2021-07 tables of errors; STS error codes; the substrings
    /// that the official Terraform provider and cloud controller test for.
    fn classify(status: u16, code: &str) -> Self {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| code.starts_with(prefix));
        if code.contains("Throttling") || status == 429 {
            Self::Throttled
        } else if starts(&[
            "InvalidAccessKeyId",
            "Forbidden.AccessKey",
            "SignatureDoesNotMatch",
            "IncompleteSignature",
            "InvalidSecurityToken",
            "SecurityTokenExpired",
            "MissingSecurityToken",
            "InvalidAccessKeySecret",
        ]) {
            Self::Credentials
        } else if starts(&["IllegalTimestamp", "InvalidTimeStamp", "Timestamp.Expired"]) {
            Self::Clock
        } else if starts(&["Forbidden", "NoPermission", "NotAuthorized", "Unauthorized", "AccessDenied"])
            || status == 403
        {
            Self::Denied
        } else if starts(&["InvalidRegionId"]) {
            Self::NoSuchRegion
        } else if starts(&["EntityNotExist"]) || code.contains("NotFound") || status == 404 {
            Self::NotFound
        } else {
            Self::Other
        }
    }
}

impl CallError {
    pub(super) fn new(kind: CallErrorKind, code: &str, message: impl Into<String>) -> Self {
        let message = text::secrets::without_session_tokens(&message.into()).into_owned();
        Self { kind, code: code.to_owned(), message }
    }
}

/// Refusal in XML, which a few products answer whatever format is requested.
fn parse_xml_refusal(body: &str) -> Option<Refusal> {
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text.to_owned())
    };
    Some(Refusal {
        code: element("Code")?,
        message: element("Message").unwrap_or_default(),
        request_id: element("RequestId").unwrap_or_default(),
    })
}

/// Rate limit of one API in one region.
#[derive(Debug)]
struct Bucket {
    next: Instant,
}

/// Current time, in the format of the requests.
fn timestamp() -> String {
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the clock is read")]
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A value that was never sent before: the service remembers each one for a while.
fn nonce() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    // Each state has its own keys, which the system draws at random.
    let mut parts = [0_u64; 2];
    for part in &mut parts {
        let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
        hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
        hasher.write_u32(std::process::id());
        *part = hasher.finish();
    }
    format!("{:016x}{:016x}", parts[0], parts[1])
}

/// Limits that all calls of a run share.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Time limit for a run of calls.
    pub(super) timeout: Duration,
    /// Requests per second for each API and region.
    pub(super) requests_per_second: u32,
    /// Where the products are called.
    pub(super) endpoints: Endpoints,
    /// True to log every request to standard error.
    pub(super) verbose: bool,
    pub(super) progress: Progress,
}

/// Calls the API with keys of one account.
pub(super) struct Client {
    transport: Transport,
    limits: Limits,
    /// Time after which unanswered calls are given up.
    deadline: Mutex<Instant>,
    buckets: Mutex<HashMap<(Product, &'static str, String), Bucket>>,
    free: Mutex<usize>,
    freed: Condvar,
}

/// A call, before it is signed.
#[derive(Debug, Clone)]
pub(super) struct ApiCall<'c> {
    pub(super) product: Product,
    pub(super) action: &'static str,
    pub(super) region: &'c str,
    pub(super) parameters: Vec<(String, String)>,
}

impl<'c> ApiCall<'c> {
    pub(super) fn new(product: Product, action: &'static str, region: &'c str) -> Self {
        Self { product, action, region, parameters: Vec::new() }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.parameters.push((name.to_owned(), value.into()));
        self
    }
}

impl Client {
    pub(super) fn new(transport: Transport, limits: Limits) -> Self {
        let deadline = Mutex::new(now() + limits.timeout);
        Self {
            transport,
            limits,
            deadline,
            buckets: Mutex::default(),
            free: Mutex::new(AT_ONCE),
            freed: Condvar::new(),
        }
    }

    /// A client for another account: its time, its limits and its requests in flight are its own.
    pub(super) fn again(&self) -> Self {
        Self::new(self.transport.clone(), self.limits.clone())
    }

    /// Restarts the time limit for the calls that follow.
    pub(super) fn extend(&self) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = now() + self.limits.timeout;
    }

    fn left(&self) -> Duration {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner).saturating_duration_since(now())
    }

    /// Makes a call exactly once: after a lost answer, the caller has to read the result back.
    pub(super) fn once<T: DeserializeOwned>(&self, keys: &Keys, call: &ApiCall<'_>) -> Result<T, CallError> {
        self.paced(call, self.limits.requests_per_second.min(WRITES_PER_SECOND));
        let answered = self.attempt(keys, call, ATTEMPT_TIMEOUT);
        answered.and_then(|answer| read(answer, call)).map_err(|(error, _)| error)
    }

    /// Removes the display of the progress.
    pub(super) fn finish(&self) {
        self.limits.progress.finish();
    }

    /// Makes a call and reads its answer.
    pub(super) fn call<T: DeserializeOwned>(&self, keys: &Keys, call: &ApiCall<'_>) -> Result<T, CallError> {
        let _begun = self.limits.progress.begin(format!("{} in {}", call.action, call.region));
        let mut wait = FIRST_WAIT;
        let mut last: Option<CallError> = None;
        for attempt in 1..=ATTEMPTS {
            let left = self.left();
            if left.is_zero() {
                break;
            }
            match call.product {
                Product::Ecs | Product::Vpc | Product::Slb | Product::Nlb | Product::Alb => {
                    self.paced(call, self.limits.requests_per_second);
                }
                Product::ActionTrail => self.paced_evenly(call),
                // They have no limits per region.
                Product::Ram | Product::Sts | Product::ResourceManager => {}
            }
            let answered = self.attempt(keys, call, left.min(ATTEMPT_TIMEOUT));
            let (error, asked) = match answered.and_then(|answer| read(answer, call)) {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            if self.limits.verbose {
                log(&format!("{}: attempt {attempt}: {}: {}", call.action, error.code, error.message));
            }
            let again = match error.kind {
                CallErrorKind::Throttled
                | CallErrorKind::Timeout
                | CallErrorKind::Unreachable
                | CallErrorKind::Protocol => true,
                CallErrorKind::Other => is_passing(&error.code),
                CallErrorKind::Denied
                | CallErrorKind::Credentials
                | CallErrorKind::Certificate
                | CallErrorKind::TooLarge
                | CallErrorKind::Clock
                | CallErrorKind::NotFound
                | CallErrorKind::Stopped
                | CallErrorKind::NoSuchRegion => false,
            };
            if !again || (error.kind == CallErrorKind::Protocol && attempt >= 3) {
                return Err(error);
            }
            let pause = asked.unwrap_or(wait).min(LONGEST_WAIT).min(self.left());
            last = Some(error);
            std::thread::sleep(pause);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        Err(last.unwrap_or_else(|| {
            CallError::new(CallErrorKind::Timeout, "Timeout", "no time left for the call (--timeout)")
        }))
    }

    /// Waits until the API of a region may be called again. A burst of a few requests is free, such as the pages of a
    /// small list.
    fn paced(&self, call: &ApiCall<'_>, per_second: u32) {
        self.paced_from(call, call.region, per_second, 4);
    }

    /// Waits until the audit trail may be called again: its limit counts for the account, and no burst is free.
    fn paced_evenly(&self, call: &ApiCall<'_>) {
        self.paced_from(call, "", LOOKUPS_PER_SECOND, 0);
    }

    fn paced_from(&self, call: &ApiCall<'_>, place: &str, per_second: u32, burst: u32) {
        let step = Duration::from_secs(1) / per_second.max(1);
        let at = {
            let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (call.product, call.action, place.to_owned());
            let free = now().checked_sub(step * burst).unwrap_or_else(now);
            let bucket = buckets.entry(key).or_insert(Bucket { next: free });
            let at = bucket.next.max(free);
            bucket.next = at + step;
            at
        };
        std::thread::sleep(at.saturating_duration_since(now()));
    }

    fn attempt(
        &self,
        keys: &Keys,
        call: &ApiCall<'_>,
        timeout: Duration,
    ) -> Result<HttpAnswer, (CallError, Option<Duration>)> {
        let _slot = self.slot();
        let unsent = |message: String| (CallError::new(CallErrorKind::Other, "InvalidRequest", message), None);
        let base = self.limits.endpoints.base(call.product, call.region);
        let host = base.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default().to_owned();
        let mut headers: Vec<(String, String)> = [
            ("host", host),
            ("x-acs-action", call.action.to_owned()),
            ("x-acs-version", call.product.version().to_owned()),
            ("x-acs-date", timestamp()),
            ("x-acs-signature-nonce", nonce()),
            ("x-acs-content-sha256", sign::hashed(&[])),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let Some(token) = &keys.token {
            headers.push(("x-acs-accesskey-id".to_owned(), keys.id.clone()));
            headers.push(("x-acs-security-token".to_owned(), token.clone()));
        }
        let unsigned =
            Unsigned { method: "POST", path: "/", parameters: &call.parameters, headers: &headers, body: &[] };
        let authorization = sign::authorization(&keys.id, &keys.secret, &unsigned);
        let query = sign::canonical_query(&call.parameters);
        let mut request = Request::builder().method("POST").uri(format!("{base}/?{query}"));
        for (name, value) in headers.iter().filter(|(name, _)| name != "host") {
            request = request.header(name, value);
        }
        let request = request
            .header("accept", "application/json")
            .header("authorization", authorization)
            .body(Vec::new())
            .map_err(|error| unsent(error.to_string()))?;
        if self.limits.verbose {
            log(&format!("{} in {}", call.action, call.region));
        }
        self.transport.send(request, timeout).map_err(|error| (transport_failure(&error), None))
    }

    fn slot(&self) -> Slot<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Slot(self)
    }
}

/// A request in flight; dropping it admits the next one.
struct Slot<'c>(&'c Client);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

fn now() -> Instant {
    Instant::now()
}

fn transport_failure(error: &TransportError) -> CallError {
    let (kind, code) = match error.kind {
        TransportErrorKind::Timeout => (CallErrorKind::Timeout, "Timeout"),
        TransportErrorKind::Certificate => (CallErrorKind::Certificate, "Certificate"),
        TransportErrorKind::TooLarge => (CallErrorKind::TooLarge, "TooLarge"),
        TransportErrorKind::Connection => (CallErrorKind::Unreachable, "Unreachable"),
    };
    CallError::new(kind, code, error.message.clone())
}

/// True for an error code of a transient service failure.
pub(super) fn is_passing(code: &str) -> bool {
    ["ServiceUnavailable", "InternalError", "UnknownError", "InternalServerError", "Http5", "SignatureNonceUsed"]
        .iter()
        .any(|known| code.contains(known))
}

/// Value of an answer, or its error with the delay that it requests.
fn read<T: DeserializeOwned>(answer: HttpAnswer, call: &ApiCall<'_>) -> Result<T, (CallError, Option<Duration>)> {
    let HttpAnswer { status, retry_after, body } = answer;
    if (200..300).contains(&status) {
        return json_input::parse_complete(&body).map_err(|error| {
            let message = format!("the answer of {} is malformed: {error}", call.action);
            (CallError::new(CallErrorKind::Protocol, "Protocol", message), None)
        });
    }
    let text = String::from_utf8_lossy(&body);
    let refusal = serde_json::from_slice::<Refusal>(&body).ok().or_else(|| parse_xml_refusal(&text));
    let refusal = refusal.filter(|refusal| !refusal.code.is_empty()).unwrap_or_else(|| Refusal {
        code: if status >= 500 { format!("Http{status}") } else { "Protocol".to_owned() },
        message: format!("HTTP {status} without a reason"),
        ..Refusal::default()
    });
    let kind = match refusal.code.as_str() {
        "Protocol" => CallErrorKind::Protocol,
        code if retry_after.is_some() && status != 403 => {
            let known = CallErrorKind::classify(status, code);
            if known == CallErrorKind::Other { CallErrorKind::Throttled } else { known }
        }
        code => CallErrorKind::classify(status, code),
    };
    let request =
        if refusal.request_id.is_empty() { String::new() } else { format!(" (request {})", refusal.request_id) };
    let message: String = refusal.message.chars().take(500).collect();
    Err((CallError { kind, code: refusal.code, message: format!("{message}{request}") }, retry_after))
}

/// Product and action of a read.
pub(super) fn api_for_read(read: Read) -> Option<(Product, &'static str)> {
    let (product, action) = read.action().split_once(':')?;
    let product = match product {
        "ecs" => Product::Ecs,
        "vpc" => Product::Vpc,
        "sts" => Product::Sts,
        // RAM authorises it, but another product answers.
        "ram" if action == "ListPolicyAttachments" => Product::ResourceManager,
        "ram" => Product::Ram,
        "resourcemanager" => Product::ResourceManager,
        "slb" => Product::Slb,
        "nlb" => Product::Nlb,
        "alb" => Product::Alb,
        "actiontrail" => Product::ActionTrail,
        _ => return None,
    };
    Some((product, action))
}

/// Product and action of a write; `None` for those of other clouds.
pub(super) fn api_for_operation(operation: Operation) -> Option<(Product, &'static str)> {
    match operation.action().split_once(':')? {
        ("ecs", action) => Some((Product::Ecs, action)),
        ("ram", action) => Some((Product::Ram, action)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (status, code, kind) in [
            (400, "Throttling.User", CallErrorKind::Throttled),
            (400, "Rejected.Throttling", CallErrorKind::Throttled),
            (429, "Whatever", CallErrorKind::Throttled),
            (403, "Forbidden.RAM", CallErrorKind::Denied),
            (403, "NoPermission", CallErrorKind::Denied),
            (403, "Forbidden.AccessKeyDisabled", CallErrorKind::Credentials),
            (404, "InvalidAccessKeyId.NotFound", CallErrorKind::Credentials),
            (400, "SignatureDoesNotMatch", CallErrorKind::Credentials),
            (400, "IllegalTimestamp", CallErrorKind::Clock),
            (404, "EntityNotExist.Role", CallErrorKind::NotFound),
            (404, "InvalidRegionId.NotFound", CallErrorKind::NoSuchRegion),
            (400, "MissingParameter", CallErrorKind::Other),
        ] {
            assert_eq!(CallErrorKind::classify(status, code), kind, "{status} {code}");
        }
    }

    #[test]
    fn refusals_are_read_as_json_in_either_case_and_as_xml() {
        let call = ApiCall::new(Product::Ecs, "DescribeInstances", "cn-beijing");
        for body in [
            r#"{"Code":"Forbidden.RAM","Message":"no","RequestId":"R-1","HostId":"h"}"#,
            r#"{"code":"Forbidden.RAM","message":"no","requestId":"R-1"}"#,
            "<?xml version='1.0'?><Error><RequestId>R-1</RequestId><Code>Forbidden.RAM</Code><Message>no</Message></Error>",
        ] {
            let answer = HttpAnswer { status: 403, retry_after: None, body: body.as_bytes().to_vec() };
            let (error, _) = read::<serde_json::Value>(answer, &call).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (CallErrorKind::Denied, "Forbidden.RAM"), "{body}");
            assert_eq!(error.message, "no (request R-1)");
        }
        let html = HttpAnswer { status: 502, retry_after: None, body: b"<html>".to_vec() };
        assert_eq!(read::<serde_json::Value>(html, &call).unwrap_err().0.code, "Http502");
        let cut = HttpAnswer { status: 200, retry_after: None, body: b"{\"Instances\":".to_vec() };
        assert_eq!(read::<serde_json::Value>(cut, &call).unwrap_err().0.kind, CallErrorKind::Protocol);
    }

    #[test]
    fn a_nonce_is_never_sent_twice() {
        let all: std::collections::HashSet<String> = (0..10_000).map(|_| nonce()).collect();
        assert_eq!(all.len(), 10_000);
    }
}
