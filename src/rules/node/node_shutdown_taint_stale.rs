use crate::aws::InstanceState;
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, provider_id_instance, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-shutdown-taint-stale",
    title: "a Node has the shutdown taint while its instance runs",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NODE,
    condition: "A Node has the taint `node.cloudprovider.kubernetes.io/shutdown`, but its instance is running.",
    impact: "no pod is scheduled there; the controller that removes the taint when the Node is ready does not work",
    fix: "Find out why the cloud controller does not remove the taint: check `cloud-node-lifecycle` in `--controllers`, its leader and its permissions. Then the taint disappears by itself.",
    sources: &["kubernetes/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes"],
    example: "Node `worker-1` has the taint `node.cloudprovider.kubernetes.io/shutdown`, but its instance `i-0a` is running",
    reads: &[INSTANCES],
    ..Rule::nodes(check)
};

const TAINT: &str = "node.cloudprovider.kubernetes.io/shutdown";

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    nodes
        .iter()
        .filter(|node| node.taints.iter().any(|taint| taint.key == TAINT))
        .filter_map(|node| {
            let (_, instance) = provider_id_instance(context, node)?;
            if instance.state != InstanceState::Running {
                return None;
            }
            let message = format!(
                "Node `{}` has the taint `{TAINT}`, but its instance `{}` is running",
                text::printable(&node.name),
                text::printable(&instance.id)
            );
            let fix = Fix::none("find out why the cloud controller's lifecycle controller does not work");
            let instance = ResourceRef::bare(ResourceKind::Instance, &instance.id);
            Some(Violation::new(Severity::Warning, resource(node), message, fix).related([instance]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::aws::InstanceState;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["taints"] =
                json!([{"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}]);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["taints"] =
                json!([{"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}]);
            c.instance(aws::WORKER).state = InstanceState::Stopped;
        });
    }
}
