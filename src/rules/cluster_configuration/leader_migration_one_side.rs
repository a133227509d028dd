use crate::kubernetes::arguments::{Component, Started};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_arguments, migration, on_started};

pub(super) const RULE: Rule = Rule {
    id: "leader-migration-one-side",
    title: "the old and the new controller both work",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "kube-controller-manager is started with `cloud-provider=aws`, an AWS cloud controller exists as well, and `enable-leader-migration` is not set on both.",
    impact: "both create and change the load balancers and routes of the cluster at once",
    fix: "Set `enable-leader-migration` on both sides, or stop one of them.",
    sources: &[r#"Kubernetes documentation, "Migrate Replicated Control Plane To Use Cloud Controller Manager""#],
    example: "kube-controller-manager works for AWS alongside DaemonSet kube-system/aws-cloud-controller-manager",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let of_aws = context.evidence.aws_controllers();
    let of_aws: Vec<_> = of_aws.collect();
    if of_aws.is_empty() {
        return CheckResult::not_applicable(
            "neither a workload nor values of a chart of an AWS cloud controller were given",
        );
    }
    for_each_arguments(context, |arguments| {
        let given = arguments.component_arguments(Component::ControllerManager);
        let provider =
            given.iter().rfind(|argument| argument.name == "cloud-provider").filter(|one| one.value == "aws")?;
        let migrates = migration(&given).is_some();
        let beside = of_aws.iter().find(|one| match &arguments.started {
            Started::Node(_) => one.chart.is_none(),
            Started::Declared { place, .. } => one.place().file == place.file,
        })?;
        if migrates && beside.is_on("enable-leader-migration", false) {
            return None;
        }
        let name = beside.name();
        let message = format!("kube-controller-manager works for AWS alongside {}", text::printable(&name));
        let fix = "set `enable-leader-migration` on both sides, or stop one of them";
        Some(on_started(arguments, Severity::Error, provider.place, "leader migration", message, fix))
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
      - cloud-provider=aws
    additionalManifest: |-
      apiVersion: helm.cattle.io/v1
      kind: HelmChart
      spec:
        chart: aws-cloud-controller-manager
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "- cloud-provider=aws", "- cloud-provider=external");
    }
}
