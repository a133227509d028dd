//! Kubernetes Nodes against ECS instances; all of them need `--nodes`.

use super::Rule;
use crate::controller::ControllerVersion;
use crate::finding::ResourceRef;
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;

mod ali_node_name_mismatch;
mod ali_node_uninitialized;
mod ali_node_without_instance;
mod ali_provider_id_invalid;
mod ali_provider_id_missing;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_node.rs"));

fn resource(node: &KubernetesNode) -> ResourceRef {
    ResourceRef::bare(ResourceKind::Node, &node.name)
}

/// Nodes of another service, whose providerID is of another form.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/node_utils.go`.
fn is_lingjun(node: &KubernetesNode) -> bool {
    node.labels.get("alibabacloud.com/lingjun-worker").is_some_and(|value| value == "true")
}

/// Whether a version finds the instance of a Node without providerID by its address and tag: v2.4 to v2.10.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#findCloudECSByIp`, which is called no more
/// since a90a4e2f1 (v2.11.2).
pub(super) fn finds_by_tag(version: ControllerVersion) -> bool {
    (ControllerVersion::new(2, 4, 0)..ControllerVersion::new(2, 11, 0)).contains(&version)
}
