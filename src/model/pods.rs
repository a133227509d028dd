//! The ready Pods of a Service.

use std::collections::{BTreeSet, HashSet};

use crate::kubernetes::{DocumentKind, Evidence, Object, Service};
use crate::nodes::KubernetesNode;

/// IP families of the servers.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/backend/backend.go#setAddressIpVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Families {
    Ipv4,
    Ipv6,
    Both,
}

impl Families {
    /// True if the controller reads an `EndpointSlice` of an address type.
    fn reads(self, address_type: &str) -> bool {
        match self {
            Self::Ipv4 => address_type == "IPv4",
            Self::Ipv6 => address_type == "IPv6",
            Self::Both => true,
        }
    }
}

/// A Pod that is ready, or an address that someone wrote by hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pod<'a> {
    pub(crate) node: Option<&'a str>,
    pub(crate) address: &'a str,
    /// True if it is a Pod (`targetRef`).
    pub(crate) is_pod: bool,
}

/// The Pods of a Service, as far as the evidence states them.
#[derive(Debug, Default)]
pub(crate) struct Pods<'a> {
    pub(crate) ready: Vec<Pod<'a>>,
    /// True if some Pods are not ready: a readiness gate makes them servers.
    pub(crate) has_unready: bool,
}

/// The reading of endpoints by a controller at one version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) families: Families,
    /// True if a Pod that is terminating is not a server: since v2.10.
    pub(crate) skips_terminating: bool,
    /// True if an `EndpointSlice` without the named target port has no server: since v2.12.
    pub(crate) needs_named_port: bool,
    /// True if an endpoint without the condition `ready` is ready.
    pub(crate) takes_unstated: bool,
}

impl Reading {
    /// Endpoints as kube-proxy takes them: those that are ready, of every family.
    /// Source: kubernetes/kubernetes `pkg/proxy/endpointslicecache.go#addEndpoints`.
    pub(crate) const OF_KUBE_PROXY: Self =
        Self { families: Families::Both, skips_terminating: false, needs_named_port: false, takes_unstated: true };
}

/// The Pods of a Service; `None` if neither its `EndpointSlice` objects nor its `Endpoints` were given.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#setBackendsFromEndpointSlices`,
/// `#setBackendsFromEndpoints`.
pub(crate) fn pods<'a>(evidence: &'a Evidence, service: &Service, reading: Reading) -> Option<Pods<'a>> {
    let is_here = |object: &Object<'_>, name: Option<&str>| {
        let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default");
        namespace == service.namespace && name == Some(service.name.as_str())
    };
    let has_port = |object: &Object<'_>| {
        !reading.needs_named_port
            || service.ports.iter().any(|port| {
                let has_name = || object.items(&["ports"]).any(|one| one.text(&["name"]) == Some(port.name.as_str()));
                port.target_name.is_none() || has_name()
            })
    };
    let slices = evidence.documents_by_kind(DocumentKind::EndpointSlice).map(|document| document.object());
    let slices: Vec<Object<'a>> =
        slices.filter(|one| is_here(one, one.text(&["metadata", "labels", "kubernetes.io/service-name"]))).collect();
    let mut found = Pods::default();
    if !slices.is_empty() {
        // Where the control plane names Pods, the others were written by hand.
        let mut all = slices.iter().flat_map(|slice| slice.items(&["endpoints"]));
        let are_pods = service.has_selector && !all.any(is_pod);
        let mut seen = HashSet::new();
        let is_read = |one: &&Object<'a>| reading.families.reads(one.text(&["addressType"]).unwrap_or("IPv4"));
        for slice in slices.iter().filter(is_read).filter(|one| has_port(one)) {
            for endpoint in slice.items(&["endpoints"]) {
                let is_pod = are_pods || is_pod(endpoint);
                let is = |condition: &str| {
                    let unstated = reading.takes_unstated && condition == "ready";
                    endpoint.switch(&["conditions", condition]).unwrap_or(unstated)
                };
                if reading.skips_terminating && is("terminating") {
                    continue;
                }
                if !is("ready") {
                    found.has_unready |= is_pod;
                    continue;
                }
                for address in endpoint.items(&["addresses"]).filter_map(|address| address.node.as_str()) {
                    if seen.insert(address) {
                        found.ready.push(Pod { node: endpoint.text(&["nodeName"]), address, is_pod });
                    }
                }
            }
        }
        return Some(found);
    }
    let held = evidence.documents_by_kind(DocumentKind::Endpoints).map(|document| document.object());
    let held: Vec<Object<'a>> = held.filter(|one| is_here(one, one.text(&["metadata", "name"]))).collect();
    let object = held.first()?;
    for subset in object.items(&["subsets"]).filter(has_port) {
        found.has_unready |= subset.items(&["notReadyAddresses"]).next().is_some();
        let ready = subset.items(&["addresses"]);
        found.ready.extend(ready.filter_map(|one| {
            Some(Pod {
                node: one.text(&["nodeName"]),
                address: one.text(&["ip"])?,
                is_pod: service.has_selector || is_pod(one),
            })
        }));
    }
    Some(found)
}

/// True if an endpoint is a Pod: what someone wrote by hand names none.
fn is_pod(endpoint: Object<'_>) -> bool {
    endpoint.text(&["targetRef", "kind"]) == Some("Pod")
}

/// Instances of the Nodes that have a ready Pod of a Service; `None` if its endpoints were not given, or do not name Nodes.
pub(crate) fn instances_with_pod<'a>(
    evidence: &'a Evidence,
    service: &Service,
    nodes: &'a [KubernetesNode],
) -> Option<BTreeSet<&'a str>> {
    let ready = pods(evidence, service, Reading::OF_KUBE_PROXY)?.ready;
    let instance = |pod: &Pod<'a>| {
        let node = nodes.iter().find(|node| Some(node.name.as_str()) == pod.node)?;
        node.provider_id.rsplit('/').next()
    };
    ready.iter().map(instance).collect()
}
