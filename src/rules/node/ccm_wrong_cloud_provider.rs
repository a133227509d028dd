use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ccm-wrong-cloud-provider",
    title: "the distribution's own cloud controller initialised the Nodes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "Nodes have a providerID that starts with `rke2://` or `k3s://`: the cloud controller bundled with RKE2 or K3s set it, and it cannot be changed.",
    impact: "the cloud controller neither initialises these Nodes nor makes them targets of a load balancer, and a re-created Node gets the same providerID again while the embedded controller runs",
    fix: "First switch the embedded controller off (`disable-cloud-controller: true` on servers) and set the kubelets to `cloud-provider=external` (RKE2: `cloud-provider-name: external`); then replace the workers one by one; then the servers one at a time, after an etcd snapshot. Never delete a server's Node alone: that removes the server from etcd.",
    sources: &[
        "https://github.com/k3s-io/k3s/issues/1049",
        "https://github.com/rancher/rke2/issues/142",
        "https://github.com/rancher/rke2/issues/3439",
        "k3s-io/k3s pkg/etcd/member_controller.go#onRemove",
    ],
    example: "4 Nodes have a providerID of RKE2's own cloud controller, such as `rke2://worker-1`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.aws_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let embedded: Vec<&KubernetesNode> = nodes
        .iter()
        .filter(|node| matches!(nodes::parse_provider_id(&node.provider_id), Some(ProviderId::Embedded(_))))
        .collect();
    let Some(first) = embedded.first() else { return CheckResult::counted(nodes.len(), []) };
    let distribution = if first.provider_id.starts_with("rke2://") { "RKE2" } else { "K3s" };
    let message = format!(
        "{} {} a providerID of {distribution}'s own cloud controller, such as `{}`",
        text::count(embedded.len(), "Node"),
        if embedded.len() == 1 { "has" } else { "have" },
        text::printable(&first.provider_id)
    );
    let fix = Fix::none(
        "1. set `disable-cloud-controller: true` on the servers and `cloud-provider=external` for the kubelets; 2. replace the workers one by one; 3. take an etcd snapshot and replace the servers one at a time; never delete a server's Node alone: that removes the server from etcd",
    );
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let others = embedded.iter().map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
    CheckResult::counted(nodes.len(), [Violation::new(Severity::Error, resource, message, fix).related(others)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-1
spec:
  providerID: k3s://worker-1
---
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
        lint::silent(&RULE, DEFECT, "k3s://worker-1", "aws:///us-east-1a/i-0a");
    }
}
