//! Reading what was given of a cluster.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::controller::ControllerVersion;
use crate::nodes::{KubernetesNode, RawNode};
use crate::policy::json::{Node, Span};
use crate::text;

use super::arguments::{self, NodeArguments};
use super::controller::{self, CloudController};
use super::document::{Document, DocumentKind, inner_texts, name_of, of_api, of_keys};
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
    /// Texts within documents that are not YAML.
    pub malformed: Vec<Malformed>,
    /// The Kubernetes version of what does not say its own.
    assumed: Option<ControllerVersion>,
    arguments: OnceLock<Vec<NodeArguments>>,
    controllers: OnceLock<Vec<CloudController>>,
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
    #[error("`{file}` holds nothing that tagaudit looks at")]
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

/// The first look at a value: what it is.
#[derive(Deserialize)]
struct Probe<'t> {
    #[serde(default, borrow)]
    kind: Option<Cow<'t, str>>,
    #[serde(default, borrow, rename = "apiVersion")]
    api_version: Option<Cow<'t, str>>,
    #[serde(default)]
    metadata: ProbeMetadata,
    #[serde(default, borrow)]
    items: Option<&'t RawValue>,
}

#[derive(Default, Deserialize)]
struct ProbeMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// The first look at an item of a list.
#[derive(Deserialize)]
struct ItemProbe<'t> {
    #[serde(default, borrow)]
    kind: Option<Cow<'t, str>>,
    #[serde(default, borrow, rename = "apiVersion")]
    api_version: Option<Cow<'t, str>>,
}

/// What an object of the API is for the rules.
#[derive(Clone, Copy)]
enum Found {
    Node,
    Service,
    Workload(WorkloadKind),
    Document(DocumentKind),
    Other,
}

impl Found {
    fn of(api_version: &str, kind: &str) -> Self {
        match kind {
            "Node" => Self::Node,
            // Knative has Services as well.
            "Service" if !api_version.contains('/') => Self::Service,
            _ => WorkloadKind::of(kind)
                .map(Self::Workload)
                .or_else(|| of_api(api_version, kind).map(Self::Document))
                .unwrap_or(Self::Other),
        }
    }
}

/// An input while it is read.
struct Reading<'f> {
    file: &'f str,
    evidence: Evidence,
    /// Whether anything of it is of a kind that rules look at.
    is_known: bool,
}

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
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = valid.split(|byte| *byte == b'\n').count();
            let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            KubernetesError::Malformed {
                file: file.to_owned(),
                reason: "the text is not UTF-8".to_owned(),
                line,
                column,
            }
        })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        let mut reading = Reading { file, evidence: Self::default(), is_known: false };
        let source = Arc::new(Source::new(file, text));
        let is_json = source.text().trim_start().starts_with(['{', '[']);
        match if is_json { reading.json(&source) } else { Ok(false) } {
            Ok(true) => {}
            Ok(false) => reading.yaml(&source)?,
            // YAML may begin like JSON.
            Err(error @ KubernetesError::Malformed { .. }) => match source.documents() {
                Ok(documents) => documents.into_iter().try_for_each(|node| reading.document(&source, node))?,
                Err(_) => return Err(error),
            },
            Err(error) => return Err(error),
        }
        if !reading.is_known {
            return Err(KubernetesError::Nothing { file: file.to_owned() });
        }
        Ok(reading.evidence.sorted())
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
        self.malformed.extend(other.malformed);
        self.arguments = OnceLock::new();
        self.controllers = OnceLock::new();
        self.sorted()
    }

    fn sorted(mut self) -> Self {
        let mut seen: HashSet<String> = HashSet::new();
        let mut is_first = |uid: &str| uid.is_empty() || seen.insert(uid.to_owned());
        if let Some(nodes) = &mut self.nodes {
            nodes.sort_by(|a, b| a.name.cmp(&b.name));
            nodes.dedup();
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

    /// What nodes are started with: those that say it, and those of configurations.
    #[must_use]
    pub fn arguments(&self) -> &[NodeArguments] {
        self.arguments.get_or_init(|| {
            let mut all = NodeArguments::of_nodes(self.nodes.as_deref().unwrap_or_default());
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

    /// Documents of a kind.
    pub fn documents_of(&self, kind: DocumentKind) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(move |document| document.kind == kind)
    }
}

impl Reading<'_> {
    /// Reads JSON: one value, or several behind one another. Lists are read item by item: they may be long.
    fn json(&mut self, source: &Arc<Source>) -> Result<bool, KubernetesError> {
        let text = source.text();
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            let value = value.map_err(|error| self.malformed(&error))?.get();
            if !value.starts_with('{') {
                return Ok(false);
            }
            // What is no object of the API is looked at as it is.
            let Ok(probe) = serde_json::from_str::<Probe<'_>>(value) else {
                self.whole(source, value)?;
                continue;
            };
            let kind = probe.kind.as_deref().unwrap_or_default();
            if !kind.ends_with("List") {
                self.whole(source, value)?;
                continue;
            }
            if probe.metadata.next.is_some_and(|next| !next.is_empty()) {
                return Err(KubernetesError::Partial { file: self.file.to_owned() });
            }
            let no_items = || KubernetesError::NoItems { file: self.file.to_owned(), kind: kind.to_owned() };
            let items = probe.items.and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()).ok());
            let items = items.ok_or_else(no_items)?;
            let (of_list, version) = (kind.strip_suffix("List").unwrap_or_default(), probe.api_version.as_deref());
            self.given(of_list, version.unwrap_or_default());
            for (index, item) in items.into_iter().enumerate() {
                self.item(source, item.get(), (of_list, version.unwrap_or_default()), index)?;
            }
        }
        Ok(true)
    }

    /// An item of a JSON list. Those of a list of one kind do not repeat it.
    fn item(
        &mut self,
        source: &Arc<Source>,
        item: &str,
        (of_list, list_version): (&str, &str),
        index: usize,
    ) -> Result<(), KubernetesError> {
        let probe: Option<ItemProbe<'_>> = serde_json::from_str(item).ok();
        let probed = |pick: fn(ItemProbe<'_>) -> Option<Cow<'_, str>>| {
            serde_json::from_str::<ItemProbe<'_>>(item).ok().and_then(pick).map(Cow::into_owned)
        };
        let kind = probe.as_ref().and_then(|probe| probe.kind.as_deref()).unwrap_or(of_list).to_owned();
        let version = probed(|probe| probe.api_version).unwrap_or_else(|| list_version.to_owned());
        let found = Found::of(&version, &kind);
        let pointer = format!("/items/{index}");
        match found {
            Found::Other => Ok(()),
            // Of many thousand pods only a few are looked at.
            Found::Workload(WorkloadKind::Pod)
                if !item.contains("cloud-controller-manager") && !item.contains("kubernetes.io/config.mirror") =>
            {
                self.given(&kind, &version);
                Ok(())
            }
            Found::Node => {
                self.is_known = true;
                let raw: RawNode = serde_json::from_str(item)
                    .map_err(|error| self.object(&kind, text::without_position(&error), &pointer))?;
                self.evidence.nodes.get_or_insert_default().push(raw.into());
                Ok(())
            }
            found => {
                let node = placed(source, item).map_err(|reason| self.object(&kind, reason, &pointer))?;
                self.add(source, node, found, &kind, &pointer)
            }
        }
    }

    /// A JSON value that is no list.
    fn whole(&mut self, source: &Arc<Source>, value: &str) -> Result<(), KubernetesError> {
        let node = placed(source, value).map_err(|reason| KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason,
            line: 1,
            column: 1,
        })?;
        self.document(source, node)
    }

    fn yaml(&mut self, source: &Arc<Source>) -> Result<(), KubernetesError> {
        let documents = source.documents().map_err(|error| KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason: error.reason,
            line: error.line,
            column: error.column,
        })?;
        documents.into_iter().try_for_each(|node| self.document(source, node))
    }

    /// A document: an object, a list of them, or a configuration.
    fn document(&mut self, source: &Arc<Source>, node: Node) -> Result<(), KubernetesError> {
        let text = |key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let (kind, version) = (text("kind"), text("apiVersion"));
        if kind.ends_with("List") && node.get("spec").is_none() {
            let next = node.at(&["metadata", "continue"]).and_then(Node::as_str).unwrap_or_default();
            if !next.is_empty() {
                return Err(KubernetesError::Partial { file: self.file.to_owned() });
            }
            let Some(items) = node.get("items").and_then(Node::items) else {
                return Err(KubernetesError::NoItems { file: self.file.to_owned(), kind });
            };
            let of_list = kind.strip_suffix("List").unwrap_or_default();
            self.given(of_list, &version);
            for (index, item) in items.iter().enumerate() {
                let text =
                    |key: &str, default: &str| item.get(key).and_then(Node::as_str).unwrap_or(default).to_owned();
                let (kind, version) = (text("kind", of_list), text("apiVersion", &version));
                self.add(source, item.clone(), Found::of(&version, &kind), &kind, &format!("/items/{index}"))?;
            }
            return Ok(());
        }
        if !kind.is_empty() && !version.is_empty() {
            return self.add(source, node, Found::of(&version, &kind), &kind, "");
        }
        match of_keys(&node) {
            Some(found) => self.add(source, node, Found::Document(found), self.file, ""),
            // kubectl prints no apiVersion where it is told to leave it out.
            None if !kind.is_empty() => self.add(source, node, Found::of(&version, &kind), &kind, ""),
            None => Ok(()),
        }
    }

    /// A list of one kind was given, even where it is empty.
    fn given(&mut self, kind: &str, version: &str) {
        match Found::of(version, kind) {
            Found::Node => {
                self.evidence.nodes.get_or_insert_default();
            }
            Found::Service => {
                self.evidence.services.get_or_insert_default();
            }
            Found::Workload(kind) => {
                self.evidence.workload_lists.insert(kind);
            }
            Found::Document(_) => {}
            Found::Other => return,
        }
        self.is_known = true;
    }

    fn add(
        &mut self,
        source: &Arc<Source>,
        node: Node,
        found: Found,
        kind: &str,
        pointer: &str,
    ) -> Result<(), KubernetesError> {
        let object = Object { source, node: &node };
        let placed = || {
            let place = object.place();
            let pointer = if pointer.is_empty() { String::new() } else { format!("{pointer}, ") };
            format!("{pointer}line {}", place.line)
        };
        let wrong = |reason: String| self.object(kind, reason, &placed());
        match found {
            Found::Other => return Ok(()),
            Found::Node => {
                let json = node.to_string();
                let raw: RawNode =
                    serde_json::from_str(&json).map_err(|error| wrong(text::without_position(&error)))?;
                self.evidence.nodes.get_or_insert_default().push(raw.into());
            }
            Found::Service => {
                let service = Service::read(object).map_err(wrong)?;
                self.evidence.services.get_or_insert_default().push(service);
            }
            Found::Workload(kind) => {
                let Some(workload) = Workload::read(kind, object).map_err(wrong)? else { return Ok(()) };
                self.evidence.workload_lists.insert(kind);
                self.evidence.workloads.push(workload);
            }
            Found::Document(kind) => self.keep(source, node, kind),
        }
        self.is_known = true;
        Ok(())
    }

    /// Keeps a document, and reads the texts within it.
    fn keep(&mut self, source: &Arc<Source>, node: Node, kind: DocumentKind) {
        let name = match node.get("kind").and_then(Node::as_str) {
            Some(kind) => name_of(&node, kind),
            None => self.file.to_owned(),
        };
        for path in inner_texts(kind) {
            let Some(text) = node.at(path) else { continue };
            let Some(inner) = source.inner(text) else { continue };
            self.inner(&name, inner);
        }
        self.evidence.documents.push(Document { source: Arc::clone(source), node, kind, name });
    }

    /// The documents of a text within another document. What is wrong with them is for a rule to say.
    fn inner(&mut self, document: &str, source: Source) {
        let source = Arc::new(source);
        let mut malformed = |place: Place, reason: String| {
            self.evidence.malformed.push(Malformed { document: document.to_owned(), place, reason });
        };
        let documents = match source.documents() {
            Ok(documents) => documents,
            Err(error) => {
                let place = source.place(Span { start: error.offset, end: error.offset });
                return malformed(place, error.reason);
            }
        };
        for node in documents {
            let place = source.place(Span { start: node.span.start, end: node.span.start });
            if let Err(error) = self.document(&source, node) {
                let reason = error.to_string();
                self.evidence.malformed.push(Malformed { document: document.to_owned(), place, reason });
            }
        }
    }

    fn malformed(&self, error: &serde_json::Error) -> KubernetesError {
        KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason: text::without_position(error),
            line: error.line(),
            column: error.column(),
        }
    }

    fn object(&self, kind: &str, reason: String, place: &str) -> KubernetesError {
        KubernetesError::Object {
            file: self.file.to_owned(),
            kind: kind.to_owned(),
            reason,
            place: if place.is_empty() { "/".to_owned() } else { place.to_owned() },
        }
    }
}

/// A part of a JSON text, with the places that it has in the whole.
fn placed(source: &Source, part: &str) -> Result<Node, String> {
    let before = part.as_ptr().addr().saturating_sub(source.text().as_ptr().addr());
    let mut node = Node::parse(part).map_err(|error| error.reason)?;
    node.move_by(before);
    Ok(node)
}

/// Whether Services are those of all namespaces: every cluster has `default/kubernetes`, which its API server makes.
/// Source: kubernetes/kubernetes `pkg/controlplane/controller/kubernetesservice/controller.go`.
#[must_use]
pub fn is_of_all_namespaces(services: &[Service]) -> bool {
    services.iter().any(|service| service.namespace == "default" && service.name == "kubernetes")
}
