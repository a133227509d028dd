use crate::kubernetes::arguments::{Component, Started};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{of_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "node-name-constant",
    title: "all machines get one name",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A Rancher cluster gives machines of a role a literal `node-name`, or `hostname-override` for their kubelets.",
    impact: "the second machine of that name does not join, or takes the Node of the first; and the cloud controller finds at most one instance by it",
    fix: "Take it out, and let the machine say its name; with RKE2 `node-name-from-cloud-provider-metadata: true` takes that of the instance.",
    sources: &[
        "kubernetes/kubernetes pkg/kubelet/kubelet_node_status.go#tryRegisterWithAPIServer",
        "rancher/rke2 pkg/rke2/rke2_linux.go",
    ],
    example: "`node-name: worker` is given to all machines of worker",
    migration: Some(Prerequisite::Names),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_arguments(context, |arguments| {
        let Started::Declared { machines: Some(machines), .. } = &arguments.started else { return None };
        if machines.count.is_some_and(|count| count <= 1) {
            return None;
        }
        let kubelet = arguments.of_component(Component::Kubelet);
        let by_kubelet = kubelet.iter().rfind(|argument| argument.name == "hostname-override");
        let (what, given, place) = match (arguments.value("node-name"), by_kubelet) {
            (Some(given), _) => ("node-name", given, arguments.place_of("node-name")),
            (None, Some(argument)) => ("hostname-override", argument.value, argument.place),
            (None, None) => return None,
        };
        if given.contains('$') || given.contains("{{") {
            return None;
        }
        let message = format!("`{what}: {}` is given to all machines of {}", text::printable(given), machines.name);
        Some(on_started(arguments, Severity::Error, place, what, message, format!("take `{what}` out")))
    })
}
