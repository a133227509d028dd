use crate::nodes::{self, KubernetesNode};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NODE, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-provider-id-invalid",
    title: "the providerID of a Node cannot be parsed",
    severity: RuleSeverity::always(Severity::Error),
    resources: NODE,
    condition: "The last part of a providerID is neither `i-…` nor `fargate-…`. EKS Hybrid Nodes (`eks-hybrid://`) are skipped; `ccm-wrong-cloud-provider` reports `rke2://` and `k3s://`.",
    impact: "every load balancer omits the Node, with a log line; controllers before v1.23.20, v1.24.19, v1.25.15, v1.26.11 and v1.27.6 panic",
    fix: "A Node's providerID cannot be changed: replace the node. On RKE2 and K3s, deleting a server's Node removes the server from etcd.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID",
        "https://github.com/kubernetes/cloud-provider-aws/issues/604",
        "https://github.com/rancher/rke2/issues/1874",
    ],
    example: "Node `worker-1` has the providerID `aws:///us-east-1a/vol-0a`",
    migration: Some(Prerequisite::Instances),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.aws_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let broken = nodes
        .iter()
        .filter(|node| !node.provider_id.is_empty() && nodes::parse_provider_id(&node.provider_id).is_none());
    let found = broken.map(|node| {
        let message = format!(
            "Node `{}` has the providerID `{}`",
            text::printable(&node.name),
            text::printable(&node.provider_id)
        );
        Violation::new(Severity::Error, resource(node), message, Fix::none(replacing(&[node])))
    });
    CheckResult::counted(nodes.len(), found)
}

/// Steps to replace a Node; deleting the Node of an etcd member also removes it from etcd.
fn replacing(nodes: &[&KubernetesNode]) -> &'static str {
    if nodes.iter().any(|node| node.is_embedded_etcd_member()) {
        "replace the nodes, workers first; take an etcd snapshot, then replace servers one at a time: deleting a server's Node alone removes the server from etcd"
    } else {
        "replace the node: drain it, delete the Node, and let the kubelet of the new machine register"
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-2
spec:
  providerID: aws:///us-east-1a/vol-0a
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "vol-0a", "i-0a");
    }
}
