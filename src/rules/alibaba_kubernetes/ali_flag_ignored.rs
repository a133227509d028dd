use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;

use super::for_each_with_flags;

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-ignored",
    title: "a flag of the cloud controller has no effect",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for `--allow-untagged-cloud`"),
    resources: &[ResourceKind::Workload],
    condition: "Version 2 of the cloud controller of Alibaba Cloud has a flag that it accepts and ignores: `--feature-gates` before 2.9.1 (the gates are those of the cloud configuration), or the deprecated `--allow-untagged-cloud`.",
    impact: "the controller runs as if the flag were not there",
    fix: "Remove the flag; set gates as `featureGates` in the cloud configuration.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/controller_config.go#BindFlags, #LoadControllerConfig, v2.1.0 to v2.14.0",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager has `--feature-gates`, which version 2.8.0 accepts and ignores",
    ..Rule::evidence(ALIBABA, check)
};

const TWO: ControllerVersion = ControllerVersion::new(2, 0, 0);

/// First version without `--feature-gates`.
const WITHOUT_GATES: ControllerVersion = ControllerVersion::new(2, 9, 1);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let version = controller.version.filter(|version| *version >= TWO);
        let found = controller.flags.iter().filter_map(|flag| {
            let (severity, fix) = match (flag.name.as_str(), version?) {
                ("feature-gates", version) if version < WITHOUT_GATES => {
                    (Severity::Warning, "set them as `featureGates` in the cloud configuration")
                }
                ("allow-untagged-cloud", _) => (Severity::Info, "remove it"),
                _ => return None,
            };
            let name = controller.name();
            let (name, version) = (text::printable(&name), version?);
            let message = format!("{name} has `--{}`, which version {version} accepts and ignores", flag.name);
            Some(on(controller, severity, &flag.place, message, fix).with_respect_to(flag.name.as_str()))
        });
        found.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.8.0
        command:
        - --feature-gates=EndpointSlice=true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let untagged = DEFECT.replace("--feature-gates=EndpointSlice=true", "--allow-untagged-cloud=true");
        for version in ["v2.8.0", "v2.14.0"] {
            lint::fires(&RULE, &untagged.replace("v2.8.0", version));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--feature-gates=EndpointSlice=true", "--v=5");
        // It exits there, or reads them.
        lint::silent(&RULE, DEFECT, "v2.8.0", "v2.9.1");
        lint::silent(&RULE, DEFECT, "v2.8.0", "v1.9.3");
    }
}
