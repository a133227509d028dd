use crate::kubernetes::{Rights, is_true};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-rbac-serviceaccount-get",
    title: "per-controller credentials without permission to get ServiceAccounts",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller is started with `--use-service-account-credentials=true`, but its ServiceAccount may not `get` ServiceAccounts. The chart's own rules lack this permission.",
    impact: "the process exits at startup: it looks up the ServiceAccount before it creates one, and treats the refusal as a failure",
    fix: "Add `get` on `serviceaccounts` to its ClusterRole, or remove the flag.",
    sources: &[
        "kubernetes/kubernetes staging/src/k8s.io/controller-manager/pkg/clientbuilder/client_builder_dynamic.go",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: "HelmChart kube-system/aws-cloud-controller-manager has `--use-service-account-credentials=true`, but may not get ServiceAccounts",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let flag = controller.flag("use-service-account-credentials").filter(|flag| is_true(&flag.value))?;
        let may = if let Some(chart) = &controller.chart {
            let rules = chart.role_rules.iter().flat_map(|(rules, _)| rules);
            rules.into_iter().any(|rule| rule.allows("get", "", "serviceaccounts"))
        } else {
            let workload = &controller.workload;
            let rights = Rights::new(context.evidence, &workload.namespace, &workload.service_account);
            rights.bindings.is_empty()
                || !controller.acts_as_service_account()
                || rights.has_unknown
                || rights.allows("get", "", "serviceaccounts", Some("kube-system"))
        };
        if may {
            return None;
        }
        let name = controller.name();
        let message = format!(
            "{} has `--use-service-account-credentials=true`, but may not get ServiceAccounts",
            text::printable(&name)
        );
        let fix =
            "add `get` on `serviceaccounts` to its permissions (`clusterRoleRules` of the chart), or remove the flag";
        Some(on(controller, Severity::Error, &flag.place, message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: HelmChart
apiVersion: helm.cattle.io/v1
metadata:
  name: aws-cloud-controller-manager
spec:
  chart: aws-cloud-controller-manager
  valuesContent: |-
    args:
    - --use-service-account-credentials=true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "=true", "=false");
    }
}
