use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{for_each_with_flags, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-missing",
    title: "the cloud controller has no cloud configuration",
    severity: RuleSeverity::depends(Severity::Error, "error; warning before version 2, or if the version is not known"),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud is started without `--cloud-config`. Version 2 requires it; before that, it is a warning.",
    impact: "it does not start: `cloud config cannot be empty`",
    fix: "Mount the configuration as a file and name it with `--cloud-config`.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/controller_config.go#Validate"],
    example: "DaemonSet kube-system/cloud-controller-manager has no `--cloud-config`, which it needs",
    stops_workloads: true,
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        if controller.flag("cloud-config").is_some_and(|flag| !flag.value.is_empty()) || !controller.knows_flags {
            return None;
        }
        let name = controller.name();
        let told = |version: &str| format!("{} has no `--cloud-config`, which {version} needs", text::printable(&name));
        Some(from_two_on(
            controller,
            controller.place(),
            told,
            (RULE.impact, "mount the configuration as a file and name it with `--cloud-config`"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint::{self, alibaba_controller};

    const DEFECT: &str = alibaba_controller!(
        "v2.9.0",
        "
        command:
        - --configure-cloud-routes=false
"
    );

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "--configure-cloud-routes=false",
            "--cloud-config=/etc/kubernetes/config/cloud-config.conf",
        );
    }
}
