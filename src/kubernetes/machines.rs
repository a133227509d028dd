//! Nodes that a configuration declares, with the labels and taints that its distribution sets.

use std::collections::BTreeMap;

use crate::nodes::{KubernetesNode, Taint};

use super::document::{Document, DocumentKind};
use super::evidence::Evidence;
use super::source::{Object, Place};

/// The RKE keys of a document, at any of the paths where it may hold them.
#[must_use]
pub(crate) fn rke_part(document: &Document) -> Object<'_> {
    let object = document.object();
    let wrapped = [&["rancher_kubernetes_engine_config"][..], &["spec", "rancherKubernetesEngineConfig"]];
    wrapped.iter().find_map(|path| object.at(path)).unwrap_or(object)
}

/// Nodes that the cluster configuration in the same file as a place declares. `None` if there is none, or more than
/// one.
#[must_use]
pub(crate) fn declared_beside(evidence: &Evidence, place: &Place) -> Option<Vec<KubernetesNode>> {
    only(clusters(evidence).filter(|one| one.source.file == place.file))
}

/// Nodes that the cluster configuration in the same file declares, otherwise those of the only cluster in the evidence.
#[must_use]
pub(crate) fn declared_nodes(evidence: &Evidence, place: &Place) -> Option<Vec<KubernetesNode>> {
    declared_beside(evidence, place).or_else(|| only(clusters(evidence)))
}

fn clusters(evidence: &Evidence) -> impl Iterator<Item = &Document> {
    let is_cluster = |kind: DocumentKind| matches!(kind, DocumentKind::RancherCluster | DocumentKind::RkeCluster);
    evidence.documents.iter().filter(move |document| is_cluster(document.kind))
}

fn only<'e>(mut clusters: impl Iterator<Item = &'e Document>) -> Option<Vec<KubernetesNode>> {
    let cluster = clusters.next().filter(|_| clusters.next().is_none())?;
    let nodes = match cluster.kind {
        DocumentKind::RancherCluster => rancher_nodes(cluster),
        _ => rke_nodes(cluster),
    };
    (!nodes.is_empty()).then_some(nodes)
}

/// One node for each pool of machines. Source: rancher/rancher `pkg/capr/planner`, `getTaints` and `addLabels`.
fn rancher_nodes(cluster: &Document) -> Vec<KubernetesNode> {
    let object = cluster.object();
    let is_k3s = object.text(&["spec", "kubernetesVersion"]).unwrap_or_default().contains("+k3s");
    let pools = object.items(&["spec", "rkeConfig", "machinePools"]);
    let node = |pool: Object<'_>| {
        let has = |role: &str| pool.switch(&[role]) == Some(true);
        let (etcd, control_plane, worker) = (has("etcdRole"), has("controlPlaneRole"), has("workerRole"));
        let mut labels: BTreeMap<String, String> = BTreeMap::new();
        for (is_one, role) in [(etcd, "etcd"), (control_plane, "control-plane"), (worker, "worker")] {
            if is_one {
                labels.insert(format!("node-role.kubernetes.io/{role}"), "true".to_owned());
            }
        }
        labels.extend(pool.members(&["labels"]).filter_map(|(key, value)| Some((key.value, value.scalar()?))));
        let mut taints: Vec<Taint> = pool.items(&["taints"]).map(taint).collect();
        if !worker && etcd && (!is_k3s || !control_plane) {
            taints.push(Taint::new("node-role.kubernetes.io/etcd", "", "NoExecute"));
        }
        if !worker && control_plane {
            taints.push(Taint::new("node-role.kubernetes.io/control-plane", "", "NoSchedule"));
        }
        let name = pool.text(&["name"]).unwrap_or_default().to_owned();
        KubernetesNode { name, labels, taints, ..KubernetesNode::default() }
    };
    pools.map(node).filter(|node| !node.labels.is_empty()).collect()
}

/// One node for each entry of `cluster.yml`. Sources: rancher/rke `services/workerplane.go`, `cluster/reconcile.go`.
fn rke_nodes(cluster: &Document) -> Vec<KubernetesNode> {
    let object = rke_part(cluster);
    let node = |node: Object<'_>| {
        let roles: Vec<&str> = node.items(&["role"]).filter_map(|role| role.node.as_str()).collect();
        let is_worker = roles.contains(&"worker");
        let mut labels: BTreeMap<String, String> =
            roles.iter().map(|role| (format!("node-role.kubernetes.io/{role}"), "true".to_owned())).collect();
        labels.extend(node.members(&["labels"]).filter_map(|(key, value)| Some((key.value, value.scalar()?))));
        let mut taints: Vec<Taint> = node.items(&["taints"]).map(taint).collect();
        if !is_worker {
            for (role, effect) in [("controlplane", "NoSchedule"), ("etcd", "NoExecute")] {
                if roles.contains(&role) {
                    taints.push(Taint::new(&format!("node-role.kubernetes.io/{role}"), "true", effect));
                }
            }
        }
        let name = node.text(&["hostname_override"]).or_else(|| node.text(&["address"])).unwrap_or_default().to_owned();
        KubernetesNode { name, labels, taints, ..KubernetesNode::default() }
    };
    object.items(&["nodes"]).map(node).filter(|node| !node.labels.is_empty()).collect()
}

fn taint(taint: Object<'_>) -> Taint {
    let text = |key: &str| taint.at(&[key]).and_then(Object::scalar).unwrap_or_default();
    Taint { key: text("key"), value: text("value"), effect: text("effect"), added_at: None }
}
