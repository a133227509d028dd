use std::collections::BTreeSet;

use crate::kubernetes::arguments::{Component, NodeArguments};
use crate::kubernetes::{UNINITIALIZED, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "ccm-absent",
    title: "nodes wait for a cloud controller that does not run",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "Kubelets are started with `cloud-provider=external`, or Nodes have the taint `node.cloudprovider.kubernetes.io/uninitialized`, but the workloads include no cloud controller. Requires the DaemonSets and Deployments of all namespaces, and a distribution that does not run its own controller.",
    impact: "new nodes keep the taint: ordinary pods are not scheduled there, and Services get no load balancer",
    fix: "Install the cloud controller for this cloud, with its tolerations and on the host network.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
        r#"Kubernetes documentation, "Cloud Controller Manager Administration""#,
    ],
    example: "3 Nodes are configured for an external cloud controller, but none runs",
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
    let message = format!(
        "{} {are} configured for an external cloud controller, but none runs",
        text::count(waiting.len(), "Node")
    );
    let related = waiting.iter().map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let fix = Fix::none("install the cloud controller for this cloud");
    CheckResult::counted(nodes.len(), [Violation::new(Severity::Error, resource, message, fix).related(related)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: ip-10-0-1-10.eu-west-1.compute.internal
spec:
  taints:
  - key: node.cloudprovider.kubernetes.io/uninitialized
---
kind: DaemonSet
metadata:
  name: agent
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/kube-proxy:v1.33.0
---
kind: Deployment
metadata:
  name: coredns
  namespace: kube-system
  uid: 5f0c0005
spec:
  template:
    spec: {}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "registry.k8s.io/kube-proxy",
            "registry.k8s.io/provider-aws/cloud-controller-manager",
        );
    }
}
