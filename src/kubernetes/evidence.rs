//! What was given of a cluster.

use std::collections::{BTreeSet, HashSet};
use std::string::FromUtf8Error;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::controller::ControllerVersion;
use crate::inventory::Provider;
use crate::inventory::kubernetes::ListGap;
use crate::nodes::KubernetesNode;

use super::arguments::{self, NodeArguments};
use super::cloud_config::CloudConfig;
use super::controller::{self, CloudController};
use super::document::{Document, DocumentKind};
use super::read::Reading;
use super::service::Service;
use super::source::{Object, Place, Source};
use super::workload::{Workload, WorkloadKind};

/// What was given of a cluster. A list that was not given is not empty.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Nodes, by name.
    pub nodes: Option<Vec<KubernetesNode>>,
    /// Services, by namespace and name.
    pub services: Option<Vec<Service>>,
    /// Workloads, by kind, namespace and name: of pods only those that a node runs by itself, and cloud controllers.
    pub workloads: Vec<Workload>,
    /// Kinds of workloads of which a list was given, even an empty one.
    pub workload_lists: BTreeSet<WorkloadKind>,
    /// What rules read as it is written.
    pub documents: Vec<Document>,
    /// Kinds of documents of which a list was given, even an empty one.
    pub document_lists: BTreeSet<DocumentKind>,
    /// When it was read; of a file, the last time that a component wrote into it, which is a moment before.
    pub seen_at: Option<Timestamp>,
    /// Configurations of the AWS cloud controller.
    pub cloud_configs: Vec<CloudConfig>,
    /// Texts within documents that are not YAML.
    pub malformed: Vec<Malformed>,
    /// Number of documents that were read as they are written, with their places.
    pub read_as_written: usize,
    /// Those in which keys stand twice.
    pub repeated_keys: Vec<RepeatedKeys>,
    /// The texts, for showing places.
    pub sources: Vec<Arc<Source>>,
    /// Lists that were not read of a live cluster.
    pub gaps: Vec<ListGap>,
    /// The versions that an upgrade leads to, where one is planned.
    pub target: Target,
    /// The Kubernetes version of what does not say its own.
    assumed: Option<ControllerVersion>,
    arguments: OnceLock<Vec<NodeArguments>>,
    controllers: OnceLock<Vec<CloudController>>,
}

/// The versions that an upgrade leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    /// Of Kubernetes.
    pub kubernetes: Option<ControllerVersion>,
    /// Of the cloud controller.
    pub controller: Option<ControllerVersion>,
}

/// A text within a document that is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The document.
    pub document: String,
    /// Where the reading stopped.
    pub place: Place,
    /// Why.
    pub reason: String,
}

/// Keys that stand twice in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKeys {
    /// The document.
    pub document: String,
    /// The first of them.
    pub key: String,
    /// Place of the later one.
    pub place: Place,
    /// Place of the earlier one.
    pub before: Place,
    /// True if both have the same value.
    pub is_same: bool,
    /// Number of the others.
    pub more: usize,
}

/// Why an input could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesError {
    /// Neither JSON nor YAML.
    #[error("`{file}` is not the output of `kubectl get … -o json`, or YAML: {reason} at line {line}, column {column}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// What is wrong.
        reason: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// An object that is not what its kind has.
    #[error("`{file}` holds a {kind} that is none: {reason} ({place})")]
    Object {
        /// Name of the input.
        file: String,
        /// Kind of the object.
        kind: String,
        /// What is wrong with it.
        reason: String,
        /// Its JSON pointer, and its line.
        place: String,
    },
    /// Nothing of it is used.
    #[error("`{file}` holds nothing that tagaudit checks")]
    Nothing {
        /// Name of the input.
        file: String,
    },
    /// A list without its items.
    #[error("`{file}` is a `{kind}` without `items`")]
    NoItems {
        /// Name of the input.
        file: String,
        /// Its `kind`.
        kind: String,
    },
    /// A page of a longer list, as the API gives with `limit`: what is not in it is not gone.
    #[error("`{file}` holds the first part of a list only: the rest is at its `metadata.continue`")]
    Partial {
        /// Name of the input.
        file: String,
    },
}

/// An input that is not UTF-8.
#[derive(Debug)]
pub struct NotUtf8 {
    file: String,
    error: FromUtf8Error,
}

impl NotUtf8 {
    /// The bytes of the input.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.error.as_bytes()
    }
}

impl From<&NotUtf8> for KubernetesError {
    fn from(refused: &NotUtf8) -> Self {
        let valid = refused.bytes().get(..refused.error.utf8_error().valid_up_to()).unwrap_or_default();
        Self::Malformed {
            file: refused.file.clone(),
            reason: "the text is not UTF-8".to_owned(),
            line: valid.split(|byte| *byte == b'\n').count(),
            column: valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1,
        }
    }
}

impl From<NotUtf8> for KubernetesError {
    fn from(refused: NotUtf8) -> Self {
        Self::from(&refused)
    }
}

impl Source {
    /// A file, without the byte order mark that an editor may put before it; the configuration of a cloud controller keeps it, because
    /// that controller does not read over it.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn decode(file: &str, bytes: Vec<u8>) -> Result<Self, NotUtf8> {
        let text = String::from_utf8(bytes).map_err(|error| NotUtf8 { file: file.to_owned(), error })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) if !CloudConfig::is_one(rest) => rest.to_owned(),
            Some(_) | None => text,
        };
        Ok(Self::new(file, text))
    }
}

/// Annotations by which a `ServiceAccount` names a role. Sources: Amazon EKS User Guide, "Assign IAM roles to Kubernetes service accounts";
/// Alibaba Cloud documentation, "Use RRSA to configure RAM permissions for pods".
const ROLE_ANNOTATIONS: [&str; 2] = ["eks.amazonaws.com/role-arn", "pod-identity.alibabacloud.com/role-name"];

impl Evidence {
    /// Evidence of Nodes alone, if they are known.
    #[must_use]
    pub fn of_nodes(nodes: impl Into<Option<Vec<KubernetesNode>>>) -> Self {
        Self { nodes: nodes.into(), ..Self::default() }
    }

    /// Reads the output of kubectl in JSON or YAML, manifests, and configurations of clusters; `file` is only used in errors and
    /// places.
    ///
    /// # Errors
    /// When it is neither JSON nor YAML, holds nothing that a rule looks at, or an object that is not what its kind has.
    pub fn parse(file: &str, bytes: Vec<u8>) -> Result<Self, KubernetesError> {
        Self::of_source(&Arc::new(Source::decode(file, bytes)?))
    }

    /// The same of a text that is decoded.
    ///
    /// # Errors
    /// As [`Evidence::parse`].
    pub fn of_source(source: &Arc<Source>) -> Result<Self, KubernetesError> {
        let mut reading = Reading::new(&source.file);
        reading.text(source)?;
        if !reading.is_known {
            return Err(KubernetesError::Nothing { file: source.file.to_string() });
        }
        reading.evidence.sources.push(Arc::clone(source));
        Ok(reading.evidence.sorted())
    }

    /// The same on the way to other versions.
    #[must_use]
    pub fn towards(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// The same with a Kubernetes version for what does not say its own.
    #[must_use]
    pub fn assuming(self, version: Option<ControllerVersion>) -> Self {
        Self { assumed: version, arguments: OnceLock::new(), ..self }
    }

    /// The version of Kubernetes: the highest that a Node runs or a configuration names, which the API server has at least.
    #[must_use]
    pub fn kubernetes_version(&self) -> Option<ControllerVersion> {
        let of_nodes = self.nodes.iter().flatten().filter_map(|node| node.kubelet_version.parse().ok());
        let of_configurations = self.arguments().iter().filter_map(|arguments| arguments.version);
        of_nodes.chain(of_configurations).max().or(self.assumed)
    }

    /// The same without the texts, where places are told and lines are not shown.
    #[must_use]
    pub fn without_sources(self) -> Self {
        Self { sources: Vec::new(), ..self }
    }

    /// The same with what another input holds. An object that the API server knows by one id counts once.
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
        self.seen_at = self.seen_at.max(other.seen_at);
        self.cloud_configs.extend(other.cloud_configs);
        self.malformed.extend(other.malformed);
        self.read_as_written += other.read_as_written;
        self.repeated_keys.extend(other.repeated_keys);
        self.sources.extend(other.sources);
        self.gaps.extend(other.gaps);
        self.arguments = OnceLock::new();
        self.controllers = OnceLock::new();
        self.sorted()
    }

    fn sorted(mut self) -> Self {
        let mut seen: HashSet<String> = HashSet::new();
        let mut is_first = |uid: &str| uid.is_empty() || seen.insert(uid.to_owned());
        if let Some(nodes) = &mut self.nodes {
            nodes.retain(|node| is_first(&node.uid));
            // A name stands for one Node of a cluster: of several looks at it the one at the youngest object counts.
            nodes.sort_by(|a, b| (&a.name, b.created_at).cmp(&(&b.name, a.created_at)));
            nodes.dedup_by(|next, first| next.name == first.name);
        }
        if let Some(services) = &mut self.services {
            services.retain(|service| is_first(&service.uid));
            services.sort_by(|a, b| (&a.namespace, &a.name, &a.place).cmp(&(&b.namespace, &b.name, &b.place)));
        }
        self.workloads.retain(|workload| is_first(&workload.uid));
        self.workloads
            .sort_by(|a, b| (a.kind, &a.namespace, &a.name, &a.place).cmp(&(b.kind, &b.namespace, &b.name, &b.place)));
        self
    }

    /// The latest time that anything in it speaks of: it was read at that moment, or after it.
    #[must_use]
    pub fn known_time(&self) -> Option<Timestamp> {
        let nodes = self.nodes.iter().flatten().filter_map(|node| node.created_at);
        let workloads = self.workloads.iter().filter_map(|workload| workload.created_at);
        nodes.chain(workloads).max().max(self.seen_at)
    }

    /// What nodes are started with: those that say it, and those of configurations.
    #[must_use]
    pub fn arguments(&self) -> &[NodeArguments] {
        self.arguments.get_or_init(|| {
            let mut all = NodeArguments::of_nodes(self.nodes.as_deref().unwrap_or_default());
            all.extend(arguments::of_static_pods(&self.workloads, self.nodes.as_deref().unwrap_or_default()));
            all.extend(arguments::declared(self));
            for one in &mut all {
                one.version = one.version.or(self.assumed);
            }
            all
        })
    }

    /// The cloud controllers: workloads, and what charts make of their values.
    #[must_use]
    pub fn controllers(&self) -> &[CloudController] {
        self.controllers.get_or_init(|| controller::controllers(self))
    }

    /// Evidence that the controller of a cloud has credentials that are not those of its nodes, in words: what runs it gives it some, or
    /// its `ServiceAccount` names a role.
    #[must_use]
    pub fn own_credentials(&self, cloud: Provider) -> Option<String> {
        let controllers = self.controllers().iter().filter(|one| one.cloud == cloud);
        controllers.into_iter().find_map(|controller| {
            let workload = &controller.workload;
            if let Some(given) = workload.credentials.first() {
                return Some(format!("`{}` sets {given}", workload.full_name()));
            }
            let is_its_own = |account: &Object<'_>| {
                account.text(&["metadata", "name"]) == Some(&workload.service_account)
                    && account.text(&["metadata", "namespace"]).unwrap_or("default") == workload.namespace
            };
            let mut accounts = self.documents_of(DocumentKind::ServiceAccount).map(Document::object);
            let account = accounts.find(is_its_own)?;
            let role =
                ROLE_ANNOTATIONS.into_iter().find(|key| account.at(&["metadata", "annotations", key]).is_some())?;
            Some(format!("its `ServiceAccount {}` has the annotation {role}", workload.service_account))
        })
    }

    /// Whether lists of these workloads in all namespaces were given: what a live cluster has in kube-system is among them.
    #[must_use]
    pub fn has_all_workloads(&self, kinds: &[WorkloadKind]) -> bool {
        let is_of_system = |workload: &Workload| workload.namespace == "kube-system" && !workload.uid.is_empty();
        self.workloads.iter().any(is_of_system) && kinds.iter().all(|kind| self.workload_lists.contains(kind))
    }

    /// Leases of kube-system by name. Only those are kept.
    pub fn leases(&self, name: &str) -> impl Iterator<Item = Object<'_>> {
        let leases = self.documents_of(DocumentKind::Lease).map(Document::object);
        leases.filter(move |lease| lease.text(&["metadata", "name"]) == Some(name))
    }

    /// Documents of a kind.
    pub fn documents_of(&self, kind: DocumentKind) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(move |document| document.kind == kind)
    }
}

/// Whether Services are those of all namespaces: every cluster has `default/kubernetes`, which its API server makes.
/// Source: kubernetes/kubernetes `pkg/controlplane/controller/kubernetesservice/controller.go`.
#[must_use]
pub fn is_of_all_namespaces(services: &[Service]) -> bool {
    services.iter().any(|service| service.namespace == "default" && service.name == "kubernetes")
}
