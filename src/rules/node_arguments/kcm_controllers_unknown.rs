use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "kcm-controllers-unknown",
    title: "kube-controller-manager names controllers that it no longer has",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a Node runs a version without them, or --target-kubernetes names one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "`controllers` of kube-controller-manager names `service`, `route` or `cloud-node-lifecycle`, by either of its names and with or without a leading dash. Kubernetes 1.37 does not know them.",
    impact: r#"from 1.37 on kube-controller-manager does not start: `"service" is not in the list of known controllers`"#,
    fix: "Remove these names from `controllers` before the upgrade: with an external cloud provider they are omitted automatically.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/138002",
        "https://github.com/kubernetes/kubernetes/pull/116186",
    ],
    example: "3 Nodes start kube-controller-manager with `controllers=-service`, which it takes until 1.36",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Controllers that only in-tree cloud providers needed, by both of their names.
const GONE: [&str; 6] = [
    "cloud-node-lifecycle",
    "cloud-node-lifecycle-controller",
    "node-route-controller",
    "route",
    "service",
    "service-lb-controller",
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    endings(context, |component, name, value| {
        let is_asked = component == Component::ControllerManager && name == "controllers";
        let named = value.split(',').filter(|_| is_asked).map(str::trim);
        named
            .filter(|one| GONE.contains(&one.trim_start_matches('-')))
            .map(|one| Ending {
                component,
                argument: format!("{name}={one}"),
                minor: 37,
                log: "is not in the list of known controllers",
                instead: None,
            })
            .collect()
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
      kube-controller-manager-arg:
      - controllers=*,-service,bootstrapsigner
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "-service,bootstrapsigner", "-ttl,bootstrapsigner");
    }
}
