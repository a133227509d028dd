//! The objects of a cluster, with those that are to be applied in place of their namesakes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::kubernetes::{Document, DocumentKind, Evidence, Object, Service, Workload};

mod repeated;
pub(crate) use repeated::keep_last_of_each;

use super::decision::ObjectName;
use super::load_balancer_controller::{Config, NEWEST, gives_a_class, has_webhook};
use super::world::HeldIngresses;

/// Namespace of objects that state none, unless the operator names one.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// Kinds of objects that load balancers are created for, and that the model has no decision about.
const NOT_MODELLED: [DocumentKind; 2] = [DocumentKind::GatewayApi, DocumentKind::RemovedIngress];

/// The objects of a simulation.
#[derive(Debug)]
pub(crate) struct Objects<'e> {
    pub(crate) evidence: Cow<'e, Evidence>,
    /// Objects that were given; all of the evidence if there are none.
    pub(crate) subjects: BTreeSet<ObjectName>,
    /// Namespace of objects that state none.
    pub(super) namespace: String,
    /// Ingresses that are in the cluster, with those that have an address.
    pub(super) ingresses: HeldIngresses,
    /// Services whose class is that of a webhook that was not given, but that the chart creates by default.
    pub(super) with_assumed_class: BTreeSet<ObjectName>,
}

impl<'e> Objects<'e> {
    /// The objects of a cluster as they were read or given. Those without a uid are new to the API server.
    pub(crate) fn of_cluster(evidence: &'e Evidence) -> Self {
        let all = evidence.services.iter().flatten();
        let new: BTreeSet<String> = all.filter(|one| one.uid.is_empty()).map(Service::full_name).collect();
        let ingresses = held_ingresses(evidence, DEFAULT_NAMESPACE);
        let mut evidence = Cow::Borrowed(evidence);
        let mut with_assumed_class = BTreeSet::new();
        if !new.is_empty() && gives_a_class(&evidence) {
            with_assumed_class = give_class(evidence.to_mut(), &new);
        }
        let namespace = DEFAULT_NAMESPACE.to_owned();
        Self { evidence, subjects: BTreeSet::new(), namespace, ingresses, with_assumed_class }
    }

    /// Adds objects to the evidence of a cluster, in place of those of the same name. What the API server and the
    /// controllers added to an object stays: uid, node ports, class, IP families and status.
    pub(crate) fn new(mut evidence: Evidence, mut given: Evidence, namespace: &str) -> Self {
        let mut services: Vec<Service> = given.services.take().unwrap_or_default();
        for service in &mut services {
            if service.namespace.is_empty() {
                namespace.clone_into(&mut service.namespace);
            }
            let is_it = |one: &&Service| one.full_name() == service.full_name();
            if let Some(held) = evidence.services.iter().flatten().find(is_it).cloned()
                && service.uid.is_empty()
            {
                keep(service, &held);
            }
        }
        let mut subjects: BTreeSet<ObjectName> = services.iter().map(object_name).collect();
        if let Some(held) = &mut evidence.services {
            held.retain(|service| !subjects.contains(&object_name(service)));
        }
        let key = |document: &Document| (document.kind, document_name(document, namespace));
        let replacing: BTreeSet<_> = given.documents.iter().map(key).collect();
        let ingresses = held_ingresses(&evidence, namespace);
        evidence.documents.retain(|document| !replacing.contains(&key(document)));
        let name = |workload: &Workload| {
            let own = if workload.namespace.is_empty() { namespace } else { &workload.namespace };
            (workload.kind, own.to_owned(), workload.name.clone())
        };
        let workloads: BTreeSet<_> = given.workloads.iter().map(name).collect();
        evidence.workloads.retain(|workload| !workloads.contains(&name(workload)));
        let is_subject = |kind: &DocumentKind| matches!(kind, DocumentKind::Ingress) || NOT_MODELLED.contains(kind);
        subjects.extend(replacing.into_iter().filter(|(kind, _)| is_subject(kind)).map(|(_, name)| name));
        let new: BTreeSet<String> =
            services.iter().filter(|service| service.uid.is_empty()).map(Service::full_name).collect();
        given.services = (!services.is_empty()).then_some(services);
        let mut evidence = evidence.and(given);
        let with_assumed_class = give_class(&mut evidence, &new);
        let namespace = namespace.to_owned();
        Self { evidence: Cow::Owned(evidence), subjects, namespace, ingresses, with_assumed_class }
    }

    /// Objects that a controller creates load balancers for, and that the model has no decision about; `more` are kinds of
    /// the cloud.
    pub(super) fn not_modelled(&self, more: &[DocumentKind]) -> Vec<ObjectName> {
        let all = NOT_MODELLED.iter().chain(more).flat_map(|kind| self.evidence.documents_by_kind(*kind));
        let names = all.map(|document| document_name(document, &self.namespace));
        let mut names: Vec<ObjectName> =
            names.filter(|name| self.subjects.is_empty() || self.subjects.contains(name)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The Ingresses of a cluster; `namespace` is that of those that state none.
fn held_ingresses(evidence: &Evidence, namespace: &str) -> HeldIngresses {
    let objects = || evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    let has_address = |object: &Object<'_>| object.items(&["status", "loadBalancer", "ingress"]).next().is_some();
    let is_known = |object: &Object<'_>| object.text(&["metadata", "uid"]).is_some() || has_address(object);
    let names =
        |objects: &mut dyn Iterator<Item = Object<'_>>| objects.map(|object| ingress_name(object, namespace)).collect();
    HeldIngresses {
        with_address: names(&mut objects().filter(has_address)),
        all: names(&mut objects().filter(is_known)),
    }
}

/// Keeps what the API server added to a Service.
/// Source: kubernetes/kubernetes `pkg/registry/core/service/storage/storage.go#patchAllocatedValues`.
fn keep(service: &mut Service, held: &Service) {
    service.uid.clone_from(&held.uid);
    service.ingress.clone_from(&held.ingress);
    // A class cannot be removed.
    if service.load_balancer_class.is_none() {
        service.load_balancer_class.clone_from(&held.load_balancer_class);
    }
    if service.ip_families.is_empty() {
        service.ip_families.clone_from(&held.ip_families);
    }
    if service.health_check_node_port.is_none() && service.is_local {
        service.health_check_node_port = held.health_check_node_port;
    }
    if service.service_type == "ClusterIP" {
        return;
    }
    for port in service.ports.iter_mut().filter(|port| port.node_port.is_none()) {
        let same = |one: &&crate::kubernetes::ServicePort| (one.port, &one.protocol) == (port.port, &port.protocol);
        let named = |one: &&crate::kubernetes::ServicePort| one.name == port.name;
        let before = held.ports.iter().find(same).or_else(|| held.ports.iter().find(named));
        port.node_port = before.and_then(|before| before.node_port);
    }
}

pub(super) fn object_name(service: &Service) -> ObjectName {
    ObjectName { kind: "Service", namespace: service.namespace.clone(), name: service.name.clone() }
}

/// The name of an Ingress; `namespace` is that of objects that state none.
pub(super) fn ingress_name(object: Object<'_>, namespace: &str) -> ObjectName {
    named(object, "Ingress", namespace)
}

/// The name of a document of the Kubernetes API.
pub(crate) fn document_name(document: &Document, namespace: &str) -> ObjectName {
    named(document.object(), document.known_kind().unwrap_or_default(), namespace)
}

fn named(object: Object<'_>, kind: &'static str, namespace: &str) -> ObjectName {
    let text = |key: &str, default| object.text(&["metadata", key]).filter(|text| !text.is_empty()).unwrap_or(default);
    ObjectName { kind, namespace: text("namespace", namespace).to_owned(), name: text("name", "").to_owned() }
}

/// The webhook of the AWS Load Balancer Controller sets the class of new Services without one.
/// Returns the Services that got it without evidence of the webhook itself.
/// Source: aws-load-balancer-controller `webhooks/core/service_mutator.go#MutateCreate`.
fn give_class(evidence: &mut Evidence, new: &BTreeSet<String>) -> BTreeSet<ObjectName> {
    let mut assumed = BTreeSet::new();
    if !gives_a_class(evidence) {
        return assumed;
    }
    let is_seen = has_webhook(evidence);
    let class = Config::new(evidence, "", NEWEST).class().to_owned();
    for service in evidence.services.iter_mut().flatten() {
        let lacks = service.is_load_balancer() && service.load_balancer_class.is_none();
        if lacks && new.contains(&service.full_name()) {
            service.load_balancer_class = Some(class.clone());
            if !is_seen {
                assumed.insert(object_name(service));
            }
        }
    }
    assumed
}
