use crate::kubernetes::{DocumentKind, Evidence, Object, Rights, WorkloadKind};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{bindings_not_given, for_each_audited, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-rbac-subject-mismatch",
    title: "the cloud controller's permissions are bound to another account",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "No ClusterRoleBinding names the ServiceAccount of the cloud controller, and a binding for the controller, by the name of its role or its ServiceAccount, names another ServiceAccount, or one without a namespace. A ServiceAccount that another workload uses is skipped.",
    impact: "the controller has no permissions (`leases.coordination.k8s.io is forbidden`) and never becomes leader",
    fix: "Name the same ServiceAccount and namespace in the binding and in the pods (`serviceAccountName`).",
    sources: &["kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go#appliesTo"],
    example: "ClusterRoleBinding system:cloud-controller-manager names ServiceAccount default/cloud-controller-manager, but DaemonSet kube-system/aws-cloud-controller-manager runs as kube-system/cloud-controller-manager",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        if controller.chart.is_some() || !controller.acts_as_service_account() {
            return None;
        }
        let workload = &controller.workload;
        let (namespace, account) = (workload.namespace.as_str(), workload.service_account.as_str());
        // Without a namespace it gets one when it is applied; a group may have the permissions.
        let rights = Rights::new(context.evidence, namespace, account);
        if namespace.is_empty()
            || rights.has_unknown && !rights.bindings.is_empty()
            || rights.allows("update", "", "nodes", None)
        {
            return None;
        }
        let bindings = || {
            let all = context.evidence.documents_by_kind(DocumentKind::RoleBinding);
            all.filter(|binding| binding.kind_name() == "ClusterRoleBinding").map(|binding| (binding, binding.object()))
        };
        let names = |subject: Object<'_>, key: &str| subject.text(&[key]).unwrap_or_default().to_owned();
        let is_own = |subject: Object<'_>| match names(subject, "kind").as_str() {
            "ServiceAccount" => names(subject, "name") == account && names(subject, "namespace") == namespace,
            "User" => names(subject, "name") == format!("system:serviceaccount:{namespace}:{account}"),
            _ => false,
        };
        if bindings().any(|(_, object)| object.items(&["subjects"]).any(is_own)) {
            return None;
        }
        let meant = bindings().find_map(|(binding, object)| {
            let role = object.text(&["roleRef", "name"]).unwrap_or_default();
            let subject = object.items(&["subjects"]).find(|subject| {
                let is_account = names(*subject, "kind") == "ServiceAccount";
                let is_meant = role.contains("cloud-controller-manager") || names(*subject, "name") == account;
                // `default` is shared by all pods without an account.
                is_account && is_meant && account != "default" && !is_used(context.evidence, *subject)
            })?;
            Some((binding, subject))
        });
        let (binding, subject) = meant?;
        let other = match names(subject, "namespace") {
            none if none.is_empty() => names(subject, "name"),
            namespace => format!("{namespace}/{}", names(subject, "name")),
        };
        let message = format!(
            "{} names ServiceAccount {}, but {} runs as {}",
            text::printable(&binding.name),
            text::printable(&other),
            text::printable(&workload.full_name()),
            text::printable(&format!("{namespace}/{account}"))
        );
        let fix = format!("name {} in the binding", text::printable(&format!("{namespace}/{account}")));
        Some(on(controller, Severity::Error, &subject.head(), message, fix))
    })
    .unless(bindings_not_given(context))
}

/// True if a workload runs as this `ServiceAccount`.
fn is_used(evidence: &Evidence, subject: Object<'_>) -> bool {
    let text = |key: &str| subject.text(&[key]).unwrap_or_default();
    evidence.workloads.iter().any(|workload| {
        workload.kind != WorkloadKind::Pod
            && workload.service_account == text("name")
            && workload.namespace == text("namespace")
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
      serviceAccountName: cloud-controller-manager
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
subjects:
- kind: ServiceAccount
  name: cloud-controller-manager
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "- kind: ServiceAccount\n  name: cloud-controller-manager\n",
            "- kind: ServiceAccount\n  name: cloud-controller-manager\n  namespace: kube-system\n",
        );
    }
}
