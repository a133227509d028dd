use crate::kubernetes::arguments::{Component, Distribution, Started};
use crate::nodes;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "provider-id-constant",
    title: "a configuration gives many nodes the same identity",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error if it names no instance"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A configuration sets a literal `provider-id` for the kubelet: of the form `aws:///ZONE/i-…` or `REGION.INSTANCE` (Alibaba Cloud), or of one that no cloud controller reads. Variables and templates are skipped. A configuration of RKE2, K3s or the kubelet may be for a single node, so only a wrong form is an error there.",
    impact: "a providerID cannot be changed: every node but one claims the wrong instance and must be re-created",
    fix: "Set it on each node from the metadata of its instance, or remove it where the cloud controller finds the instance by the name of the Node.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go",
        "kubernetes/kubernetes pkg/kubelet/kubelet_node_status.go",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/node_utils.go",
    ],
    example: "all of these kubelets have `provider-id=aws:///eu-west-1a/i-0123`",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        let Started::Declared { machines, .. } = &arguments.started else { return None };
        let kubelet = arguments.component_arguments(Component::Kubelet);
        let argument = kubelet.iter().rfind(|argument| argument.name == "provider-id")?;
        let id = argument.value;
        // Filled in on each node.
        let is_of_another_cloud = id.contains("://") && !id.starts_with("aws://");
        if id.contains("{{")
            || id.contains("__")
            || id.contains(['$', '<', '`', '%'])
            || id.is_empty()
            || is_of_another_cloud
        {
            return None;
        }
        let is_alibaba = crate::alibaba::provider_id::looks_like_one(id).is_some();
        let is_wrong = nodes::parse_provider_id(id).is_none() && !is_alibaba;
        let is_of_one = matches!(
            arguments.distribution,
            Distribution::Rke2 | Distribution::K3s | Distribution::Kubelet | Distribution::Unit
        ) && machines.is_none();
        let shown = text::printable(id);
        let (severity, message) = match (is_wrong, is_of_one) {
            (true, _) => (Severity::Error, format!("the kubelet has `provider-id={shown}`, which names no instance")),
            (false, true) => return None,
            (false, false) => (Severity::Warning, format!("all of these kubelets have `provider-id={shown}`")),
        };
        // The controller of Alibaba Cloud sets no providerID since v2.11.
        let fix = if is_alibaba {
            "set it on each node from the metadata of its instance"
        } else {
            "remove it, or set it on each node from the metadata of its instance"
        };
        Some(on_started(arguments, severity, argument.place, "provider-id", message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- provider-id=worker-1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "provider-id=worker-1", "node-ip=10.0.0.1");
    }
}
