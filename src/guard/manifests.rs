//! Objects of Kubernetes that are applied with a plan, or without one, in place of their namesakes.

use std::path::PathBuf;

use crate::kubernetes::{Evidence, Service, Workload};
use crate::model::objects::{Objects, document_name, keep_last_of_each};

use super::addresses::ObjectAddress;

/// The output of `helm template` or `kustomize build`.
#[derive(Debug)]
pub(crate) struct Manifests {
    given: Evidence,
    /// Namespace of objects that state none.
    namespace: String,
}

impl Manifests {
    /// `files` are the inputs in the order in which they are applied.
    pub(crate) fn new(mut given: Evidence, namespace: &str, files: &[PathBuf]) -> Self {
        for workload in given.workloads.iter_mut().filter(|one| one.namespace.is_empty()) {
            namespace.clone_into(&mut workload.namespace);
        }
        keep_last_of_each(&mut given, namespace, files);
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

    /// Objects that the API server refuses in the place of those that are there, each with the reason.
    /// Source: kubernetes/kubernetes `pkg/apis/core/validation/validation.go#validateLoadBalancerClassField`.
    pub(super) fn refused(&self, before: &Evidence) -> Vec<(ObjectAddress, String)> {
        let mut refused = Vec::new();
        for service in self.given.services.iter().flatten().filter(|service| service.is_load_balancer()) {
            let namespace = if service.namespace.is_empty() { &self.namespace } else { &service.namespace };
            let is_it = |one: &&Service| one.namespace == *namespace && one.name == service.name;
            let held = before.services.iter().flatten().find(is_it).filter(|held| held.is_load_balancer());
            let differs = |held: &&Service| held.load_balancer_class != service.load_balancer_class;
            refused.extend(held.filter(differs).map(|_| {
                let why = "the API server refuses another `loadBalancerClass` of a Service of type LoadBalancer";
                (ObjectAddress::new("Service", namespace, &service.name), why.to_owned())
            }));
        }
        refused
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

#[cfg(test)]
mod tests {
    use super::Manifests;
    use crate::kubernetes::Evidence;

    #[test]
    fn the_class_of_a_service_cannot_change() {
        let service = |class: &str, kind: &str| {
            let text = format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\nspec: {{type: {kind}, {class} ports: [{{port: 80}}]}}\n"
            );
            Evidence::parse("s.yaml", text.into_bytes()).unwrap()
        };
        let refused = |before: &Evidence, after| Manifests::new(after, "shop", &[]).refused(before).len();
        let (none, other) = ("", "loadBalancerClass: service.k8s.aws/nlb,");
        let held = service(none, "LoadBalancer");
        assert_eq!(refused(&held, service(other, "LoadBalancer")), 1);
        assert_eq!(refused(&held, service(none, "LoadBalancer")), 0);
        assert_eq!(refused(&service(none, "ClusterIP"), service(other, "LoadBalancer")), 0);
    }

    #[test]
    fn the_last_document_about_an_object_stays() {
        let ingress = |scheme: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: site, annotations: {{alb.ingress.kubernetes.io/scheme: {scheme}}}}}\nspec: {{ingressClassName: alb}}\n---\n"
            )
        };
        let text = ingress("internal") + &ingress("internet-facing");
        let manifests = Manifests::new(Evidence::parse("m.yaml", text.into_bytes()).unwrap(), "shop", &[]);
        assert_eq!(manifests.addresses().len(), 1);
        let [only] = manifests.given.documents.as_slice() else { panic!("one document stays") };
        let scheme = only.object().text(&["metadata", "annotations", "alb.ingress.kubernetes.io/scheme"]);
        assert_eq!(scheme, Some("internet-facing"));
    }
}
