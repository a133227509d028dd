//! Evidence about a cluster.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};

use crate::controller::ControllerVersion;
use crate::controller::companion::CompanionVersions;
use crate::inventory::kubernetes::ListGap;
use crate::nodes::KubernetesNode;

use super::arguments::NodeArguments;
use super::cloud_config::CloudConfig;
use super::controller::CloudController;
use super::document::{Document, DocumentKind};
use super::error::{Malformed, Rejected, RepeatedKeys, Unnamed};
use super::pod::Event;
use super::service::Service;
use super::source::{Object, Source};
use super::workload::{Workload, WorkloadKind};

/// Time that a new pod may wait for a node.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// Evidence about a cluster. A list that is missing is not empty.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Nodes, by name.
    pub nodes: Option<Vec<KubernetesNode>>,
    /// Services, by namespace and name.
    pub services: Option<Vec<Service>>,
    /// Workloads, by kind, namespace and name; pods only if they are static or cloud controllers.
    pub workloads: Vec<Workload>,
    /// Workload kinds of which a list was given, even an empty one.
    pub workload_lists: BTreeSet<WorkloadKind>,
    /// Documents that rules check as they are written.
    pub documents: Vec<Document>,
    /// Warnings about Pods, and about what creates them.
    pub(crate) events: Vec<Event>,
    /// Document kinds of which a list was given, even an empty one.
    pub document_lists: BTreeSet<DocumentKind>,
    /// Time of reading; for a file, the last time that a component wrote in it, shortly before.
    pub seen_at: Option<Timestamp>,
    /// Configurations of the AWS cloud controller.
    pub cloud_configs: Vec<CloudConfig>,
    /// Arguments of kubelets in their units.
    pub(crate) kubelet_units: Vec<NodeArguments>,
    /// Texts within documents that are not YAML.
    pub malformed: Vec<Malformed>,
    /// Services, Ingresses and their classes that the API server rejects; they are among the others too.
    pub rejected: Vec<Rejected>,
    /// Objects without a name; they are among the others too.
    pub unnamed: Vec<Unnamed>,
    /// Number of documents that were read as written, with their places.
    pub read_as_written: usize,
    /// Documents with repeated keys.
    pub repeated_keys: Vec<RepeatedKeys>,
    /// Texts, to show lines of places.
    pub sources: Vec<Arc<Source>>,
    /// True if the API server of a cluster was asked for everything, and answered for Services and Ingresses: what is not in
    /// these lists does not exist. Files never show that.
    pub is_whole: bool,
    /// Lists that could not be read from a live cluster.
    pub gaps: Vec<ListGap>,
    /// Target versions of a planned upgrade.
    pub target: Target,
    /// Versions of the controllers next to the cloud controller that the operator gives.
    pub(crate) companions: CompanionVersions,
    /// Kubernetes version for nodes and configurations that do not state one.
    pub(super) assumed: Option<ControllerVersion>,
    pub(super) arguments: OnceLock<Vec<NodeArguments>>,
    pub(super) controllers: OnceLock<Vec<CloudController>>,
}

/// Target versions of an upgrade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    pub kubernetes: Option<ControllerVersion>,
    /// Target version of the cloud controller.
    pub controller: Option<ControllerVersion>,
}

impl Evidence {
    /// Evidence that consists of Nodes alone, if they are known.
    #[must_use]
    pub fn from_nodes(nodes: impl Into<Option<Vec<KubernetesNode>>>) -> Self {
        Self { nodes: nodes.into(), ..Self::default() }
    }

    /// True if any object was given: something answered for the API server of the cluster.
    pub(crate) fn has_objects(&self) -> bool {
        self.nodes.is_some() || self.services.is_some() || !self.workloads.is_empty() || !self.documents.is_empty()
    }

    /// Sets the target versions of an upgrade.
    #[must_use]
    pub fn towards(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// Sets the versions of the controllers next to the cloud controller.
    #[must_use]
    pub(crate) fn with_companions(self, companions: CompanionVersions) -> Self {
        Self { companions, ..self }
    }

    /// Sets the Kubernetes version for nodes and configurations that do not state one.
    #[must_use]
    pub fn assuming(self, version: Option<ControllerVersion>) -> Self {
        Self { assumed: version, arguments: OnceLock::new(), ..self }
    }

    /// Drops the texts, for reports of places without lines.
    #[must_use]
    pub fn without_sources(self) -> Self {
        Self { sources: Vec::new(), ..self }
    }

    /// Adds the evidence of another input. Objects with the same uid count once.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if let Some(nodes) = other.nodes {
            self.nodes.get_or_insert_default().extend(nodes);
        }
        if let Some(services) = other.services {
            self.services.get_or_insert_default().extend(services);
        }
        self.workloads.extend(other.workloads);
        self.workload_lists.extend(other.workload_lists);
        self.documents.extend(other.documents);
        self.document_lists.extend(other.document_lists);
        self.events.extend(other.events);
        self.seen_at = self.seen_at.max(other.seen_at);
        self.cloud_configs.extend(other.cloud_configs);
        self.kubelet_units.extend(other.kubelet_units);
        self.malformed.extend(other.malformed);
        self.read_as_written += other.read_as_written;
        self.repeated_keys.extend(other.repeated_keys);
        self.rejected.extend(other.rejected);
        self.unnamed.extend(other.unnamed);
        self.sources.extend(other.sources);
        self.is_whole |= other.is_whole;
        self.gaps.extend(other.gaps);
        self.arguments = OnceLock::new();
        self.controllers = OnceLock::new();
        self.sorted()
    }

    pub(super) fn sorted(mut self) -> Self {
        let mut seen: HashSet<String> = HashSet::new();
        let mut is_first = |uid: &str| uid.is_empty() || seen.insert(uid.to_owned());
        if let Some(nodes) = &mut self.nodes {
            nodes.retain(|node| is_first(&node.uid));
            // A cluster has one Node of a name: of several readings the one with the youngest object counts.
            nodes.sort_by(|a, b| (&a.name, b.created_at).cmp(&(&b.name, a.created_at)));
            nodes.dedup_by(|next, first| next.name == first.name);
        }
        if let Some(services) = &mut self.services {
            // A copied manifest has the uid of its original.
            let key = |service: &Service| {
                if service.uid.is_empty() { String::new() } else { format!("{} {}", service.uid, service.full_name()) }
            };
            services.retain(|service| is_first(&key(service)));
            services.sort_by(|a, b| (&a.namespace, &a.name, &a.place).cmp(&(&b.namespace, &b.name, &b.place)));
        }
        self.workloads.retain(|workload| is_first(&workload.uid));
        self.workloads
            .sort_by(|a, b| (a.kind, &a.namespace, &a.name, &a.place).cmp(&(b.kind, &b.namespace, &b.name, &b.place)));
        self
    }

    /// Latest time that the evidence mentions: it was read at that moment, or later.
    #[must_use]
    pub fn known_time(&self) -> Option<Timestamp> {
        let nodes = self.nodes.iter().flatten().filter_map(|node| node.seen_at);
        let workloads = self.workloads.iter().filter_map(|workload| workload.created_at);
        nodes.chain(workloads).max().max(self.seen_at)
    }

    /// True if a pod is so new that a node may still take it.
    pub(crate) fn is_recent(&self, pod: &Workload) -> bool {
        let age = pod.created_at.zip(self.known_time()).map(|(created, now)| now.duration_since(created));
        age.is_some_and(|age| age < GRACE)
    }

    /// True if lists of these workloads in all namespaces were given: they include those that a live cluster has in
    /// kube-system.
    #[must_use]
    pub fn has_all_workloads(&self, kinds: &[WorkloadKind]) -> bool {
        let is_of_system = |workload: &Workload| workload.namespace == "kube-system" && !workload.uid.is_empty();
        self.workloads.iter().any(is_of_system) && kinds.iter().all(|kind| self.workload_lists.contains(kind))
    }

    /// Leases of kube-system with a name; no others are stored.
    pub fn leases(&self, name: &str) -> impl Iterator<Item = Object<'_>> {
        let leases = self.documents_by_kind(DocumentKind::Lease).map(Document::object);
        leases.filter(move |lease| lease.text(&["metadata", "name"]) == Some(name))
    }

    pub fn documents_by_kind(&self, kind: DocumentKind) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(move |document| document.kind == kind)
    }
}

/// True if Services were read from all namespaces, as far as a list can show it: it holds `default/kubernetes`, which the API
/// server creates, and a Service of kube-system, where cluster DNS is. Either one alone may be a list of one namespace.
/// Source: kubernetes/kubernetes `pkg/controlplane/controller/kubernetesservice/controller.go`.
#[must_use]
pub(crate) fn covers_all_namespaces(services: &[Service]) -> bool {
    // Objects without a uid are manifests, which are a part of a cluster.
    let mut read = services.iter().filter(|service| !service.uid.is_empty());
    let is_read = |service: &Service| service.namespace == "default" && service.name == "kubernetes";
    read.clone().any(is_read) && read.any(|service| service.namespace == "kube-system")
}
