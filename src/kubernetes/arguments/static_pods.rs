//! Arguments in the static pods of a control plane that kubeadm created: their command lines are those of its
//! components.

use std::collections::BTreeMap;

use super::{Argument, Component, Distribution, NodeArguments, Started};
use crate::kubernetes::{Flag, Located, Workload, WorkloadKind, parse_flags};
use crate::nodes::KubernetesNode;

/// Flags of a component that a static pod runs; `None` if it runs another one, or if a shell may add unknown flags.
#[must_use]
pub(crate) fn static_pod_flags(workload: &Workload, component: Component) -> Option<Vec<Flag>> {
    let mut containers = workload.containers.iter().filter(|_| workload.is_static);
    let container =
        containers.find(|container| container.name == component.name() || container.program() == component.name())?;
    (!container.starts_shell()).then(|| parse_flags(&container.words))
}

/// Name of the Node that runs a static pod of a component: the kubelet appends the name of its node to that of the pod.
/// Source: kubernetes/kubernetes `pkg/kubelet/config/common.go#generatePodName`.
#[must_use]
pub(crate) fn static_pod_node(workload: &Workload, component: Component) -> &str {
    workload.name.trim_start_matches(component.name()).trim_start_matches('-')
}

/// Arguments of the control planes that kubeadm created, from their static pods; kubelet arguments are not included.
pub(in crate::kubernetes) fn from_static_pods(workloads: &[Workload], nodes: &[KubernetesNode]) -> Vec<NodeArguments> {
    let by_name: BTreeMap<&str, &KubernetesNode> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut found: BTreeMap<&str, NodeArguments> = BTreeMap::new();
    for workload in workloads.iter().filter(|workload| workload.is_static) {
        for component in [Component::ApiServer, Component::ControllerManager] {
            let Some(node) = by_name.get(static_pod_node(workload, component)).filter(|node| node.is_kubeadm()) else {
                continue;
            };
            let Some(flags) = static_pod_flags(workload, component) else { continue };
            let own = found.entry(&node.name).or_insert_with(|| NodeArguments {
                started: Started::Node(node.name.clone()),
                distribution: Distribution::Kubeadm,
                version: node.kubelet_version.parse().ok(),
                is_server: Some(true),
                is_part: true,
                is_of_kubelet: false,
                arguments: Vec::new(),
                environment: BTreeMap::new(),
            });
            own.arguments.extend(flags.into_iter().map(|flag| Argument {
                name: component.argument().to_owned(),
                value: Some(format!("{}={}", flag.name.replace('_', "-"), flag.value)),
                place: None,
            }));
        }
    }
    found.into_values().chain(workloads.iter().filter_map(from_manifest)).collect()
}

/// Arguments in a static pod manifest, as it is in the kubelet's folder: the API server uses another name for it and
/// assigns a uid.
fn from_manifest(workload: &Workload) -> Option<NodeArguments> {
    let is_manifest = workload.kind == WorkloadKind::Pod
        && workload.namespace == "kube-system"
        && workload.uid.is_empty()
        && !workload.is_static
        && !workload.is_owned;
    let component = [Component::ApiServer, Component::ControllerManager]
        .into_iter()
        .find(|component| is_manifest && workload.name == component.name())?;
    let container = workload.containers.iter().find(|one| one.program() == component.name())?;
    let tag = container.image.value.split('@').next().and_then(|image| image.rsplit_once(':')).map(|(_, tag)| tag);
    let flags = parse_flags(&container.words);
    let arguments = flags.into_iter().map(|flag| {
        let value = format!("{}={}", flag.name.replace('_', "-"), flag.value);
        (component.argument().to_owned(), Located { value, place: flag.place })
    });
    let name = format!("{} of {}", workload.full_name(), workload.place.file);
    let own = NodeArguments::from_configuration(
        name,
        workload.place.clone(),
        Distribution::StaticPod,
        tag.and_then(|tag| tag.parse().ok()),
        Some(true),
        arguments,
    );
    Some(NodeArguments { is_part: true, is_of_kubelet: false, ..own })
}
