use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, migration, on_started};

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-kcm-external",
    title: "kube-controller-manager holds the lock that the cloud controller waits for",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "kube-controller-manager is started with `cloud-provider=external` and `enable-leader-migration`.",
    impact: "it holds the migration lock without doing the work: the cloud controller never takes over",
    fix: "Remove `enable-leader-migration` from kube-controller-manager in the step that makes it external.",
    sources: &[r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#],
    example: "kube-controller-manager is external and has `enable-leader-migration`",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        let given = arguments.component_arguments(Component::ControllerManager);
        let migration = migration(&given)?;
        let mut external = given.iter().rev().filter(|argument| argument.name == "cloud-provider");
        external.next().filter(|found| found.value == "external")?;
        let message = "kube-controller-manager is external and has `enable-leader-migration`";
        let fix = "remove `enable-leader-migration` from its arguments";
        Some(on_started(arguments, Severity::Error, migration.place, "enable-leader-migration", message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineSelectorConfig:
    - config:
        kube-controller-manager-arg:
        - cloud-provider=external
        - enable-leader-migration=true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "- enable-leader-migration=true", "- v=2");
    }
}
