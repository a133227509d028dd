use crate::kubernetes::{Rights, is_true};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-rbac-serviceaccount-get",
    title: "credentials for each controller, and no right to look for them",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller is started with `--use-service-account-credentials=true`, and its ServiceAccount may not `get` ServiceAccounts. The rules of the chart are so.",
    impact: "the process ends at its start: it looks for the ServiceAccount before it makes one, and takes the refusal for a failure",
    fix: "Add `get` on `serviceaccounts` to its ClusterRole, or take the flag out.",
    sources: &[
        "kubernetes/kubernetes staging/src/k8s.io/controller-manager/pkg/clientbuilder/client_builder_dynamic.go",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: "HelmChart kube-system/aws-cloud-controller-manager has `--use-service-account-credentials=true`, and no right to get ServiceAccounts",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |controller| {
        let flag = controller.flag("use-service-account-credentials").filter(|flag| is_true(&flag.value))?;
        let may = if let Some(chart) = &controller.chart {
            chart.gets_service_accounts
        } else {
            let workload = &controller.workload;
            let rights = Rights::of(context.evidence, &workload.namespace, &workload.service_account);
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
            "{} has `--use-service-account-credentials=true`, and no right to get ServiceAccounts",
            text::printable(&name)
        );
        let fix =
            "add `get` on `serviceaccounts` to its rights (`clusterRoleRules` of the chart), or take the flag out";
        Some(on(controller, Severity::Error, &flag.place, message, fix))
    })
}
