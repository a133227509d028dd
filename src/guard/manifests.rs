//! Objects of Kubernetes that are applied with a plan, or without one, in place of their namesakes.

use crate::kubernetes::{Evidence, Workload};
use crate::model::objects::{Objects, document_name};

use super::addresses::ObjectAddress;

/// The output of `helm template` or `kustomize build`.
#[derive(Debug)]
pub(crate) struct Manifests {
    given: Evidence,
    /// Namespace of objects that state none.
    namespace: String,
}

impl Manifests {
    pub(crate) fn new(mut given: Evidence, namespace: &str) -> Self {
        for workload in given.workloads.iter_mut().filter(|one| one.namespace.is_empty()) {
            namespace.clone_into(&mut workload.namespace);
        }
        Self { given, namespace: namespace.to_owned() }
    }

    /// Kinds and names of the objects.
    pub(super) fn addresses(&self) -> Vec<ObjectAddress> {
        let services = self.given.services.iter().flatten().map(|service| {
            let of = if service.namespace.is_empty() { &self.namespace } else { &service.namespace };
            ObjectAddress::new("Service", of, &service.name)
        });
        let workloads = self.given.workloads.iter();
        let workloads = workloads.map(|one| ObjectAddress::new(one.kind.name(), &one.namespace, &one.name));
        let documents = self.given.documents.iter().map(|document| {
            let name = document_name(document, &self.namespace);
            let kind = document.kind_name();
            ObjectAddress::new(kind, &name.namespace, &name.name)
        });
        let mut all: Vec<ObjectAddress> = services.chain(workloads).chain(documents).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The state of the cluster after the objects are applied. Objects that are not among them stay.
    pub(super) fn applied(&self, before: &Evidence) -> Evidence {
        let mut before = before.clone();
        let same = |one: &Workload, other: &Workload| {
            (one.kind, &one.namespace, &one.name) == (other.kind, &other.namespace, &other.name)
        };
        before.workloads.retain(|held| !self.given.workloads.iter().any(|new| same(held, new)));
        Objects::new(before, self.given.clone(), &self.namespace).evidence.into_owned()
    }
}
