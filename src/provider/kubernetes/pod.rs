//! A Pod by name, with its claims and events, and the endpoints of a Service.

use futures_util::future::join_all;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::kubernetes::pod::{Pod, PodObjects};
use crate::text;

use super::{Api, CallFailure, Error, ListPage, PAGE, Request, connect, is_missing};
use crate::provider::signals::until_signal;

/// Reads a Pod, the claims of its volumes, and the events about them. A Pod that does not exist is none; what else cannot be
/// read is a gap.
///
/// # Errors
/// If the kubeconfig makes reading impossible, or the run is interrupted.
pub(crate) fn pod(request: &Request<'_>, namespace: &str, name: &str) -> Result<PodObjects, Error> {
    until_signal(read(request, namespace, name), "stopped before the Pod was read; nothing was written")
}

/// Reads the `EndpointSlice` objects of a Service, as the list that the API server answers. The inner error states why they
/// were not read.
///
/// # Errors
/// If the kubeconfig makes reading impossible, or the run is interrupted.
pub(crate) fn endpoint_slices(
    request: &Request<'_>,
    namespace: &str,
    service: &str,
) -> Result<Result<Vec<u8>, String>, Error> {
    let read = async {
        let api = connect(request).await?;
        let selector = encoded(&format!("kubernetes.io/service-name={service}"));
        let space = format!("/apis/discovery.k8s.io/v1/namespaces/{}", encoded(namespace));
        let path = format!("{space}/endpointslices?labelSelector={selector}&limit={PAGE}");
        Ok(match tokio::time::timeout(request.timeout, api.get(&path)).await {
            Ok(Ok((bytes, _))) if has_more(&bytes) => Err(format!("there are more than {PAGE}")),
            Ok(Ok((bytes, _))) => Ok(bytes),
            Ok(Err(failure)) => Err(format!("{}: {}", failure.reason, text::printable(&failure.message))),
            Err(_) => Err(format!("the cluster did not answer within {} seconds", request.timeout.as_secs())),
        })
    };
    until_signal(read, "stopped before the EndpointSlices were read; nothing was written")
}

async fn read(request: &Request<'_>, namespace: &str, name: &str) -> Result<PodObjects, Error> {
    let api = connect(request).await?;
    let reads = read_all(&api, namespace, name);
    Ok(match tokio::time::timeout(request.timeout, reads).await {
        Ok(found) => found,
        Err(_) => PodObjects {
            gaps: vec![format!("the cluster did not answer within {} seconds", request.timeout.as_secs())],
            ..PodObjects::default()
        },
    })
}

async fn read_all(api: &Api, namespace: &str, name: &str) -> PodObjects {
    let mut found = PodObjects::default();
    let space = format!("/api/v1/namespaces/{}", encoded(namespace));
    let note = |found: &mut PodObjects, what: &str, failure: &CallFailure| {
        found.gaps.push(format!("{what} was not read: {}: {}", failure.reason, text::printable(&failure.message)));
    };
    match object(api, &format!("{space}/pods/{}", encoded(name)), &mut found, "Pod").await {
        Ok(()) => {}
        Err(failure) if is_missing(&failure) => return PodObjects { has_pods: true, ..found },
        Err(failure) => {
            note(&mut found, "the Pod", &failure);
            return found;
        }
    }
    let names: Vec<String> = found.pods.iter().flat_map(Pod::claims).map(|(_, claim)| claim).collect();
    let claims = names.iter().map(|claim| {
        let path = format!("{space}/persistentvolumeclaims/{}", encoded(claim));
        async move { api.get(&path).await }
    });
    let events = names.iter().map(|claim| ("PersistentVolumeClaim", claim.as_str())).chain([("Pod", name)]);
    let events = events.map(|(kind, name)| {
        let selector = encoded(&format!("involvedObject.kind={kind},involvedObject.name={name}"));
        let path = format!("{space}/events?fieldSelector={selector}&limit={PAGE}");
        async move { api.get(&path).await }
    });
    let (claims, events) = tokio::join!(join_all(claims), join_all(events));
    let mut all = PodObjects { claims: Some(Vec::new()), events: Some(Vec::new()), ..PodObjects::default() };
    let mut unread_claims = false;
    for (claim, answer) in names.iter().zip(claims) {
        match answer.and_then(|(bytes, _)| add(&bytes, &mut all, "PersistentVolumeClaim")) {
            Ok(()) => {}
            // The chain reports that it does not exist.
            Err(failure) if is_missing(&failure) => {}
            Err(failure) => {
                unread_claims = true;
                note(&mut found, &format!("the claim `{}`", text::printable(claim)), &failure);
            }
        }
    }
    if unread_claims {
        all.claims = None;
    }
    for answer in events {
        if answer.as_ref().is_ok_and(|(bytes, _)| has_more(bytes)) {
            found.gaps.push(format!("only the first {PAGE} events about an object were read"));
        }
        if let Err(failure) = answer.and_then(|(bytes, _)| add(&bytes, &mut all, "Event")) {
            all.events = None;
            note(&mut found, "the list of events", &failure);
            break;
        }
    }
    found.and(all)
}

/// True if a list has further pages.
fn has_more(bytes: &[u8]) -> bool {
    let page: Result<ListPage<'_>, _> = serde_json::from_slice(bytes);
    page.is_ok_and(|page| page.metadata.next.is_some_and(|token| !token.is_empty()))
}

async fn object(api: &Api, path: &str, found: &mut PodObjects, kind: &str) -> Result<(), CallFailure> {
    let (bytes, _) = api.get(path).await?;
    add(&bytes, found, kind)
}

/// Adds an answer: an object of a kind, or a list.
fn add(bytes: &[u8], found: &mut PodObjects, kind: &str) -> Result<(), CallFailure> {
    let text = std::str::from_utf8(bytes).map_err(|error| CallFailure::new("Protocol", error.to_string()))?;
    found.add(text, kind).map_err(|error| CallFailure::new("Protocol", text::without_position(&error)))
}

/// Everything but the characters of names (RFC 1123, "DNS subdomain").
const OTHERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.');

/// A name in a path or a query.
fn encoded(name: &str) -> String {
    utf8_percent_encode(name, OTHERS).to_string()
}
