//! Reads an input: classifies each value and extracts the parts that rules check.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::nodes::RawNode;
use crate::policy::RepeatedKey;
use crate::policy::json::{Node, Span};
use crate::policy::yaml::Documents;
use crate::text;

use super::arguments::{from_unit, is_unit};
use super::cloud_config::CloudConfig;
use super::document::{
    Document, DocumentKind, display_name, embedded_texts, inner_texts, kind_from_api, kind_from_keys,
};
use super::error::{KubernetesError, Malformed, Rejected, RepeatedKeys, Unnamed};
use super::evidence::Evidence;
use super::field_types::{WrongType, wrong_in_document, wrong_in_service};
use super::pod::Event;
use super::service::Service;
use super::source::{Object, Place, Source};
use super::workload::{Workload, WorkloadKind};

mod probe;

use probe::placed;
pub(super) use probe::{first_look, is_looked_at};

impl Evidence {
    /// Reads the output of kubectl in JSON or YAML, manifests, and configurations of clusters; `file` is only used in
    /// errors and places.
    ///
    /// # Errors
    /// If it is neither JSON nor YAML, holds nothing that a rule checks, or holds an object that does not fit its kind.
    pub fn parse(file: &str, bytes: Vec<u8>) -> Result<Self, KubernetesError> {
        Self::from_source(&Arc::new(Source::decode(file, bytes)?))
    }

    /// Reads a decoded text, as [`Evidence::parse`] reads bytes.
    ///
    /// # Errors
    /// As [`Evidence::parse`].
    pub fn from_source(source: &Arc<Source>) -> Result<Self, KubernetesError> {
        let mut reading = Reading::new(&source.file);
        reading.text(source)?;
        if !reading.is_known {
            return Err(KubernetesError::Nothing { file: source.file.to_string() });
        }
        reading.evidence.sources.push(Arc::clone(source));
        Ok(reading.evidence.sorted())
    }
}

/// First pass over a value: its kind, and its items if it is a list.
#[derive(Deserialize)]
struct Probe<'t> {
    #[serde(default, borrow)]
    kind: Option<Cow<'t, str>>,
    #[serde(default, borrow, rename = "apiVersion")]
    api_version: Option<Cow<'t, str>>,
    #[serde(default)]
    metadata: ProbeMetadata,
    #[serde(default, borrow)]
    items: Option<Vec<&'t RawValue>>,
}

#[derive(Default, Deserialize)]
struct ProbeMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// Category of an API object.
#[derive(Clone, Copy)]
enum Recognised {
    Node,
    Service,
    Workload(WorkloadKind),
    Document(DocumentKind),
    Event,
    Other,
}

impl Recognised {
    fn classify(api_version: &str, kind: &str) -> Self {
        match kind {
            "Node" => Self::Node,
            // Knative has Services as well.
            "Service" if !api_version.contains('/') => Self::Service,
            "Event" if !api_version.contains('/') || api_version.starts_with("events.k8s.io/") => Self::Event,
            _ => WorkloadKind::from_name(kind)
                .map(Self::Workload)
                .or_else(|| kind_from_api(api_version, kind).map(Self::Document))
                .unwrap_or(Self::Other),
        }
    }
}

/// Size from which a text is assumed to be generated, in bytes.
const LONG: usize = 16 << 20;

/// State while an input is read.
pub(super) struct Reading<'f> {
    file: &'f str,
    pub(super) evidence: Evidence,
    /// True if any part of it is of a kind that rules check.
    pub(super) is_known: bool,
    /// Document that contains the current text, if any.
    within: Option<String>,
}

impl<'f> Reading<'f> {
    pub(super) fn new(file: &'f str) -> Self {
        Self { file, evidence: Evidence::default(), is_known: false, within: None }
    }

    /// Reads a text: JSON, YAML, a configuration of the AWS cloud controller, or a unit of the kubelet.
    pub(super) fn text(&mut self, source: &Arc<Source>) -> Result<(), KubernetesError> {
        if CloudConfig::is_one(source.text()) {
            self.evidence.cloud_configs.push(CloudConfig::read(self.file.to_owned(), Arc::clone(source)));
            self.is_known = true;
            return Ok(());
        }
        if is_unit(source.text()) {
            self.evidence.kubelet_units.push(from_unit(self.file, source));
            self.is_known = true;
            return Ok(());
        }
        let is_json = source.text().trim_start().starts_with(['{', '[']);
        match if is_json { self.json(source) } else { Ok(false) } {
            Ok(true) => {}
            Ok(false) => self.yaml(source)?,
            // YAML may begin like JSON. Long texts are JSON.
            Err(error @ KubernetesError::Malformed { .. }) if source.text().len() < LONG => {
                *self = Self::new(self.file);
                match source.read() {
                    Ok(documents) => self.documents(source, documents)?,
                    Err(_) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads JSON: one value, or several in sequence. Lists are read item by item: they may be long.
    fn json(&mut self, source: &Arc<Source>) -> Result<bool, KubernetesError> {
        let text = source.text();
        let mut at = 0;
        while text.get(at..).is_some_and(|rest| !rest.trim_start().is_empty()) {
            let rest = text.get(at..).unwrap_or_default();
            let mut probes = serde_json::Deserializer::from_str(rest).into_iter::<Probe<'_>>();
            if let Some(Ok(probe)) = probes.next() {
                let end = at + probes.byte_offset();
                self.probed(source, probe, text.get(at..end).unwrap_or_default())?;
                at = end;
                continue;
            }
            // Other values than API objects are read as they are.
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let Some(value) = values.next() else { break };
            let value = value.map_err(|error| self.malformed(source, at, &error))?.get();
            if !value.starts_with('{') {
                return Ok(false);
            }
            self.whole(source, value)?;
            at += values.byte_offset();
        }
        Ok(true)
    }

    /// Reads a JSON value after the first pass.
    fn probed(&mut self, source: &Arc<Source>, probe: Probe<'_>, value: &str) -> Result<(), KubernetesError> {
        let kind = probe.kind.as_deref().unwrap_or_default();
        if !kind.ends_with("List") {
            return self.whole(source, value.trim_start());
        }
        if probe.metadata.next.is_some_and(|next| !next.is_empty()) {
            return Err(KubernetesError::Partial { file: self.file.to_owned() });
        }
        let no_items = || KubernetesError::NoItems { file: self.file.to_owned(), kind: kind.to_owned() };
        let items = probe.items.ok_or_else(no_items)?;
        let (of_list, version) = (kind.strip_suffix("List").unwrap_or_default(), probe.api_version.as_deref());
        self.given(of_list, version.unwrap_or_default());
        for (index, item) in items.into_iter().enumerate() {
            self.item(source, item.get(), (of_list, version.unwrap_or_default()), index)?;
        }
        Ok(())
    }

    /// Reads an item of a JSON list. Items of a typed list do not repeat its kind.
    fn item(
        &mut self,
        source: &Arc<Source>,
        item: &str,
        (of_list, list_version): (&str, &str),
        index: usize,
    ) -> Result<(), KubernetesError> {
        let (version, kind) = first_look(item);
        let (version, kind) = (version.unwrap_or_else(|| list_version.into()), kind.unwrap_or_else(|| of_list.into()));
        let pointer = format!("/items/{index}");
        match Recognised::classify(&version, &kind) {
            Recognised::Other => Ok(()),
            // Only a few of many thousand pods are relevant.
            Recognised::Workload(WorkloadKind::Pod) if !is_looked_at(item) => {
                self.given(&kind, &version);
                Ok(())
            }
            Recognised::Node => {
                self.is_known = true;
                let raw: RawNode = serde_json::from_str(item)
                    .map_err(|error| self.object(&kind, text::without_position(&error), &pointer))?;
                self.evidence.nodes.get_or_insert_default().push(raw.into());
                Ok(())
            }
            Recognised::Event => {
                self.event(item);
                Ok(())
            }
            found => {
                let read = placed(source, item).map_err(|error| self.object(&kind, error.reason, &pointer))?;
                let node = self.kept(source, read);
                self.add(source, node, found, (&version, &kind), &pointer)
            }
        }
    }

    /// Reads a JSON value that is not a list.
    fn whole(&mut self, source: &Arc<Source>, value: &str) -> Result<(), KubernetesError> {
        let read = placed(source, value).map_err(|error| KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason: error.reason,
            line: 1,
            column: 1,
        })?;
        let node = self.kept(source, read);
        self.document(source, node)
    }

    fn yaml(&mut self, source: &Arc<Source>) -> Result<(), KubernetesError> {
        let documents = source.read().map_err(|error| KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason: error.reason,
            line: error.line,
            column: error.column,
        })?;
        self.documents(source, documents)
    }

    fn documents(&mut self, source: &Arc<Source>, documents: Documents) -> Result<(), KubernetesError> {
        self.note_repeated(source, &documents);
        documents.nodes.into_iter().try_for_each(|node| self.document(source, node))
    }

    /// Drops all but the last of repeated keys in a JSON value, and records them.
    fn kept(&mut self, source: &Source, mut node: Node) -> Node {
        let repeated = node.deduplicate_keys();
        self.note_repeated_in(source, &node, &repeated);
        node
    }

    fn note_repeated(&mut self, source: &Source, documents: &Documents) {
        let mut rest = documents.repeated.as_slice();
        // Both are in source order.
        for node in &documents.nodes {
            let (here, behind) = rest.split_at(rest.partition_point(|one| one.later.start < node.span.end));
            self.note_repeated_in(source, node, here);
            rest = behind;
        }
    }

    /// Records the repeated keys of a document: the first whose value differs, or the first of all if no value differs.
    fn note_repeated_in(&mut self, source: &Source, node: &Node, repeated: &[RepeatedKey]) {
        self.evidence.read_as_written += 1;
        let Some(first) = repeated.iter().find(|one| !one.is_same).or_else(|| repeated.first()) else { return };
        self.evidence.repeated_keys.push(RepeatedKeys {
            document: self.named(node),
            key: first.key.clone(),
            place: source.place(first.later),
            before: source.place(first.earlier),
            is_same: first.is_same,
            more: repeated.len() - 1,
        });
    }

    /// Name of a document: kind and name of an object, otherwise the outer document or the file.
    fn named(&self, node: &Node) -> String {
        let kind = node.get("kind").and_then(Node::as_str).unwrap_or_default();
        match &self.within {
            _ if !kind.is_empty() => display_name(node, kind),
            Some(outer) => outer.clone(),
            None => self.file.to_owned(),
        }
    }

    /// Reads a document: an object, a list of objects, or a configuration.
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
                let found = Recognised::classify(&version, &kind);
                self.add(source, item.clone(), found, (&version, &kind), &format!("/items/{index}"))?;
            }
            return Ok(());
        }
        if !kind.is_empty() && !version.is_empty() {
            return self.add(source, node, Recognised::classify(&version, &kind), (&version, &kind), "");
        }
        match kind_from_keys(&node) {
            Some(found) => self.add(source, node, Recognised::Document(found), ("", ""), ""),
            // kubectl omits `apiVersion` when asked to.
            None if !kind.is_empty() => {
                self.add(source, node, Recognised::classify(&version, &kind), (&version, &kind), "")
            }
            None => {
                self.services_to_come(source, &node);
                Ok(())
            }
        }
    }

    /// Adds the Services that a chart or an operator creates from a document.
    fn services_to_come(&mut self, source: &Source, node: &Node) {
        let services = super::values::services_in(source, node);
        if !services.is_empty() {
            self.is_known = true;
            self.evidence.services.get_or_insert_default().extend(services);
        }
    }

    /// Records that a list of a kind was provided, even an empty one.
    fn given(&mut self, kind: &str, version: &str) {
        match Recognised::classify(version, kind) {
            Recognised::Node => {
                self.evidence.nodes.get_or_insert_default();
            }
            Recognised::Service => {
                self.evidence.services.get_or_insert_default();
            }
            Recognised::Workload(kind) => {
                self.evidence.workload_lists.insert(kind);
            }
            Recognised::Document(kind) => {
                self.evidence.document_lists.insert(kind);
            }
            Recognised::Event => {}
            Recognised::Other => return,
        }
        self.is_known = true;
    }

    /// Keeps an event, in JSON, if it warns of what rules check: there may be many thousand of them. One that cannot be read
    /// explains nothing, and is not worth the rest of the file.
    fn event(&mut self, text: &str) {
        self.is_known = true;
        let event: Option<Event> = serde_json::from_str(text).ok();
        self.evidence.events.extend(event.filter(Event::is_about_pods));
    }

    fn add(
        &mut self,
        source: &Arc<Source>,
        node: Node,
        found: Recognised,
        (version, name): (&str, &str),
        pointer: &str,
    ) -> Result<(), KubernetesError> {
        let api = || (version.to_owned(), name.to_owned());
        let object = Object { source, node: &node };
        let placed = || {
            let place = object.place();
            let pointer = if pointer.is_empty() { String::new() } else { format!("{pointer}, ") };
            format!("{pointer}line {}", place.line)
        };
        let wrong = |reason: String| self.object(name, reason, &placed());
        match found {
            Recognised::Other => {
                self.services_to_come(source, &node);
                return Ok(());
            }
            Recognised::Node => {
                let json = node.to_string();
                let raw: RawNode =
                    serde_json::from_str(&json).map_err(|error| wrong(text::without_position(&error)))?;
                self.evidence.nodes.get_or_insert_default().push(raw.into());
            }
            Recognised::Event => {
                self.event(&node.to_string());
            }
            Recognised::Service => {
                self.note_rejected(wrong_in_service(object), &node, name);
                self.note_unnamed(object, name);
                let Some(service) = Service::read(object) else { return Ok(()) };
                self.evidence.services.get_or_insert_default().push(service);
            }
            Recognised::Workload(kind) => {
                self.note_unnamed(object, name);
                let Some(workload) = Workload::read(kind, object) else { return Ok(()) };
                self.evidence.workload_lists.insert(kind);
                self.evidence.workloads.push(workload);
            }
            Recognised::Document(DocumentKind::Lease) => self.lease(source, node, api()),
            Recognised::Document(kind) => {
                self.evidence.document_lists.insert(kind);
                self.note_rejected(wrong_in_document(object, kind), &node, name);
                if kind.has_field_types() {
                    self.note_unnamed(object, name);
                }
                self.keep(source, node, kind, api());
            }
        }
        self.is_known = true;
        Ok(())
    }

    /// Records an object that the API server rejects, if a field is wrong. It stays: one of its name may exist.
    fn note_rejected(&mut self, wrong: Option<WrongType>, node: &Node, kind: &str) {
        if let Some(wrong) = wrong {
            self.is_known = true;
            self.evidence.rejected.push(Rejected { document: display_name(node, kind), wrong });
        }
    }

    /// Records an object without a name.
    fn note_unnamed(&mut self, object: Object<'_>, kind: &str) {
        if object.text(&["metadata", "name"]).is_some_and(|name| !name.is_empty()) {
            return;
        }
        self.is_known = true;
        let generated = object.located(&["metadata", "generateName"]);
        let namespace = object.text(&["metadata", "namespace"]).map(|of| format!("{of}/")).unwrap_or_default();
        let start = generated.as_ref().map_or("", |one| one.value.as_str());
        self.evidence.unnamed.push(Unnamed {
            document: format!("{kind} {namespace}{start}"),
            place: generated.as_ref().map_or_else(|| object.place(), |one| one.place.clone()),
        });
    }

    /// Records the renewal time of a lease. Leases of kube-system, which name the leader, are kept; leases of nodes are
    /// in another namespace.
    fn lease(&mut self, source: &Arc<Source>, node: Node, api: (String, String)) {
        let object = Object { source, node: &node };
        let renewed = object.text(&["spec", "renewTime"]).and_then(|time| time.parse().ok());
        self.evidence.seen_at = self.evidence.seen_at.max(renewed);
        self.evidence.document_lists.insert(DocumentKind::Lease);
        if object.text(&["metadata", "namespace"]) == Some("kube-system") {
            self.keep(source, node, DocumentKind::Lease, api);
        }
    }

    /// Stores a document, and reads the texts within it.
    fn keep(&mut self, source: &Arc<Source>, node: Node, kind: DocumentKind, api: (String, String)) {
        // A configuration in a `ConfigMap` is named after the map, wherever that was read.
        let map = self.within.as_ref().filter(|_| kind == DocumentKind::Kubeadm && !api.1.is_empty());
        let is_embedded = map.is_some();
        let name = match map {
            _ if api.1.is_empty() => self.file.to_owned(),
            Some(map) => format!("{} in {map}", display_name(&node, &api.1)),
            None => display_name(&node, &api.1),
        };
        for path in inner_texts(kind) {
            let Some(text) = node.at(path) else { continue };
            let Some(inner) = source.inner(text) else { continue };
            self.inner(&name, inner);
        }
        // Values of any chart.
        let is_chart = matches!(kind, DocumentKind::HelmChart | DocumentKind::HelmChartConfig);
        if let Some(inner) =
            node.at(&["spec", "valuesContent"]).filter(|_| is_chart).and_then(|text| source.inner(text))
        {
            let inner = Arc::new(inner);
            let values = inner.read().unwrap_or_default();
            let outer = self.within.replace(name.clone());
            self.note_repeated(&inner, &values);
            self.within = outer;
            for values in values.nodes {
                self.services_to_come(&inner, &values);
            }
        }
        for text in embedded_texts(kind, &node) {
            // A ConfigMap may hold the unit of any cluster, as an example or for a script.
            let is_file = kind == DocumentKind::KubeadmWrapper;
            let Some(plain) = text.as_str().filter(|text| CloudConfig::is_one(text) || is_file && is_unit(text)) else {
                continue;
            };
            let Some(inner) = source.inner(text).map(Arc::new) else { continue };
            if CloudConfig::is_one(plain) {
                self.evidence.cloud_configs.push(CloudConfig::read(name.clone(), inner));
            } else {
                self.evidence.kubelet_units.push(from_unit(&name, &inner));
            }
        }
        let source = Arc::clone(source);
        self.evidence.documents.push(Document { source, node, kind, name, is_embedded, api });
    }

    /// Reads the documents of a text within another document. Rules report errors in them.
    fn inner(&mut self, document: &str, source: Source) {
        let source = Arc::new(source);
        let mut malformed = |place: Place, reason: String| {
            self.evidence.malformed.push(Malformed { document: document.to_owned(), place, reason });
        };
        let documents = match source.read() {
            Ok(documents) => documents,
            Err(error) => {
                let place = source.place(Span { start: error.offset, end: error.offset });
                return malformed(place, error.reason);
            }
        };
        let outer = self.within.replace(document.to_owned());
        self.note_repeated(&source, &documents);
        for node in documents.nodes {
            let place = source.place(Span { start: node.span.start, end: node.span.start });
            if let Err(error) = self.document(&source, node) {
                let reason = error.to_string();
                self.evidence.malformed.push(Malformed { document: document.to_owned(), place, reason });
            }
        }
        self.within = outer;
    }

    /// Error in the value that begins at an offset.
    fn malformed(&self, source: &Source, at: usize, error: &serde_json::Error) -> KubernetesError {
        let before = source.place(Span { start: at, end: at });
        KubernetesError::Malformed {
            file: self.file.to_owned(),
            reason: text::without_position(error),
            line: before.line + error.line().saturating_sub(1),
            column: if error.line() <= 1 { before.column - 1 + error.column().max(1) } else { error.column() },
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
