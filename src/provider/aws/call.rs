//! Single requests and lists: rate limit, deadline, retries for truncated answers, and the meaning of errors.

use std::collections::{BTreeSet, HashMap};
use std::error::Error as StdError;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::inventory::{Gap, Read};
use crate::provider::progress::{Display, Progress, log};
use crate::text;

use super::Request;
use super::strict::Untrusted;

/// Most pages of a list: five million instances.
const MAX_PAGES: usize = 5_000;
/// Attempts for an answer that was cut off in transit.
const TRIES_FOR_CUT_ANSWERS: usize = 3;
/// Concurrent requests to the one IAM endpoint of an account.
const IAM_AT_ONCE: usize = 10;
/// Longest error message that is kept.
const MAX_MESSAGE: usize = 400;

/// Prefix of the actions of Elastic Load Balancing, whose calls share one bucket.
const LOAD_BALANCING: &str = "elasticloadbalancing:";
/// Calls of Elastic Load Balancing at once, and then per second: half of what it allows an account and region, because the
/// controllers of the cluster draw on the same bucket. Both versions of the API share this half.
/// Source: Elastic Load Balancing User Guide, Request throttling for the ELB API: 40 at once, then 10 per second.
const LOAD_BALANCING_BURST: f64 = 20.0;
const LOAD_BALANCING_RATE: f64 = 5.0;

/// Error of a read.
#[derive(Debug, Clone)]
pub(super) struct CallError {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) request: FailedRequest,
}

/// The request that an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedRequest {
    /// The call itself.
    Call,
    /// The assumption of a role, without which the call was never sent.
    AssumeRole,
}

impl CallError {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), request: FailedRequest::Call }
    }

    /// True if IAM reports that the entity does not exist.
    pub(super) fn is_no_such_entity(&self) -> bool {
        self.code == "NoSuchEntity"
    }

    /// Help for errors of credentials and clocks.
    pub(super) fn help(&self) -> Option<&'static str> {
        Some(match self.code.as_str() {
            "ExpiredToken" | "ExpiredTokenException" => {
                "the credentials have expired: sign in again, for example with `aws sso login`"
            }
            "RequestExpired" | "SignatureDoesNotMatch" | "RequestTimeTooSkewed" => {
                "check the clock of this machine and the secret key"
            }
            "InvalidClientTokenId" | "UnrecognizedClientException" | "AuthFailure" => {
                "the access key is not known there: check profile, region and endpoint"
            }
            "NoCredentials" => {
                "set AWS_PROFILE or --profile, sign in with `aws sso login` or `aws login`, or run where a role is attached"
            }
            _ if self.request == FailedRequest::AssumeRole => {
                "check the trust policy of the role, and whether the caller may assume it"
            }
            "Unreachable" | "Timeout" => "check network, proxy and --endpoint-url",
            _ => return None,
        })
    }

    /// Gap that this failure leaves.
    pub(super) fn gap(&self, read: Read, region: &str, resource: Option<&str>) -> Gap {
        Gap {
            read,
            account_id: None,
            region: Some(region).filter(|region| !region.is_empty()).map(str::to_owned),
            resource: resource.map(str::to_owned),
            policy: None,
            reason: self.code.clone(),
            message: self.message.clone(),
        }
    }
}

/// A token bucket: `capacity` at once, then `rate` per second.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// Makes requests, within limits that all reads share.
#[derive(Debug)]
pub(super) struct Caller {
    /// Deadline; [`Self::extend`] moves it.
    deadline: Mutex<Instant>,
    timeout: Duration,
    rate: f64,
    capacity: f64,
    buckets: Mutex<HashMap<(String, &'static str), Bucket>>,
    iam: Semaphore,
    progress: Progress,
    verbose: bool,
    /// Account id, once it is known.
    account_id: String,
}

impl Caller {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let progress = Progress::of_calls(request.progress);
        let rate = f64::from(request.requests_per_second);
        Self {
            deadline: Mutex::new(Instant::now() + request.timeout),
            timeout: request.timeout,
            rate,
            // EC2 refills 20 a second into a bucket of 100: the same shape, a quarter of it by default.
            capacity: rate * 5.0,
            buckets: Mutex::default(),
            iam: Semaphore::new(IAM_AT_ONCE),
            progress,
            verbose: request.verbose,
            account_id: String::new(),
        }
    }

    /// A copy with fresh limits: AWS counts the requests of each account separately.
    pub(super) fn for_account(&self, account_id: &str) -> Self {
        Self {
            account_id: account_id.to_owned(),
            deadline: Mutex::new(self.deadline()),
            buckets: Mutex::default(),
            iam: Semaphore::new(IAM_AT_ONCE),
            progress: self.progress.clone(),
            ..*self
        }
    }

    /// Limits for writes: 2 per second and 10 at once where 5 reads per second are allowed. The cluster's own
    /// controllers share the bucket, which holds 100 and gets 10 per second for tags, 50 and 5 for other calls (Amazon
    /// EC2 Developer Guide, "Request throttling").
    pub(super) fn for_writes(&self) -> Self {
        Self {
            deadline: Mutex::new(Instant::now() + self.timeout),
            timeout: self.timeout,
            rate: self.rate * 0.4,
            capacity: self.capacity * 0.4,
            buckets: Mutex::default(),
            iam: Semaphore::new(1),
            progress: Progress::of_calls(Display::Hidden),
            verbose: self.verbose,
            account_id: self.account_id.clone(),
        }
    }

    /// Makes one request exactly once: a write whose answer was lost may have been made.
    pub(super) async fn once<O, E, F>(
        &self,
        api: &'static str,
        region: &str,
        send: impl FnOnce() -> F,
    ) -> Result<O, CallError>
    where
        F: Future<Output = Result<O, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        self.limit(api, region, self.rate, self.capacity).await;
        let started = Instant::now();
        let result = send().await;
        self.log(api, region, started, result.as_ref().err().map(|error| describe(error).code));
        result.map_err(|error| describe(&error))
    }

    fn deadline(&self) -> Instant {
        *self.deadline.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Restarts the time limit: applying a plan may take longer than reading an account.
    pub(super) fn extend(&self) {
        *self.deadline.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Instant::now() + self.timeout;
    }

    /// Removes the progress display.
    pub(super) fn finish(&self) {
        self.progress.finish();
    }

    /// Waits until the API of a region may be called again.
    async fn limit(&self, api: &'static str, region: &str, rate: f64, capacity: f64) {
        let wait = {
            let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = Instant::now();
            let bucket =
                buckets.entry((region.to_owned(), api)).or_insert_with(|| Bucket { tokens: capacity, at: now });
            bucket.tokens = (bucket.tokens + now.duration_since(bucket.at).as_secs_f64() * rate).min(capacity);
            bucket.at = now;
            // A caller in debt waits; later callers queue up behind it.
            bucket.tokens -= 1.0;
            (bucket.tokens < 0.0).then(|| Duration::from_secs_f64(-bucket.tokens / rate))
        };
        if let Some(wait) = wait {
            tokio::time::sleep(wait).await;
        }
    }

    /// Makes one request.
    pub(super) async fn call<O, E, F>(
        &self,
        api: &'static str,
        region: &str,
        send: impl Fn() -> F,
    ) -> Result<O, CallError>
    where
        F: Future<Output = Result<O, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        let is_iam = api.starts_with("iam:");
        let _begun = self.progress.begin(format!("{api} in {}", place(region)));
        let attempt = async {
            let _permit = if is_iam { self.iam.acquire().await.ok() } else { None };
            if api.starts_with("ec2:") {
                self.limit(api, region, self.rate, self.capacity).await;
            } else if api.starts_with(LOAD_BALANCING) {
                self.limit(LOAD_BALANCING, region, LOAD_BALANCING_RATE, LOAD_BALANCING_BURST).await;
            }
            let mut tries = 0;
            loop {
                tries += 1;
                let started = Instant::now();
                let result = send().await;
                self.log(api, region, started, result.as_ref().err().map(|error| describe(error).code));
                match result {
                    Ok(output) => return Ok(output),
                    Err(error) if untrusted(&error).is_some() && tries < TRIES_FOR_CUT_ANSWERS => {}
                    Err(error) => return Err(describe(&error)),
                }
            }
        };
        tokio::time::timeout_at(self.deadline(), attempt)
            .await
            .unwrap_or_else(|_| Err(CallError::new("Timeout", "not read within the time of --timeout")))
    }

    /// Reads a list page by page. If a list breaks off, its items are returned with the gap: they exist, and the list
    /// is known to be incomplete.
    pub(super) async fn pages<O, E, T, F>(
        &self,
        read: Read,
        region: &str,
        resource: Option<&str>,
        send: impl Fn(Option<String>) -> F,
        take: impl Fn(O) -> Result<Page<T>, CallError>,
    ) -> (Vec<T>, Option<Gap>)
    where
        F: Future<Output = Result<O, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        let (items, error) = self.listed(read, region, send, take).await;
        (items, error.map(|error| error.gap(read, region, resource)))
    }

    /// The same with the error instead of a gap: its code may be an answer.
    pub(super) async fn listed<O, E, T, F>(
        &self,
        read: Read,
        region: &str,
        send: impl Fn(Option<String>) -> F,
        take: impl Fn(O) -> Result<Page<T>, CallError>,
    ) -> (Vec<T>, Option<CallError>)
    where
        F: Future<Output = Result<O, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        let mut items = Vec::new();
        let mut seen = BTreeSet::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self.call(read.action(), region, || send(token.clone())).await.and_then(&take);
            let page = match page {
                Ok(page) => page,
                Err(error) => return (items, Some(error)),
            };
            items.extend(page.items);
            match page.next {
                None => return (items, None),
                Some(next) if !seen.insert(next.clone()) => {
                    let error =
                        CallError::new("Pagination", "the same page token came twice, so the list is incomplete");
                    return (items, Some(error));
                }
                Some(next) => token = Some(next),
            }
        }
        let error = CallError::new("Pagination", format!("the list did not end within {MAX_PAGES} pages"));
        (items, Some(error))
    }

    fn log(&self, api: &str, region: &str, started: Instant, error: Option<String>) {
        if self.verbose {
            let outcome = error.unwrap_or_else(|| "ok".to_owned());
            let account = if self.account_id.is_empty() { "" } else { " " };
            let (account, elapsed) = (format!("{account}{}", self.account_id), started.elapsed().as_millis());
            log(&format!("{api}{account} {} {elapsed} ms {outcome}", place(region)));
        }
    }
}

/// Name of a region for display; IAM and STS have none.
fn place(region: &str) -> &str {
    if region.is_empty() { "global" } else { region }
}

/// A page of a list.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

/// Converts the items of an EC2 page. Refuses a list that is absent or holds an item without its id.
pub(super) fn page<R, T>(
    list: Option<Vec<R>>,
    next: Option<String>,
    convert: impl Fn(R) -> Option<T>,
) -> Result<Page<T>, CallError> {
    let Some(list) = list else {
        return Err(CallError::new("Protocol", "the answer contains no list, not even an empty one"));
    };
    let number = list.len();
    let items: Vec<T> = list.into_iter().filter_map(convert).collect();
    if items.len() != number {
        return Err(CallError::new(
            "Protocol",
            format!("the answer has {} without an id or state", text::count(number - items.len(), "item")),
        ));
    }
    Ok(Page { items, next: next.filter(|token| !token.is_empty()) })
}

/// Keeps the items of an answer about a resource, or the gap that its failure leaves. A resource that was deleted since it was
/// listed, as some codes state, is left unread.
pub(super) fn keep<T>(
    answer: Result<Page<T>, CallError>,
    place: &mut Option<Vec<T>>,
    deleted: &[&str],
    (read, region, resource): (Read, &str, &str),
) -> Option<Gap> {
    match answer {
        Ok(page) => {
            *place = Some(page.items);
            None
        }
        Err(error) if deleted.contains(&error.code.as_str()) => None,
        Err(error) => Some(error.gap(read, region, Some(resource))),
    }
}

/// Checks a page of IAM: `IsTruncated` without a `Marker` is not the end of a list.
pub(super) fn marked<T>(items: Vec<T>, is_truncated: bool, marker: Option<String>) -> Result<Page<T>, CallError> {
    let marker = marker.filter(|marker| !marker.is_empty());
    if is_truncated && marker.is_none() {
        return Err(CallError::new("Pagination", "the answer is truncated but has no marker to continue from"));
    }
    // A marker on the last page would only cause a loop.
    Ok(Page { items, next: marker.filter(|_| is_truncated) })
}

fn sources<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn StdError + 'static)| (*error).source())
}

fn untrusted<E>(error: &SdkError<E, HttpResponse>) -> Option<&Untrusted>
where
    E: StdError + Send + Sync + 'static,
{
    sources(error).find_map(|error| error.downcast_ref::<Untrusted>())
}

/// Code and message of an error. The SDK's own rendering prints whole answers with their headers, so it is not used.
fn describe<E>(error: &SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    if let Some(untrusted) = untrusted(error) {
        return CallError::new("Protocol", untrusted.to_string());
    }
    match error {
        SdkError::ServiceError(service) => {
            let metadata = service.err();
            let status = service.raw().status().as_u16();
            let code = metadata.code().map_or_else(|| format!("Http{status}"), str::to_owned);
            let message = metadata.message().unwrap_or("the service gave no reason");
            CallError::new(&code, clip(&decode_hint(message)))
        }
        SdkError::TimeoutError(_) => CallError::new("Timeout", "no answer in time"),
        SdkError::ResponseError(response) => {
            let status = response.raw().status().as_u16();
            let innermost = sources(error).last().map(ToString::to_string).unwrap_or_default();
            CallError::new("Protocol", clip(&format!("the answer (HTTP {status}) cannot be parsed: {innermost}")))
        }
        _ => {
            if let Some(refused) = refused_role(error) {
                return refused;
            }
            let chain: Vec<String> = sources(error).skip(1).map(ToString::to_string).collect();
            let all = one_cause(&chain);
            let lower = all.to_ascii_lowercase();
            let code = if lower.contains("credential") || lower.contains("sso") || lower.contains("token") {
                "NoCredentials"
            } else {
                "Unreachable"
            };
            CallError::new(code, clip(if all.is_empty() { "the request could not be sent" } else { &all }))
        }
    }
}

/// Reason for missing credentials, if STS refuses a role.
fn refused_role(error: &(dyn StdError + 'static)) -> Option<CallError> {
    sources(error).find_map(|error| {
        let (call, metadata) = if let Some(refused) = error.downcast_ref::<AssumeRoleError>() {
            ("sts:AssumeRole", refused.meta())
        } else if let Some(refused) = error.downcast_ref::<AssumeRoleWithWebIdentityError>() {
            ("sts:AssumeRoleWithWebIdentity", refused.meta())
        } else {
            return None;
        };
        let message = metadata.message().unwrap_or("the service gave no reason");
        let error = CallError::new(metadata.code()?, clip(&format!("{call}: {message}")));
        Some(CallError { request: FailedRequest::AssumeRole, ..error })
    })
}

/// Joins the messages of a chain of errors to one readable line, without empty wrappers, repetitions and line breaks.
fn one_cause(chain: &[String]) -> String {
    const EMPTY: [&str; 4] = [
        "other",
        "dispatch failure",
        "an error occurred while loading credentials",
        "the credential provider was not enabled",
    ];
    let says_something = |text: &&String| !EMPTY.contains(&text.as_str());
    let mut described: Vec<String> = Vec::new();
    for text in chain.iter().filter(says_something) {
        // The SDK's own chain of providers reports its attempts as a list of lines, one for each provider.
        let text = if text.contains("Attempted:") {
            // With --profile the environment is ignored.
            if text.contains("Environment") {
                "no credentials are in the environment, the profile, a web identity token, the container or the instance"
            } else {
                "no credentials are in the profile, the container or the instance"
            }
            .to_owned()
        } else {
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            lines.join("; ").trim_end_matches(" Stderr:").to_owned()
        };
        if !described.iter().any(|earlier| earlier.contains(&text)) {
            described.push(text);
        }
    }
    // Only the wrappers have a message.
    if described.is_empty() { chain.last().cloned().unwrap_or_default() } else { described.join(": ") }
}

/// Replaces the encoded message of an EC2 refusal, which only `sts:DecodeAuthorizationMessage` can read, by a hint.
fn decode_hint(message: &str) -> String {
    match message.split_once("Encoded authorization failure message:") {
        Some((front, _)) => {
            format!("{} (with an encoded message: aws sts decode-authorization-message decodes it)", front.trim())
        }
        None => message.to_owned(),
    }
}

/// Removes access key ids from a message, and limits its length.
fn clip(message: &str) -> String {
    let message = text::secrets::without_session_tokens(message);
    let words = message.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let scrubbed: String = words
        .map(|word| {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_key = bare.len() >= 16 && (bare.starts_with("AKIA") || bare.starts_with("ASIA"));
            if is_key { word.replace(bare, "(access key id)") } else { word.to_owned() }
        })
        .collect();
    match scrubbed.char_indices().nth(MAX_MESSAGE) {
        Some((at, _)) => format!("{}…", scrubbed.get(..at).unwrap_or_default()),
        None => scrubbed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_keys_and_long_messages_are_cut() {
        assert_eq!(clip("key AKIAIOSFODNN7EXAMPLE, refused"), "key (access key id), refused");
        assert_eq!(clip(&"x".repeat(1_000)).chars().count(), MAX_MESSAGE + 1);
    }

    #[test]
    fn joins_error_chains_into_one_cause() {
        let chain = |texts: &[&str]| one_cause(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let loading = "an error occurred while loading credentials";
        assert_eq!(chain(&["other", loading, loading, "no file\n  at all\n"]), "no file; at all");
        assert_eq!(chain(&["other", "exited with 1. Stderr: "]), "exited with 1.");
        let attempted = "no credentials found in chain. Attempted:\n  Environment: not set\n  Profile: x";
        let described = chain(&["other", "the credential provider was not enabled", attempted]);
        assert!(
            described.starts_with("no credentials are in the environment") && !described.contains('\n'),
            "{described}"
        );
        assert_eq!(chain(&["other", loading]), loading);
        assert_eq!(chain(&[]), "");
    }

    #[test]
    fn a_cut_list_without_a_marker_is_refused() {
        assert!(marked(vec![1], true, None).is_err());
        assert!(marked(vec![1], true, Some(String::new())).is_err());
        assert_eq!(marked(vec![1], true, Some("m".into())).unwrap().next.as_deref(), Some("m"));
        assert_eq!(marked(vec![1], false, Some("m".into())).unwrap().next, None);
    }

    #[test]
    fn encoded_refusals_are_told_and_not_printed() {
        let described = decode_hint("You are not authorized. Encoded authorization failure message: abcdef");
        assert!(described.starts_with("You are not authorized.") && !described.contains("abcdef"), "{described}");
    }
}
