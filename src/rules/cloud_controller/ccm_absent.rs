use std::collections::BTreeSet;

use crate::kubernetes::arguments::{Component, NodeArguments};
use crate::kubernetes::{UNINITIALIZED, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "ccm-absent",
    title: "nodes wait for a cloud controller that is not there",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "Kubelets are started with `cloud-provider=external`, or Nodes have the taint `node.cloudprovider.kubernetes.io/uninitialized`, and no cloud controller is among the workloads. DaemonSets and Deployments of all namespaces have to be given, and the distribution must not run its own.",
    impact: "new nodes keep the taint: no ordinary pod is scheduled there, and no Service gets a load balancer",
    fix: "Install the cloud controller of the cloud, with the tolerations and the network of its node.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
        r#"Kubernetes documentation, "Cloud Controller Manager Administration""#,
    ],
    example: "3 Nodes are started for an external cloud controller, and none runs",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if !evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("DaemonSets and Deployments of all namespaces were not given");
    }
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    if nodes.is_empty() {
        return CheckResult::not_applicable(NODES_NOT_GIVEN);
    }
    let arguments = evidence.arguments();
    let of_external =
        |one: &&NodeArguments| one.component_value(Component::Kubelet, "cloud-provider") == Some("external");
    let external: BTreeSet<&str> = arguments.iter().filter(of_external).filter_map(NodeArguments::node).collect();
    let is_external = |node: &&KubernetesNode| {
        node.taints.iter().any(|taint| taint.key == UNINITIALIZED) || external.contains(node.name.as_str())
    };
    let waiting: Vec<&KubernetesNode> = nodes.iter().filter(is_external).collect();
    // RKE2 runs its own as a static pod, and K3s within its server.
    let embedded = arguments
        .iter()
        .any(|one| one.node().is_some() && one.is_server == Some(true) && !one.is_on("disable-cloud-controller"));
    if waiting.is_empty() || embedded || !evidence.controllers().is_empty() {
        return CheckResult::counted(nodes.len(), []);
    }
    let are = if waiting.len() == 1 { "is" } else { "are" };
    let message =
        format!("{} {are} started for an external cloud controller, and none runs", text::count(waiting.len(), "Node"));
    let related = waiting.iter().map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let fix = Fix::none("install the cloud controller of the cloud");
    CheckResult::counted(nodes.len(), [Violation::new(Severity::Error, resource, message, fix).related(related)])
}
