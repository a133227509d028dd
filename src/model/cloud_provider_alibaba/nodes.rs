//! The Nodes that may be servers of a load balancer.

use crate::alibaba::Member;
use crate::alibaba::provider_id::{self, ProviderId};
use crate::controller::ControllerVersion;
use crate::kubernetes::UNINITIALIZED;
use crate::model::decision::{Decision, Duration, NodeLeftOut, Stop};
use crate::nodes::KubernetesNode;
use crate::tags;

use super::Request;

/// Label that excludes Nodes from the backends, whatever its value.
pub(crate) const MASTER: &str = "node-role.kubernetes.io/master";

/// Taint of Nodes that the cluster autoscaler deletes.
pub(crate) const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const EXCLUDE_ALPHA: &str = "alpha.service-controller.kubernetes.io/exclude-balancer";

/// Labels that exclude a Node from all controllers, whatever their value.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#IsExcludedNode`.
const EXCLUDE_NODE: [&str; 2] = ["service.alibabacloud.com/exclude-node", "service.beta.kubernetes.io/exclude-node"];

/// True if a label excludes a Node from all controllers.
pub(crate) fn is_excluded(node: &KubernetesNode) -> bool {
    EXCLUDE_NODE.iter().any(|label| node.labels.contains_key(*label))
}

/// True if the controller does not list a Node among the backends: it is a control plane node by its label.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/backend/backend.go#needExcludeFromLB`.
pub(crate) fn has_master_label(node: &KubernetesNode) -> bool {
    node.labels.contains_key(MASTER)
}

/// True if the controller does not list a Node among the backends: the cluster autoscaler deletes it. Any version if none is
/// given.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/backend/backend.go#needExcludeFromLB`.
pub(crate) fn is_to_be_deleted(node: &KubernetesNode, version: Option<ControllerVersion>) -> bool {
    version.is_none_or(|version| version >= ControllerVersion::new(2, 4, 0))
        && node.taints.iter().any(|taint| taint.key == TO_BE_DELETED)
}

/// The label that excludes a listed Node from load balancers.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#IsNodeExcludeFromLoadBalancer`.
pub(crate) fn excluding_label(node: &KubernetesNode, version: Option<ControllerVersion>) -> Option<&'static str> {
    let reads_stable = version.is_none_or(|version| version >= ControllerVersion::new(2, 6, 0));
    let labels: &[&'static str] = if reads_stable { &[EXCLUDE, EXCLUDE_ALPHA] } else { &[EXCLUDE_ALPHA] };
    labels.iter().chain(&EXCLUDE_NODE).copied().find(|label| node.labels.contains_key(*label))
}

/// True for a Node of virtual-kubelet, whose Pods are backends themselves.
pub(crate) fn is_virtual(node: &KubernetesNode) -> bool {
    node.labels.get("type").is_some_and(|kind| kind == "virtual-kubelet")
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
        if has_master_label(node) {
            return Some(format!("it has the label `{MASTER}`"));
        }
        if is_to_be_deleted(node, Some(self.config.version)) {
            return Some(format!("it has the taint `{TO_BE_DELETED}`"));
        }
        if node.is_unschedulable && self.annotation("remove-unscheduled-backend") == "on" {
            return Some("it is unschedulable, and `remove-unscheduled-backend` is on".to_owned());
        }
        (node.is_ready == Some(false) && !is_virtual(node)).then(|| "it is not Ready".to_owned())
    }

    /// True if a label excludes a candidate.
    pub(super) fn is_left_out(&self, node: &KubernetesNode, decision: &mut Decision) -> bool {
        let is_hybrid = self.is_since(12) && node.provider_id.starts_with("ack-hybrid://");
        let reason = match excluding_label(node, Some(self.config.version)) {
            Some(label) => format!("it has the label `{label}`"),
            None if is_hybrid => "its providerID is that of a hybrid Node".to_owned(),
            None => return false,
        };
        let left_out = NodeLeftOut { node: node.name.clone(), reason };
        // A Node is asked about once for each of its Pods.
        if !self.service.is_local || !decision.nodes_left_out.contains(&left_out) {
            decision.nodes_left_out.push(left_out);
        }
        true
    }

    /// Notes that an error at a Node ends by itself: up to v2.10 the controller sets a missing providerID.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#findCloudECSByIp`, `#NodeList`.
    pub(super) fn note_temporary(&self, node: &KubernetesNode, decision: &mut Decision) {
        let is_its = |member: &&Member<'_>| member.node.is_some_and(|one| one.name == node.name);
        let member = self.world.region.members.iter().find(is_its);
        let is_tagged = member.is_some_and(|one| tags::value(&one.instance.tags, &self.config.cluster_tag).is_some());
        if node.provider_id.is_empty() && !self.is_since(11) && is_tagged {
            decision.duration = Duration::Temporary;
            // It handles only Nodes that are not initialised.
            let is_new = node.taints.iter().any(|taint| taint.key == UNINITIALIZED);
            let name = &node.name;
            decision.notes.push(if is_new {
                format!("the controller sets the providerID of Node `{name}`, and then finishes")
            } else {
                format!(
                    "the controller sets the providerID of Node `{name}` only if it has the taint `{UNINITIALIZED}`"
                )
            });
        }
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

/// Address of a Node that is its id in a server group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    /// Its instance is the id.
    None,
    /// Before v2.9, of any family.
    First,
    FirstIpv4,
}

/// Id of a Node in a server group: its instance, or its address.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#NodeFromProviderID`,
/// `#GetNodeInternalIP`.
pub(super) fn server(node: &KubernetesNode, by: Address, word: &str) -> Result<String, ServerError> {
    if by != Address::None {
        let mut addresses = node.internal_addresses.iter();
        let found = addresses.find(|address| by == Address::First || !address.contains(':'));
        return found.cloned().ok_or_else(|| {
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
pub(super) struct ServerError(pub(super) String);
