//! Objects of Kubernetes that are applied with a plan, or without one, in place of their namesakes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::kubernetes::{Document, Evidence, ReleaseRole, Service, Workload, WorkloadKind, release_role};
use crate::model::objects::{Objects, document_name, keep_last_of_each};
use crate::model::{cloud_provider_aws, load_balancer_controller};

use super::addresses::ObjectAddress;

/// The output of `helm template` or `kustomize build`.
#[derive(Debug)]
pub(crate) struct Manifests {
    given: Evidence,
    /// Objects of the installed release that the new one no longer contains.
    removed: BTreeSet<ObjectAddress>,
    /// Namespace of objects that state none.
    namespace: String,
}

impl Manifests {
    /// `files` are the inputs in the order in which they are applied.
    pub(crate) fn new(mut given: Evidence, namespace: &str, files: &[PathBuf]) -> Self {
        put_in(namespace, &mut given.workloads);
        keep_last_of_each(&mut given, namespace, files);
        // `helm template` prints hooks that nothing creates now.
        retain(&mut given, |role| match role {
            ReleaseRole::Member | ReleaseRole::Kept => true,
            ReleaseRole::Hook { at_install, at_upgrade } => at_install || at_upgrade,
        });
        Self { given, removed: BTreeSet::new(), namespace: namespace.to_owned() }
    }

    /// Replaces the release `today` with these objects. Objects that the release no longer contains are deleted, as by
    /// `helm upgrade`. Hooks do not belong to a release.
    /// Source: helm/helm `pkg/kube/client.go#Update`.
    pub(crate) fn instead_of(mut self, mut today: Evidence) -> Self {
        put_in(&self.namespace, &mut today.workloads);
        retain(&mut today, |role| !matches!(role, ReleaseRole::Hook { .. }));
        retain(&mut self.given, |role| !matches!(role, ReleaseRole::Hook { at_upgrade: false, .. }));
        let stays: BTreeSet<ObjectAddress> = self.addresses_of(&self.given).collect();
        self.removed = self.addresses_of(&today).filter(|address| !stays.contains(address)).collect();
        self
    }

    /// Kinds and names of the objects that are applied or deleted.
    pub(super) fn addresses(&self, before: &Evidence) -> Vec<ObjectAddress> {
        let deleted = self.deleted(before);
        let all: BTreeSet<ObjectAddress> = self.addresses_of(&self.given).chain(deleted).collect();
        all.into_iter().collect()
    }

    /// The objects that are deleted: the annotations of the object in the cluster decide whether it is kept.
    fn deleted(&self, before: &Evidence) -> BTreeSet<ObjectAddress> {
        let mut kept = before.clone();
        retain(&mut kept, |role| role == ReleaseRole::Kept);
        let kept: BTreeSet<ObjectAddress> = self.addresses_of(&kept).collect();
        self.removed.difference(&kept).cloned().collect()
    }

    fn addresses_of<'e>(&'e self, evidence: &'e Evidence) -> impl Iterator<Item = ObjectAddress> + 'e {
        let services = evidence.services.iter().flatten().map(|one| self.service_address(one));
        let workloads = evidence.workloads.iter().map(workload_address);
        services.chain(workloads).chain(evidence.documents.iter().map(|one| self.document_address(one)))
    }

    fn service_address(&self, service: &Service) -> ObjectAddress {
        let namespace = if service.namespace.is_empty() { &self.namespace } else { &service.namespace };
        ObjectAddress::new("Service", namespace, &service.name)
    }

    fn document_address(&self, document: &Document) -> ObjectAddress {
        let name = document_name(document, &self.namespace);
        ObjectAddress::new(document.kind_name(), &name.namespace, &name.name)
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

    /// The state of the cluster after the objects are applied. Objects that are not among them stay, unless the release
    /// had them.
    pub(super) fn applied(&self, before: &Evidence) -> Evidence {
        let deleted = self.deleted(before);
        let mut before = before.clone();
        let applied: BTreeSet<ObjectAddress> = self.given.workloads.iter().map(workload_address).collect();
        if !deleted.is_empty() {
            if let Some(services) = &mut before.services {
                services.retain(|service| !deleted.contains(&self.service_address(service)));
            }
            before.documents.retain(|document| !deleted.contains(&self.document_address(document)));
        }
        before.workloads.retain(|held| {
            let address = workload_address(held);
            !applied.contains(&address) && !deleted.contains(&address) && !is_pod_of(&deleted, held)
        });
        Objects::new(before, self.given.clone(), &self.namespace).evidence.into_owned()
    }
}

/// True for a Pod of a deleted workload: its name is the workload's name plus the suffixes that controllers append.
/// Sources: kubernetes/kubernetes `pkg/controller/deployment/sync.go#getNewReplicaSet`,
/// `pkg/controller/controller_utils.go#GetPodFromTemplate`, `pkg/controller/statefulset/stateful_set_utils.go#getPodName`.
fn is_pod_of(deleted: &BTreeSet<ObjectAddress>, held: &Workload) -> bool {
    if held.kind != WorkloadKind::Pod || !held.is_owned {
        return false;
    }
    let mut name = held.name.as_str();
    let mut owners = Vec::new();
    while let Some((rest, _)) = name.rsplit_once('-').filter(|_| owners.len() < 2) {
        owners.push(rest);
        name = rest;
    }
    let of = |kind: WorkloadKind, name: Option<&&str>| {
        name.is_some_and(|name| deleted.contains(&ObjectAddress::new(kind.name(), &held.namespace, name)))
    };
    of(WorkloadKind::DaemonSet, owners.first())
        || of(WorkloadKind::StatefulSet, owners.first())
        || of(WorkloadKind::Deployment, owners.get(1))
}

/// Keeps the objects whose relation to their release is one of these.
fn retain(evidence: &mut Evidence, keeps: impl Fn(ReleaseRole) -> bool) {
    if let Some(services) = &mut evidence.services {
        services.retain(|one| keeps(release_role(|name| one.annotations.get(name).map(String::as_str))));
    }
    evidence.workloads.retain(|one| keeps(one.release_role));
    evidence.documents.retain(|one| {
        let object = one.object();
        keeps(release_role(|name| object.text(&["metadata", "annotations", name])))
    });
}

/// True if a controller that creates load balancers no longer runs.
pub(super) fn ends_a_controller(before: &Evidence, after: &Evidence) -> bool {
    let run_by = |evidence: &Evidence| {
        let of_cloud = cloud_provider_aws::runs_in(evidence) + evidence.alibaba_controllers().count();
        (of_cloud, load_balancer_controller::Config::runs_in(evidence))
    };
    let (before, after) = (run_by(before), run_by(after));
    after.0 < before.0 || after.1 < before.1
}

/// Puts workloads that state no namespace into this one.
fn put_in(namespace: &str, workloads: &mut [Workload]) {
    for workload in workloads.iter_mut().filter(|one| one.namespace.is_empty()) {
        namespace.clone_into(&mut workload.namespace);
    }
}

fn workload_address(workload: &Workload) -> ObjectAddress {
    ObjectAddress::new(workload.kind.name(), &workload.namespace, &workload.name)
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
        assert_eq!(manifests.addresses(&Evidence::default()).len(), 1);
        let [only] = manifests.given.documents.as_slice() else { panic!("one document stays") };
        let scheme = only.object().text(&["metadata", "annotations", "alb.ingress.kubernetes.io/scheme"]);
        assert_eq!(scheme, Some("internet-facing"));
    }
}
