use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-node-uninitialized",
    title: "a Node was never initialised",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Node],
    condition: "A Node with a providerID has the taint `node.cloudprovider.kubernetes.io/uninitialized`. A Node without one is reported by `ali-provider-id-missing`.",
    impact: "only Pods that tolerate the taint are scheduled there",
    fix: "Check the controller's log for the Node; since v2.11.2 it also needs ecs:DescribeNetworkInterfaces and ecs:ModifyNetworkInterfaceAttribute, unless it runs with --skip-disable-source-dest-check.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/node_controller.go#syncECSNodes",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/ecs/ecs.go#ModifyNetworkInterfaceSourceDestCheck",
    ],
    example: "Node `worker-1` has the taint `node.cloudprovider.kubernetes.io/uninitialized`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let nodes = match context.alibaba_nodes() {
        Ok(nodes) => nodes,
        Err(why) => return CheckResult::not_applicable(why),
    };
    let stuck = super::cared_for(nodes)
        .filter(|node| !node.provider_id.is_empty() && node.taints.iter().any(|taint| taint.key == TAINT));
    let found = stuck.map(|node| {
        let message = format!("Node `{}` has the taint `{TAINT}`", text::printable(&node.name));
        let fix = Fix::none("check the controller's log and the permissions of its principal");
        Violation::new(Severity::Error, super::resource(node), message, fix)
    });
    CheckResult::counted(nodes.len(), found.collect::<Vec<_>>())
}

/// Taint of Nodes that the cloud controller has not initialised.
/// Source: kubernetes/cloud-provider `api/well_known_taints.go`.
const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: cn-hangzhou.worker-3
spec:
  providerID: cn-hangzhou.i-bp2
  taints:
  - key: node.cloudprovider.kubernetes.io/uninitialized
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloudprovider.kubernetes.io/uninitialized", "kubernetes.io/not-ready");
    }
}
