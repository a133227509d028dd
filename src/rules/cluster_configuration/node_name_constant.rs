use crate::kubernetes::arguments::{Component, Started};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "node-name-constant",
    title: "all machines get the same name",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A Rancher cluster sets a literal `node-name` for machines of a role, or `hostname-override` for their kubelets.",
    impact: "the second machine of that name does not join, or takes over the Node of the first; the cloud controller finds at most one instance by it",
    fix: "Remove it, so that each machine uses its own name; with RKE2, `node-name-from-cloud-provider-metadata: true` uses that of the instance.",
    sources: &[
        "kubernetes/kubernetes pkg/kubelet/kubelet_node_status.go#tryRegisterWithAPIServer",
        "rancher/rke2 pkg/rke2/rke2_linux.go",
    ],
    example: "`node-name: worker` is set for all machines of worker",
    migration: Some(Prerequisite::Names),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        let Started::Declared { machines: Some(machines), .. } = &arguments.started else { return None };
        if machines.count.is_some_and(|count| count <= 1) {
            return None;
        }
        let kubelet = arguments.component_arguments(Component::Kubelet);
        let by_kubelet = kubelet.iter().rfind(|argument| argument.name == "hostname-override");
        let (what, given, place) = match (arguments.value("node-name"), by_kubelet) {
            (Some(given), _) => ("node-name", given, arguments.place("node-name")),
            (None, Some(argument)) => ("hostname-override", argument.value, argument.place),
            (None, None) => return None,
        };
        if given.contains('$') || given.contains("{{") {
            return None;
        }
        let message = format!("`{what}: {}` is set for all machines of {}", text::printable(given), machines.name);
        Some(on_started(arguments, Severity::Error, place, what, message, format!("remove `{what}`")))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineGlobalConfig:
      node-name: machine
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node-name: machine", "node-label: [a=b]");
    }
}
