use crate::kubernetes::{DocumentKind, Object};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{bindings_not_given, for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-authentication-role-elsewhere",
    title: "the cloud controller cannot read the authentication configuration",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A RoleBinding to `extension-apiserver-authentication-reader` for a cloud controller's ServiceAccount is in a namespace other than kube-system, the only one with that Role. The chart creates it in its release namespace.",
    impact: "the controller cannot read which clients may call its port and refuses their requests; some versions do not start",
    fix: "Create the RoleBinding in kube-system, or install the chart there.",
    sources: &[
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/templates/rolebinding.yaml",
        "kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/namespace_policy.go",
    ],
    example: "RoleBinding cloud/ccm-auth is to a Role that exists only in kube-system",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        if controller.chart.is_some() && controller.workload.namespace != "kube-system" {
            let message = format!(
                "the chart creates a RoleBinding in {} to a Role that exists only in kube-system",
                text::printable(&controller.workload.namespace)
            );
            return Some(on(
                controller,
                Severity::Error,
                controller.place(),
                message,
                "install the chart in kube-system",
            ));
        }
        let wrong = context.evidence.documents_by_kind(DocumentKind::RoleBinding).find(|binding| {
            let object = binding.object();
            let is_subject = |subject: Object<'_>| {
                subject.text(&["name"]) == Some(controller.workload.service_account.as_str())
                    && subject.text(&["namespace"]) == Some(controller.workload.namespace.as_str())
            };
            binding.kind_name() == "RoleBinding"
                && object.text(&["roleRef", "name"]) == Some("extension-apiserver-authentication-reader")
                && object.text(&["metadata", "namespace"]).is_some_and(|namespace| namespace != "kube-system")
                && object.items(&["subjects"]).any(is_subject)
        })?;
        let message = format!("{} is to a Role that exists only in kube-system", text::printable(&wrong.name));
        Some(on(controller, Severity::Error, &wrong.object().head(), message, "create it in kube-system"))
    })
    .unless(bindings_not_given(context))
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
      serviceAccountName: ccm
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: ccm
  namespace: cloud
roleRef:
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- kind: ServiceAccount
  name: ccm
  namespace: kube-system
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "namespace: cloud", "namespace: kube-system");
    }
}
