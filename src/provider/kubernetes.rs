//! Lists of a live cluster, read through the user's kubeconfig or the service account of a pod. Nothing is written, and
//! Secrets are not requested. Objects are reduced to what rules inspect before anything else sees them
//! ([`crate::kubernetes::recorded`]).

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http::Request as HttpRequest;
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::controller::companion::{Companion, identify};
use crate::kubernetes::{List, ListGap, RecordedList, Recording, recorded, recorded_text};
use crate::policy;
use crate::provider::progress::{Display, Progress, log};
use crate::text;

use super::error::{Error, ErrorKind, check_endpoint};
use super::signals::until_signal;

mod pod;

pub(crate) use pod::{endpoint_slices, pod};

/// Context name for the service account of the pod that tagaudit runs in.
pub(crate) const IN_CLUSTER: &str = "in-cluster";

/// Items of a page. Source: client-go `tools/pager/pager.go#defaultPageSize`.
const PAGE: usize = 500;

/// Most pages of a list.
const MAX_PAGES: usize = 10_000;

/// Most bytes of a page: an object has at most 1.5 MB in etcd.
const MAX_PAGE_BYTES: usize = 256 << 20;

/// Attempts at a list whose pages expire.
const ANEW: usize = 3;

/// Attempts of an unanswered request.
const ATTEMPTS: u32 = 3;

/// Time after which an unanswered request is retried.
const ATTEMPT_TIMEOUT: Duration = Duration::from_mins(1);

/// Read request for a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// Context of the kubeconfig, or [`IN_CLUSTER`].
    pub context: &'a str,
    /// Time limit for reading.
    pub timeout: Duration,
    /// True to log every request to standard error.
    pub verbose: bool,
    /// Display of the progress on standard error.
    pub progress: Display,
}

/// Reads the lists of a cluster. A list that cannot be read is a gap.
///
/// # Errors
/// If the kubeconfig makes reading impossible, or the run is interrupted.
pub(crate) fn collect(request: &Request<'_>) -> Result<Recording, Error> {
    until_signal(read(request), "stopped before the cluster was read; nothing was written")
}

/// Clusters that are read at the same time.
const CLUSTERS_AT_ONCE: usize = 8;

/// Reads the lists of many clusters, some at the same time; one that cannot be read does not stop the others. The results
/// are in the order of the contexts.
///
/// # Errors
/// If the run is interrupted.
pub(crate) fn collect_each(
    contexts: &[String],
    timeout: Duration,
    verbose: bool,
) -> Result<Vec<Result<Recording, Error>>, Error> {
    let reads = async {
        let requests = contexts.iter().map(|context| {
            // Displays of several clusters would overwrite each other.
            Request { context, timeout, verbose, progress: Display::Hidden }
        });
        let reads = requests.map(|request| async move { read(&request).await });
        Ok(stream::iter(reads).buffered(CLUSTERS_AT_ONCE).collect().await)
    };
    until_signal(reads, "stopped before the clusters were read; nothing was written")
}

/// Contexts of the kubeconfig that a name or a pattern with `*` and `?` selects, in order.
///
/// # Errors
/// If there is none, or the kubeconfig cannot be read.
pub(crate) fn contexts(pattern: &str) -> Result<Vec<String>, Error> {
    if !is_pattern(pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    let names: BTreeSet<String> =
        kubeconfig().map_err(|error| unread(&error))?.contexts.into_iter().map(|context| context.name).collect();
    let found: Vec<String> = names.iter().filter(|name| policy::matches(pattern, name)).cloned().collect();
    if found.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shown = text::printable(pattern).into_owned();
        return Err(Error::usage(format!("no context of the kubeconfig matches `{shown}`")).help(contents(&names)));
    }
    Ok(found)
}

/// The current context of the kubeconfig; `None` if it has none or cannot be read.
pub(crate) fn current_context() -> Option<String> {
    kubeconfig().ok()?.current_context.filter(|name| !name.is_empty())
}

/// True if a text selects contexts by their form.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Checks that contexts exist.
///
/// # Errors
/// If one does not, or the kubeconfig cannot be read.
pub(crate) fn check_contexts(names: &[String]) -> Result<(), Error> {
    let kubeconfig = kubeconfig();
    if kubeconfig.is_err() && names.iter().any(|name| name != IN_CLUSTER) {
        return kubeconfig.map(|_| ()).map_err(|error| unread(&error));
    }
    names.iter().try_for_each(|name| check_context(name, &kubeconfig))
}

/// Connects to the cluster of a context.
async fn connect(request: &Request<'_>) -> Result<Api, Error> {
    // Several providers may be compiled in: this is the one that the clouds use.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let config = configuration(request.context).await?;
    let shown = text::printable(request.context).into_owned();
    let unusable = |error: kube::Error| {
        Error::usage(format!("cannot use the context `{shown}` of the kubeconfig")).cause(cause(&error))
    };
    // This runs a plugin of the kubeconfig, and waits for it.
    let client = tokio::task::spawn_blocking(move || Client::try_from(config));
    let client = match tokio::time::timeout(request.timeout, client).await {
        Ok(Ok(client)) => client.map_err(unusable)?,
        Ok(Err(error)) => {
            return Err(
                Error::usage(format!("cannot use the context `{shown}` of the kubeconfig")).cause(error.to_string())
            );
        }
        Err(_) => {
            let seconds = request.timeout.as_secs();
            return Err(Error::new(
                ErrorKind::Unreachable,
                format!("the plugin of the context `{shown}` did not end within {seconds} seconds"),
            ));
        }
    };
    Ok(Api { client, verbose: request.verbose, progress: Progress::of_calls(request.progress) })
}

async fn read(request: &Request<'_>) -> Result<Recording, Error> {
    let api = connect(request).await?;
    let deadline = tokio::time::Instant::now() + request.timeout;
    let read = |list: List| {
        let api = &api;
        async move { (list, tokio::time::timeout_at(deadline, api.list(list)).await) }
    };
    let (further, first): (Vec<List>, Vec<List>) = List::ALL.into_iter().partition(|list| list.is_of_cluster_api());
    let mut results = join_all(first.into_iter().map(read)).await;
    if results.iter().any(|(list, result)| matches!(result, Ok(Ok(read)) if has_cluster_api(*list, &read.items))) {
        results.extend(join_all(further.into_iter().map(read)).await);
    }
    let mut recording = Recording::default();
    let mut read_at: Option<Timestamp> = None;
    for (list, result) in results {
        let failure = match result {
            Ok(Ok(ListRead { items, at })) => {
                read_at = read_at.max(at);
                recording.lists.push(RecordedList { list, items });
                continue;
            }
            Ok(Err(failure)) if list.is_custom() && is_missing(&failure) => continue,
            Ok(Err(failure)) => failure,
            Err(_) => {
                let message = format!("the cluster did not answer within {} seconds", request.timeout.as_secs());
                CallFailure::new("Timeout", message)
            }
        };
        recording.gaps.push(ListGap { list, reason: failure.reason, message: failure.message });
    }
    recording.read_at = read_at.map(|at| format!("{at:.0}"));
    Ok(recording)
}

/// True if a list of Deployments has the controller of Cluster API Provider AWS.
fn has_cluster_api(list: List, items: &[Value]) -> bool {
    let containers = items.iter().filter_map(|item| item.pointer("/spec/template/spec/containers")?.as_array());
    let mut images = containers.flatten().filter_map(|container| container["image"].as_str());
    let is_it = |image: &str| identify(image).is_some_and(|(row, _)| row.companion == Companion::ClusterApi);
    list == List::Deployments && images.any(is_it)
}

/// Least similarity, of 1, for the name of a context to be suggested.
const ALIKE: f64 = 0.8;

/// Refuses the name of a context that the kubeconfig does not have.
fn check_context(context: &str, kubeconfig: &Result<Kubeconfig, KubeconfigError>) -> Result<(), Error> {
    let Ok(kubeconfig) = kubeconfig else { return Ok(()) };
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
    if context == IN_CLUSTER || names.contains(&context) {
        return Ok(());
    }
    let help = match text::most_alike(context, names.iter().copied(), ALIKE) {
        Some(name) => format!("did you mean `{name}`?"),
        None => contents(&names),
    };
    let shown = text::printable(context).into_owned();
    Err(Error::usage(format!("the kubeconfig has no context `{shown}`")).help(help))
}

/// Names of the contexts of the kubeconfig, as help.
fn contents(names: &[&str]) -> String {
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", text::list(names, 10)) }
}

fn unread(error: &KubeconfigError) -> Error {
    Error::usage("cannot read the kubeconfig")
        .cause(causes(error))
        .help("it is read, as by kubectl, from the files of KUBECONFIG, or from ~/.kube/config")
}

async fn configuration(context: &str) -> Result<Config, Error> {
    let kubeconfig = kubeconfig();
    let has = |name: &str| kubeconfig.iter().flat_map(|found| &found.contexts).any(|context| context.name == name);
    if context == IN_CLUSTER && !has(IN_CLUSTER) {
        return Config::incluster().map_err(|error| {
            Error::usage("cannot use the service account of this pod")
                .cause(causes(&error))
                .help("`in-cluster` is for pods; elsewhere name a context of the kubeconfig")
        });
    }
    check_context(context, &kubeconfig)?;
    let options = KubeConfigOptions { context: Some(context.to_owned()), cluster: None, user: None };
    let config = Config::from_custom_kubeconfig(kubeconfig.map_err(|error| unread(&error))?, &options)
        .await
        .map_err(|error| unread(&error))?;
    check_endpoint("the server of the context", &config.cluster_url.to_string(), false).map_err(|error| {
        error.help("use https; only a server on this machine, such as `kubectl proxy`, may use http")
    })?;
    let mut config = config;
    // As in Go's clients, this machine is reached without a proxy.
    if matches!(config.cluster_url.host(), Some("localhost" | "127.0.0.1" | "[::1]" | "::1")) {
        config.proxy_url = None;
    }
    Ok(config)
}

/// The kubeconfig as kubectl reads it: the existing files of `KUBECONFIG`, merged.
/// Source: client-go `tools/clientcmd/loader.go#ClientConfigLoadingRules.Load`.
fn kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    #[expect(clippy::disallowed_methods, reason = "the provider adapter is where the environment is read")]
    let named = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let Some(named) = named else { return Kubeconfig::read() };
    let mut merged: Option<Kubeconfig> = None;
    for file in std::env::split_paths(&named).filter(|file| file.exists()) {
        let next = Kubeconfig::read_from(file)?;
        merged = Some(match merged {
            Some(before) => before.merge(next)?,
            None => next,
        });
    }
    merged.map_or_else(Kubeconfig::read, Ok)
}

/// Reason the client is unusable, without the output of a plugin, which may hold credentials.
fn cause(error: &kube::Error) -> String {
    use kube::client::AuthError;
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            format!("its plugin ended with {}: run the command of the kubeconfig by hand to see why", out.status)
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            "its plugin printed no ExecCredential: run the command of the kubeconfig by hand".to_owned()
        }
        kube::Error::Auth(AuthError::AuthExec(_) | AuthError::ExecPluginFailed) => {
            "its plugin gave no credentials: run the command of the kubeconfig by hand to see why".to_owned()
        }
        kube::Error::Auth(AuthError::InvalidBearerToken(_) | AuthError::InvalidBasicAuth(_)) => {
            "its credentials contain characters that are invalid in a header".to_owned()
        }
        other => causes(other),
    }
}

/// Causes of a failure, outermost first, without repetitions.
fn causes(error: &dyn std::error::Error) -> String {
    let mut all = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !all.iter().any(|said| said.contains(&text)) {
            all.push(text);
        }
        source = cause.source();
    }
    all.join(": ")
}

/// Reason a list was not read.
#[derive(Debug, Clone)]
struct CallFailure {
    reason: String,
    message: String,
}

impl CallFailure {
    fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into() }
    }
}

struct ListRead {
    items: Vec<Value>,
    /// Time of the API server.
    at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct ListPage<'a> {
    kind: String,
    #[serde(default)]
    metadata: PageMetadata,
    /// An empty list may be null; without items it is not a list.
    #[serde(borrow, deserialize_with = "Option::deserialize")]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// Error response of the API server.
#[derive(Default, Deserialize)]
struct ApiRefusal {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

struct Api {
    client: Client,
    verbose: bool,
    progress: Progress,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.progress.finish();
    }
}

impl Api {
    /// Reads all pages of a list; starts again if they have expired.
    async fn list(&self, list: List) -> Result<ListRead, CallFailure> {
        if !list.names().is_empty() {
            return self.named(list).await;
        }
        let mut expired = None;
        for _ in 0..ANEW {
            match self.pages(list).await {
                Err(failure) if failure.reason == "Expired" || failure.reason == "Gone" => expired = Some(failure),
                result => return result,
            }
        }
        Err(expired.unwrap_or_else(|| CallFailure::new("Expired", "the pages of the list expired")))
    }

    async fn pages(&self, list: List) -> Result<ListRead, CallFailure> {
        let (_, kind) = list.kind();
        let mut read = ListRead { items: Vec::new(), at: None };
        let mut next: Option<String> = None;
        let mut seen = HashSet::new();
        let selector = list.field_selector().map(|selector| format!("&fieldSelector={}", encoded(selector)));
        let selector = selector.unwrap_or_default();
        for _ in 0..MAX_PAGES {
            let more = next.as_deref().map(|token| format!("&continue={}", encoded(token))).unwrap_or_default();
            let (bytes, at) = self.get(&format!("{}?limit={PAGE}{selector}{more}", list.path())).await?;
            let page: ListPage<'_> = serde_json::from_slice(&bytes).map_err(|error| no_list(&error.to_string()))?;
            if page.kind.strip_suffix("List") != Some(kind) {
                return Err(no_list(&format!("it is a `{}`", page.kind)));
            }
            read.at = read.at.max(at);
            for item in page.items.unwrap_or_default() {
                let kept = recorded_text(list, item.get()).map_err(|error| no_list(&error.to_string()))?;
                read.items.extend(kept);
            }
            next = page.metadata.next.filter(|token| !token.is_empty());
            match &next {
                None => return Ok(read),
                Some(token) if !seen.insert(token.clone()) => {
                    let message = "the same page came twice, so the list is incomplete";
                    return Err(CallFailure::new("Pagination", message));
                }
                Some(_) => {}
            }
        }
        Err(CallFailure::new("Pagination", format!("the list did not end within {MAX_PAGES} pages")))
    }

    /// Reads objects by name; missing ones are skipped.
    async fn named(&self, list: List) -> Result<ListRead, CallFailure> {
        let mut read = ListRead { items: Vec::new(), at: None };
        for name in list.names() {
            match self.get(&format!("{}/{name}", list.path())).await {
                Ok((bytes, at)) => {
                    let item: Value = serde_json::from_slice(&bytes).map_err(|error| no_list(&error.to_string()))?;
                    read.at = read.at.max(at);
                    read.items.push(recorded(list, item));
                }
                Err(failure) if is_missing(&failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(read)
    }

    /// Body of an answer, and the time of the server. A request without an answer is retried: reading does no harm. The
    /// client itself waits out throttling.
    async fn get(&self, path: &str) -> Result<(Vec<u8>, Option<Timestamp>), CallFailure> {
        let _begun = self.progress.begin(format!("GET {}", path.split('?').next().unwrap_or(path)));
        let mut attempt = 1;
        loop {
            let started = now();
            let result = match tokio::time::timeout(ATTEMPT_TIMEOUT, self.once(path)).await {
                Ok(result) => result,
                Err(_) => Err(CallFailure::new("Timeout", "no answer in time")),
            };
            self.log(path, started, result.as_ref().err());
            match result {
                Err(failure) if is_passing(&failure) && attempt < ATTEMPTS => {
                    tokio::time::sleep(Duration::from_millis(200 * u64::from(attempt))).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn once(&self, path: &str) -> Result<(Vec<u8>, Option<Timestamp>), CallFailure> {
        let request = HttpRequest::get(path).header("accept", "application/json").body(Body::empty());
        let request = request.map_err(|error| CallFailure::new("Protocol", error.to_string()))?;
        let response = self.client.send(request).await.map_err(|error| client_failure(&error))?;
        let status = response.status();
        let date = response.headers().get("date").and_then(|date| date.to_str().ok());
        let at = date.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
        let body = Limited::new(response.into_body(), MAX_PAGE_BYTES).collect().await;
        let bytes = body.map_err(|error| cut(&*error))?.to_bytes();
        if status.is_success() {
            return Ok((bytes.to_vec(), at));
        }
        let refusal: ApiRefusal = serde_json::from_slice(&bytes).unwrap_or_default();
        let reason = match (refusal.reason.as_str(), status.as_u16()) {
            ("", 401) => "Unauthorized".to_owned(),
            ("", 403) => "Forbidden".to_owned(),
            ("", 404) => "NotFound".to_owned(),
            ("", 410) => "Gone".to_owned(),
            ("", code) => format!("Status{code}"),
            (reason, _) => reason.to_owned(),
        };
        let message = if refusal.message.is_empty() { format!("the answer was {status}") } else { refusal.message };
        Err(CallFailure { reason, message })
    }

    fn log(&self, path: &str, started: Instant, failure: Option<&CallFailure>) {
        if self.verbose {
            let outcome = failure.map_or_else(|| "ok".to_owned(), |failure| failure.reason.clone());
            let path = path.split("&continue=").next().unwrap_or(path);
            log(&format!("GET {path} {} ms {outcome}", started.elapsed().as_millis()));
        }
    }
}

fn now() -> Instant {
    Instant::now()
}

/// True if the object or the resource does not exist.
fn is_missing(failure: &CallFailure) -> bool {
    failure.reason == "NotFound"
}

/// True if the same request may succeed a moment later.
fn is_passing(failure: &CallFailure) -> bool {
    matches!(
        failure.reason.as_str(),
        "Unreachable" | "Cut" | "Timeout" | "InternalError" | "ServerTimeout" | "Status500" | "Status502"
    )
}

fn no_list(why: &str) -> CallFailure {
    CallFailure::new("Protocol", format!("the answer is not the requested list: {why}"))
}

fn cut(error: &(dyn std::error::Error + Send + Sync + 'static)) -> CallFailure {
    CallFailure::new("Cut", format!("the answer was cut off: {}", causes(error)))
}

/// Failure without an answer: the server cannot be reached, or the client cannot authenticate.
fn client_failure(error: &kube::Error) -> CallFailure {
    match error {
        kube::Error::Auth(_) => CallFailure::new("Credentials", cause(error)),
        other => CallFailure::new("Unreachable", causes(other)),
    }
}

/// A page token in a query.
fn encoded(token: &str) -> String {
    percent_encoding::utf8_percent_encode(token, percent_encoding::NON_ALPHANUMERIC).to_string()
}
