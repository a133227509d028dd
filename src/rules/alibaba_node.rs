//! Kubernetes Nodes compared with ECS instances; all of these rules need `--nodes`.

use super::{KubernetesContext, Rule};
use crate::alibaba::provider_id::{self, ProviderId};
use crate::alibaba::{CLUSTER_TAG, ClusterView, Member};
use crate::controller::ControllerVersion;
use crate::finding::ResourceRef;
use crate::kubernetes::alibaba_cloud_config::cloud_config;
use crate::kubernetes::{DocumentKind, Evidence};
use crate::model::cloud_provider_alibaba::{has_master_label, is_excluded};
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::target;

mod ali_network_unavailable;
mod ali_node_name_mismatch;
mod ali_node_uninitialized;
mod ali_node_without_instance;
mod ali_pod_cidr_holds_node;
mod ali_pod_cidr_missing;
mod ali_pod_cidr_shared;
mod ali_pod_cidr_without_route;
mod ali_provider_id_invalid;
mod ali_provider_id_missing;
mod ali_provider_id_shared;
mod ali_routes_near_quota;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_node.rs"));

fn resource(node: &KubernetesNode) -> ResourceRef {
    ResourceRef::bare(ResourceKind::Node, &node.name)
}

/// True if the controller ignores a Node, whatever its name: a label excludes it, it belongs to another service with a
/// different form of providerID, or it is not a machine.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go#IsExcludedNode`,
/// `#HasExcludeLabel`; virtual-kubelet/alibabacloud-eci: its Nodes have `type=virtual-kubelet` and no instance.
pub(super) fn is_left_alone(node: &KubernetesNode) -> bool {
    let has = |key: &str, value: &str| node.labels.get(key).is_some_and(|found| found == value);
    is_excluded(node)
        || has("alibabacloud.com/lingjun-worker", "true")
        || has("type", "virtual-kubelet")
        || matches!(provider_id::parse(&node.provider_id), Some(ProviderId::Hybrid))
}

/// True if an instance is a node of which the controller takes care: where the Nodes are known, one of them names it.
pub(super) fn is_cared_for(view: &ClusterView<'_>, member: &Member<'_>) -> bool {
    match member.node {
        Some(node) => !is_left_alone(node) && !node.is_being_deleted,
        None => view.nodes.is_none(),
    }
}

/// True if the controller passes a Node over before it parses its providerID for the backends of a load balancer.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/reconcile/backend/backend.go#GetNodes`,
/// `#needExcludeFromLB`.
fn is_no_backend(node: &KubernetesNode) -> bool {
    has_master_label(node) || node.is_ready == Some(false)
}

/// The Nodes that the controller manages.
fn cared_for(nodes: &[KubernetesNode]) -> impl Iterator<Item = &KubernetesNode> {
    nodes.iter().filter(|node| !is_left_alone(node))
}

/// Range of the pods of a Node to which the controller writes a route: the first IPv4 range, else the last one.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/route/utils.go#getIPv4RouteForNode`.
fn routed_range(node: &KubernetesNode) -> Option<&str> {
    let ranges = || node.pod_cidrs.iter().map(String::as_str);
    ranges().find(|range| !range.contains(':')).or_else(|| ranges().next_back())
}

/// Nodes to which the controller writes routes: it knows their instances, and no label excludes them. An error states why
/// a rule on routes does not apply.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#NodeList`,
/// `pkg/controller/route/manager.go#needSyncRoute`.
fn routed<'a>(context: &KubernetesContext<'a>) -> Result<Vec<&'a KubernetesNode>, &'static str> {
    let nodes = context.alibaba_nodes()?;
    if !context.alibaba_routes {
        return Err("no controller that writes routes was given");
    }
    Ok(nodes.iter().filter(|node| named(node).is_some() && !is_excluded(node)).collect())
}

/// Region and instance that a providerID names, and whether it has further parts. `None` if it names none, or if the
/// region is not one, as in the URL of another cloud.
pub(super) fn named(node: &KubernetesNode) -> Option<(&str, &str, bool)> {
    match provider_id::parse(&node.provider_id) {
        Some(ProviderId::Instance { region, id, has_more }) if target::is_region(region) && !id.is_empty() => {
            Some((region, id, has_more))
        }
        _ => None,
    }
}

/// The tag that finds instances: `ack.aliyun.com`, or the `kubernetesClusterTag` of the cloud configuration.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP`.
pub(super) fn cluster_tag(evidence: &Evidence) -> String {
    let mut maps = evidence.documents_by_kind(DocumentKind::ConfigMap);
    let configured = maps.find_map(|map| cloud_config(map)?.cluster_tag);
    configured.unwrap_or_else(|| CLUSTER_TAG.to_owned())
}

/// True if a version finds the instance of a Node without providerID by its address and tag: v2.4 to v2.10.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#findCloudECSByIp`, unused since
/// a90a4e2f1 (v2.11.2).
pub(super) fn finds_by_tag(version: ControllerVersion) -> bool {
    (ControllerVersion::new(2, 4, 0)..ControllerVersion::new(2, 11, 0)).contains(&version)
}
