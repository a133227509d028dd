use crate::controller::ControllerVersion;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-cloud-provider-flag",
    title: "the cloud controller's `--cloud-provider` is missing or wrong",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for `aws/v2` before 1.29"),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller is started without `--cloud-provider=aws`, or with another value. Releases up to 1.28 also have `aws/v2`, which was never intended for use.",
    impact: "it does not start: `--cloud-provider cannot be empty`, or `unknown cloud provider`",
    fix: "Set `--cloud-provider=aws`. `external` is for the kubelet and kube-controller-manager.",
    sources: &["kubernetes/cloud-provider-aws cmd/aws-cloud-controller-manager/main.go"],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--cloud-provider=external`",
    migration: Some(Prerequisite::Controller),
    stops_workloads: true,
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let flag = controller.flag("cloud-provider");
        let name = controller.name();
        let name = text::printable(&name);
        let (severity, message) = match flag.map(|flag| flag.value.as_str()) {
            Some("aws") => return None,
            None if !controller.knows_flags => return None,
            None => (Severity::Error, format!("{name} has no `--cloud-provider`")),
            Some("aws/v2") if controller.version.is_some_and(|version| version < ControllerVersion::new(1, 29, 0)) => {
                (Severity::Warning, format!("{name} has `--cloud-provider=aws/v2`, which is not intended for use"))
            }
            Some(other) if other.contains("{{") || other.contains("$(") => return None,
            Some(other) => (Severity::Error, format!("{name} has `--cloud-provider={}`", text::printable(other))),
        };
        let place = flag.map_or(controller.place(), |flag| &flag.place);
        Some(on(controller, severity, place, message, "set `--cloud-provider=aws`"))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --cloud-provider=external
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "=external", "=aws");
    }
}
