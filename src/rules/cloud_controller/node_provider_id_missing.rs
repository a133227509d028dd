use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::kubernetes::arguments::{Component, NodeArguments};
use crate::kubernetes::{CloudController, UNINITIALIZED};
use crate::model::load_balancer_controller::has_load_balancer_controller;
use crate::nodes::KubernetesNode;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "node-provider-id-missing",
    title: "a Node has no providerID, and nothing will set one",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if its kubelet is started without a cloud provider, as on a machine outside AWS, or if the cluster has only the AWS Load Balancer Controller",
    ),
    resources: &[ResourceKind::Node],
    condition: "A Node without a providerID and without the taint `node.cloudprovider.kubernetes.io/uninitialized` is more than ten minutes old, and an AWS cloud controller that initialises nodes runs: it writes the id only while the taint is set. In a cluster with only the AWS Load Balancer Controller, a Node without a providerID.",
    impact: "no load balancer targets the node (`did not have ProviderID set`), and a controller before 1.30 deletes the Node when it is not ready",
    fix: "Add the taint to the Node, so that the controller initialises it, and start its kubelet with `cloud-provider=external`, so that the next Node has it from the start.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
        "kubernetes-sigs/aws-load-balancer-controller pkg/k8s/node_utils.go#ExtractNodeInstanceID",
        "https://github.com/kubernetes/kubernetes/pull/123713",
        "https://github.com/kubernetes/cloud-provider-aws/issues/72",
    ],
    example: "Node worker-2 has neither a providerID nor the taint that requests one",
    migration: Some(Prerequisite::Instances),
    ..Rule::evidence(AWS, check)
};

/// Grace period for a Node between its taint and its providerID.
const WAIT: SignedDuration = SignedDuration::from_mins(10);

/// Reports a Node that the AWS Load Balancer Controller skips, in a cluster without a cloud controller to set its id.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/k8s/node_utils.go#ExtractNodeInstanceID`.
fn left_out(node: &KubernetesNode) -> Option<Violation> {
    let waits = node.taints.iter().any(|taint| taint.key == UNINITIALIZED);
    if waits || !node.provider_id.is_empty() {
        return None;
    }
    let shown = text::printable(&node.name);
    let message = format!("Node {shown} has no providerID, and the cluster has no cloud controller to set one");
    let fix =
        Fix::none("start its kubelet with `provider-id=aws:///ZONE/INSTANCE_ID`, or install the AWS cloud controller");
    let impact = "the AWS Load Balancer Controller reports `providerID is not specified for node`: the node does not become a target of type instance";
    let resource = ResourceRef::bare(ResourceKind::Node, &node.name);
    Some(Violation::new(Severity::Warning, resource, message, fix).impact(Some(impact.to_owned())))
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(nodes) = &evidence.nodes else {
        return CheckResult::not_applicable(NODES_NOT_GIVEN);
    };
    // Only a controller that initialises nodes removes the taint.
    let initialises = |one: &CloudController| {
        !one.workload.uid.is_empty() && one.runs(&CloudController::NODE) && !one.is_nowhere(nodes)
    };
    let is_initialised = evidence.aws_controllers().any(initialises);
    if !is_initialised && has_load_balancer_controller(evidence) {
        return CheckResult::counted(nodes.len(), nodes.iter().filter_map(left_out));
    }
    if !is_initialised {
        return CheckResult::not_applicable(
            "no AWS cloud controller that initialises nodes is among the workloads of the cluster",
        );
    }
    let without_provider: BTreeSet<&str> = evidence
        .arguments()
        .iter()
        .filter(|one| {
            !one.component_arguments(Component::Kubelet).iter().any(|argument| argument.name == "cloud-provider")
        })
        .filter(|one| one.cloud_provider_name().is_none() && !one.is_part)
        .filter_map(NodeArguments::node)
        .collect();
    let now = evidence.known_time();
    let missing = |node: &KubernetesNode| {
        let waits = node.taints.iter().any(|taint| taint.key == UNINITIALIZED);
        let is_old = now.zip(node.created_at).is_some_and(|(now, created)| now.duration_since(created) > WAIT);
        if waits || !is_old || !node.provider_id.is_empty() {
            return None;
        }
        let shown = text::printable(&node.name);
        if without_provider.contains(node.name.as_str()) {
            let message = format!("Node {shown} has no providerID, and its kubelet has no cloud provider");
            let fix = Fix::none(
                "if it is an EC2 instance, start its kubelet with `cloud-provider=external` and register it again; otherwise leave it",
            );
            let resource = ResourceRef::bare(ResourceKind::Node, &node.name);
            return Some(Violation::new(Severity::Warning, resource, message, fix));
        }
        let message = format!("Node {shown} has neither a providerID nor the taint that requests one");
        let command = format!("kubectl taint node {} {UNINITIALIZED}=true:NoSchedule", text::shell_quote(&node.name));
        let fix = Fix::none("add the taint, and start its kubelet with `cloud-provider=external`").untried(command);
        Some(Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Node, &node.name), message, fix))
    };
    CheckResult::counted(nodes.len(), nodes.iter().filter_map(missing))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: control-1
  creationTimestamp: '2026-01-05T08:00:00Z'
---
kind: Node
metadata:
  name: young
  creationTimestamp: '2026-01-05T09:57:00Z'
---
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  uid: w-ccm
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.31.9
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
            "name: control-1\n  creationTimestamp: '2026-01-05T08:00:00Z'",
            "name: control-1\n  creationTimestamp: '2026-01-05T09:57:00Z'",
        );
    }
}
