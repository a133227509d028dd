use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{for_each_with_flags, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-routes-without-cidr",
    title: "cloud routes are on without a pod network",
    severity: RuleSeverity::depends(Severity::Error, "error; warning before version 2, or if the version is not known"),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud has neither `--configure-cloud-routes=false` nor `--cluster-cidr`. Cloud routes are on by default.",
    impact: "it does not start: `--cluster-cidr must be set when --configure-cloud-routes=true`",
    fix: "Add `--configure-cloud-routes=false`, or `--cluster-cidr` if VPC routes carry the pods' traffic.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/controller_config.go#Validate"],
    example: "DaemonSet kube-system/cloud-controller-manager leaves cloud routes on without `--cluster-cidr`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let has_cidr = controller.flag("cluster-cidr").is_some_and(|flag| !flag.value.is_empty());
        if has_cidr || !controller.is_on("configure-cloud-routes", true) || !controller.knows_flags {
            return None;
        }
        let name = controller.name();
        let told = |_: &str| format!("{} leaves cloud routes on without `--cluster-cidr`", text::printable(&name));
        let place = controller.flags.first().map_or(controller.place(), |flag| &flag.place);
        Some(from_two_on(controller, place, told, (RULE.impact, "add `--configure-cloud-routes=false`")))
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
        - --cloud-config=/etc/c.conf
"
    );

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--cloud-config=/etc/c.conf", "--configure-cloud-routes=false");
    }
}
