//! The backends of a Service: Nodes, or Pods.

use std::collections::BTreeMap;

use crate::alibaba::Member;
use crate::alibaba::provider_id::{self, ProviderId};
use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, Evidence, Object, Service};
use crate::model::decision::{Answer, Decision, Duration, NodeLeftOut, Stop};
use crate::nodes::KubernetesNode;
use crate::tags;

use super::{Request, atoi};

/// Label of Nodes that the controller passes over, whatever its value.
pub(crate) const MASTER: &str = "node-role.kubernetes.io/master";

/// Taint of Nodes that the cluster autoscaler deletes.
pub(crate) const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const EXCLUDE_ALPHA: &str = "alpha.service-controller.kubernetes.io/exclude-balancer";

/// Labels with which the controller leaves a Node alone, whatever their value.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#IsExcludedNode`.
const LEFT_ALONE: [&str; 2] = ["service.alibabacloud.com/exclude-node", "service.beta.kubernetes.io/exclude-node"];

/// Weight of a Node without an annotation.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#DefaultServerWeight`.
const DEFAULT_WEIGHT: i64 = 100;

/// The server groups of a Service, as far as their backends are known.
#[derive(Debug)]
pub(super) enum Backends {
    /// Weights by instance id or address.
    Are(Answer<BTreeMap<String, i64>>),
    /// The error at each port, in the words of the controller.
    Fail(String),
}

/// Label or taint for which a Node is not a backend, before its providerID is read. `None` for a Node that stays.
/// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/backend/backend.go#needExcludeFromLB`,
/// `pkg/controller/helper/node_utils.go#IsNodeExcludeFromLoadBalancer`.
pub(crate) fn exclusion(node: &KubernetesNode, version: Option<ControllerVersion>) -> Option<&'static str> {
    let has = |label: &&'static str| node.labels.contains_key(*label);
    let is_since = |minor, patch| version.is_none_or(|version| version >= ControllerVersion::new(2, minor, patch));
    if has(&MASTER) {
        return Some(MASTER);
    }
    if is_since(4, 0) && node.taints.iter().any(|taint| taint.key == TO_BE_DELETED) {
        return Some(TO_BE_DELETED);
    }
    let labels: &[&'static str] = if is_since(6, 0) { &[EXCLUDE, EXCLUDE_ALPHA] } else { &[EXCLUDE_ALPHA] };
    labels.iter().chain(&LEFT_ALONE).copied().find(has)
}

/// True for a Node of virtual-kubelet, whose Pods are backends themselves.
fn is_virtual(node: &KubernetesNode) -> bool {
    node.labels.get("type").is_some_and(|kind| kind == "virtual-kubelet")
}

/// A Pod that is ready.
struct Endpoint<'a> {
    node: Option<&'a str>,
    address: &'a str,
}

/// The ready Pods of a Service; `None` if neither its `EndpointSlice` objects nor its `Endpoints` were given.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#setBackendsFromEndpointSlices`,
/// `#setBackendsFromEndpoints`.
fn endpoints<'a>(evidence: &'a Evidence, service: &Service) -> Option<Vec<Endpoint<'a>>> {
    let is_here = |object: &Object<'_>, name: Option<&str>| {
        let namespace = object.text(&["metadata", "namespace"]).unwrap_or("default");
        namespace == service.namespace && name == Some(service.name.as_str())
    };
    let slices = evidence.documents_by_kind(DocumentKind::EndpointSlice).map(|document| document.object());
    let slices: Vec<Object<'a>> =
        slices.filter(|one| is_here(one, one.text(&["metadata", "labels", "kubernetes.io/service-name"]))).collect();
    let mut found: Vec<Endpoint<'a>> = Vec::new();
    if !slices.is_empty() {
        for slice in slices.iter().filter(|one| one.text(&["addressType"]).is_none_or(|kind| kind == "IPv4")) {
            for endpoint in slice.items(&["endpoints"]) {
                let is_ready = endpoint.switch(&["conditions", "ready"]) == Some(true);
                if !is_ready || endpoint.switch(&["conditions", "terminating"]) == Some(true) {
                    continue;
                }
                for address in endpoint.items(&["addresses"]).filter_map(|address| address.node.as_str()) {
                    if !found.iter().any(|one| one.address == address) {
                        found.push(Endpoint { node: endpoint.text(&["nodeName"]), address });
                    }
                }
            }
        }
        return Some(found);
    }
    let held = evidence.documents_by_kind(DocumentKind::Endpoints).map(|document| document.object());
    let held: Vec<Object<'a>> = held.filter(|one| is_here(one, one.text(&["metadata", "name"]))).collect();
    let object = held.first()?;
    for subset in object.items(&["subsets"]) {
        let ready = subset.items(&["addresses"]);
        found.extend(
            ready.filter_map(|one| Some(Endpoint { node: one.text(&["nodeName"]), address: one.text(&["ip"])? })),
        );
    }
    Some(found)
}

impl Request<'_> {
    /// The Nodes that may be backends; `None` if they are not known.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/backend/backend.go#GetNodes`.
    pub(super) fn nodes(&self, decision: &mut Decision) -> Result<Option<Vec<&KubernetesNode>>, Stop> {
        decision.step(
            "targets",
            "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/backend/backend.go#GetNodes",
        );
        let Some(all) = self.world.evidence.nodes.as_deref() else {
            decision.note_unknown("targets", "the Nodes were not given");
            return Ok(None);
        };
        let label = self.annotation("backend-label");
        let mut nodes = Vec::new();
        let mut without_condition: Vec<&str> = Vec::new();
        for node in all {
            let reason = if lacks_label(node, label)? {
                Some(format!("it does not have the labels of `backend-label`: {label}"))
            } else {
                self.not_accepted(node)
            };
            match reason {
                Some(reason) => decision.nodes_left_out.push(NodeLeftOut { node: node.name.clone(), reason }),
                None if node.is_ready.is_none() && !is_virtual(node) => {
                    without_condition.push(&node.name);
                }
                None => nodes.push(node),
            }
        }
        if without_condition.is_empty() {
            return Ok(Some(nodes));
        }
        let names = crate::text::list(&without_condition, 3);
        decision.note_unknown("targets", format!("the condition Ready was not given of these Nodes: {names}"));
        Ok(None)
    }

    /// Reason for which a Node is not a candidate. Labels that exclude a Node count later.
    fn not_accepted(&self, node: &KubernetesNode) -> Option<String> {
        let by_label = exclusion(node, Some(self.config.version)).filter(|why| [MASTER, TO_BE_DELETED].contains(why));
        if let Some(why) = by_label {
            let kind = if why == MASTER { "label" } else { "taint" };
            return Some(format!("it has the {kind} `{why}`"));
        }
        if node.is_unschedulable && self.annotation("remove-unscheduled-backend") == "on" {
            return Some("it is unschedulable, and `remove-unscheduled-backend` is on".to_owned());
        }
        (node.is_ready == Some(false) && !is_virtual(node)).then(|| "it is not Ready".to_owned())
    }

    /// The backends of all ports; `nodes` are the candidates.
    /// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/vgroups.go#buildVGroupForServicePort`,
    /// `#buildClusterBackends`, `#buildLocalBackends`, `#buildENIBackends`; `pkg/controller/service/nlbv2/server_groups.go`.
    pub(super) fn backends(
        &self,
        nodes: Option<&[&KubernetesNode]>,
        by_address: bool,
        decision: &mut Decision,
    ) -> Backends {
        let weight = match self.default_weight() {
            Ok(weight) => weight,
            Err(error) => return Backends::Fail(error.to_string()),
        };
        let pods = endpoints(self.world.evidence, self.service);
        decision.target_type = match self.config.has_pods_as_backends(self.service) {
            Answer::Is(true) => Answer::Is("eni"),
            Answer::Is(false) if by_address => Answer::Is("ip"),
            Answer::Is(false) => Answer::Is("ecs"),
            _ => {
                decision.note_unknown("targets", "the default kind of backends is not known");
                decision.target_type = Answer::Unknown;
                return Backends::Are(Answer::Unknown);
            }
        };
        if decision.target_type == Answer::Is("eni") {
            let Some(pods) = pods else { return pods_not_given(decision) };
            return Backends::Are(Answer::Is(pods.iter().map(|pod| (pod.address.to_owned(), weight)).collect()));
        }
        let Some(nodes) = nodes else { return Backends::Are(Answer::Unknown) };
        let has_virtual = nodes.iter().any(|node| is_virtual(node));
        if self.service.is_local || has_virtual {
            let Some(pods) = pods else { return pods_not_given(decision) };
            return self.with_pods(nodes, &pods, weight, by_address, decision);
        }
        let mut weights = BTreeMap::new();
        for node in nodes {
            if self.is_left_out(node, decision) {
                continue;
            }
            match server(node, by_address, "normal ") {
                Ok(id) => weights.insert(id, weight),
                Err(error) => return self.failed(node, format!("build cluster backends error: {error}"), decision),
            };
        }
        Backends::Are(Answer::Is(weights))
    }

    /// Backends that depend on where the Pods are.
    fn with_pods(
        &self,
        nodes: &[&KubernetesNode],
        pods: &[Endpoint<'_>],
        weight: i64,
        by_address: bool,
        decision: &mut Decision,
    ) -> Backends {
        let mut weights = BTreeMap::new();
        if !self.service.is_local {
            for node in nodes {
                if self.is_left_out(node, decision) {
                    continue;
                }
                match server(node, by_address, "normal ") {
                    Ok(id) => weights.insert(id, weight),
                    Err(error) => return self.failed(node, format!("build cluster backends error: {error}"), decision),
                };
            }
        }
        for pod in pods {
            let Some(node) = nodes.iter().find(|node| Some(node.name.as_str()) == pod.node) else { continue };
            if is_virtual(node) {
                weights.insert(pod.address.to_owned(), if self.service.is_local { 1 } else { weight });
                continue;
            }
            if !self.service.is_local || self.is_left_out(node, decision) {
                continue;
            }
            match server(node, by_address, "") {
                Ok(id) => *weights.entry(id).or_insert(0) += 1,
                Err(error) => return self.failed(node, format!("build local backends error: {error}"), decision),
            }
        }
        Backends::Are(Answer::Is(weights))
    }

    /// True if a label excludes a candidate.
    fn is_left_out(&self, node: &KubernetesNode, decision: &mut Decision) -> bool {
        let is_hybrid = self.is_since(12, 0) && node.provider_id.starts_with("ack-hybrid://");
        let reason = match exclusion(node, Some(self.config.version)) {
            Some(label) => format!("it has the label `{label}`"),
            None if is_hybrid => "its providerID is that of a hybrid Node".to_owned(),
            None => return false,
        };
        let left_out = NodeLeftOut { node: node.name.clone(), reason };
        if !decision.nodes_left_out.contains(&left_out) {
            decision.nodes_left_out.push(left_out);
        }
        true
    }

    /// The error at a Node. Up to v2.10 the controller finds the instance of a Node without providerID by its address and
    /// tag, and sets the providerID.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#findCloudECSByIp`.
    fn failed(&self, node: &KubernetesNode, error: String, decision: &mut Decision) -> Backends {
        let is_its = |member: &&Member<'_>| member.node.is_some_and(|one| one.name == node.name);
        let member = self.world.region.members.iter().find(is_its);
        let is_tagged = member.is_some_and(|one| tags::value(&one.instance.tags, &self.config.cluster_tag).is_some());
        if node.provider_id.is_empty() && !self.is_since(11, 0) && is_tagged {
            decision.duration = Duration::Temporary;
            decision
                .notes
                .push(format!("the controller sets the providerID of Node `{}`, and then finishes", node.name));
        }
        Backends::Fail(error)
    }

    /// Weight of Nodes and Pods.
    fn default_weight(&self) -> Result<i64, ServerError> {
        let text = self.annotation("default-weight");
        if text.is_empty() {
            return Ok(DEFAULT_WEIGHT);
        }
        let range = || format!("default weight must be integer in range [0,100] , got [{text}]");
        let number = atoi(text, |_| range()).ok().filter(|number| (0..=100).contains(number));
        number.ok_or_else(|| ServerError(range()))
    }
}

/// True if a Node lacks a label of `backend-label`. A pair without an equals sign is an error at the first Node that
/// has the labels before it.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/backend/backend.go#filterOutByLabel`.
fn lacks_label(node: &KubernetesNode, labels: &str) -> Result<bool, Stop> {
    if labels.is_empty() {
        return Ok(false);
    }
    for pair in labels.split(',') {
        let mut parts = pair.split('=');
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
            return Stop::error(format!(
                "get nodes error: filter nodes by label error: parse backend label: {pair}, [k1=v1,k2=v2]"
            ));
        };
        if node.labels.get(key).is_none_or(|held| held != value) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Id of a Node in a server group: its instance, or its address.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#NodeFromProviderID`,
/// `#GetNodeInternalIP`.
fn server(node: &KubernetesNode, by_address: bool, word: &str) -> Result<String, ServerError> {
    if by_address {
        let mut addresses = node.internal_addresses.iter().filter(|address| !address.contains(':'));
        return addresses.next().cloned().ok_or_else(|| {
            ServerError(format!("get node address err: node {} can not find InternalIP in node addresses", node.name))
        });
    }
    let id = &node.provider_id;
    match provider_id::parse(id) {
        Some(ProviderId::Instance { id, .. }) => Ok(id.to_owned()),
        // Versions that do not know hybrid Nodes split this providerID at its dots, too.
        Some(ProviderId::Hybrid) if id.split('.').count() > 1 => {
            Ok(id.split('.').nth(1).unwrap_or_default().to_owned())
        }
        _ => Err(ServerError(format!(
            "{word}parse providerid: {id}. expected: ${{regionid}}.${{nodeid}}, alicloud: unable to split instanceid and region from providerID, error unexpected providerID={id}"
        ))),
    }
}

/// An error at a server group, in the words of the controller.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ServerError(String);

fn pods_not_given(decision: &mut Decision) -> Backends {
    decision.note_unknown("targets", "the EndpointSlices of the Service were not given");
    Backends::Are(Answer::Unknown)
}
