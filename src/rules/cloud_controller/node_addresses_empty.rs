use jiff::SignedDuration;

use crate::controller::ControllerVersion;
use crate::kubernetes::UNINITIALIZED;
use crate::nodes::KubernetesNode;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::NODES_NOT_GIVEN;

pub(super) const RULE: Rule = Rule {
    id: "node-addresses-empty",
    title: "a Node has no address until the cloud controller sets one",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Node],
    condition: "A Node of Kubernetes 1.29 or later has the taint `node.cloudprovider.kubernetes.io/uninitialized`, no `InternalIP`, and a kubelet without `--node-ip`.",
    impact: "pods on the host network have no address until then; if the cloud controller or the network itself needs one to start, each waits for the other",
    fix: "Start the kubelet with `--node-ip=ADDRESS`, or with `--node-ip=0.0.0.0`, which makes it detect its address.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/121028",
        "https://github.com/kubernetes/kubernetes/issues/125348",
    ],
    example: "Node worker-3 has no address, and its kubelet has no `--node-ip`",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Grace period for a new Node: the cloud controller sets addresses within seconds, with everything else.
const WAIT: SignedDuration = SignedDuration::from_mins(5);

/// Annotation that a kubelet with `--node-ip` writes.
const PROVIDED: &str = "alpha.kubernetes.io/provided-node-ip";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(nodes) = &context.evidence.nodes else {
        return CheckResult::not_applicable(NODES_NOT_GIVEN);
    };
    let now = context.evidence.known_time();
    let empty = |node: &&KubernetesNode| {
        let version: Option<ControllerVersion> = node.kubelet_version.parse().ok();
        let is_young = now.zip(node.created_at).is_some_and(|(now, created)| now.duration_since(created) <= WAIT);
        // These distributions always set an address.
        let is_of_rancher = ["+rke2", "+k3s"].iter().any(|mark| node.kubelet_version.contains(mark));
        node.internal_addresses.is_empty()
            && !is_young
            && !is_of_rancher
            && node.taints.iter().any(|taint| taint.key == UNINITIALIZED)
            && version.is_some_and(|version| version >= ControllerVersion::new(1, 29, 0))
            && !node.annotations.contains_key(PROVIDED)
    };
    let violation = |node: &KubernetesNode| {
        let message =
            format!("Node {} has no address, and its kubelet has no `--node-ip`", text::printable(&node.name));
        let fix = Fix::none("start its kubelet with `--node-ip=ADDRESS`, or with `--node-ip=0.0.0.0`");
        Violation::new(Severity::Warning, ResourceRef::bare(ResourceKind::Node, &node.name), message, fix)
    };
    CheckResult::counted(nodes.len(), nodes.iter().filter(empty).map(violation))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: cn-hangzhou.worker-1
spec:
  taints:
  - key: node.cloudprovider.kubernetes.io/uninitialized
status:
  nodeInfo:
    kubeletVersion: v1.30.1
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
            "status:\n",
            "status:\n  addresses:\n  - type: InternalIP\n    address: 10.0.0.1\n",
        );
    }
}
