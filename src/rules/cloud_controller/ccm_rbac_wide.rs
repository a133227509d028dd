use crate::kubernetes::{Document, Rights};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on, rights_not_given};

pub(super) const RULE: Rule = Rule {
    id: "ccm-rbac-wide",
    title: "the cloud controller has full access to the cluster",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Workload],
    condition: "The ServiceAccount of the AWS cloud controller is bound to a role that allows everything, such as `cluster-admin`, or the values of its chart set `clusterRoleRules` to rules that do.",
    impact: "anyone who obtains its token is cluster admin",
    fix: "Bind it to the rules of the chart's ClusterRole.",
    sources: &["kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml"],
    example: "ServiceAccount kube-system/cloud-controller-manager has full access to the cluster",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let chart = controller.chart.as_ref().and_then(|chart| chart.role_rules.as_ref());
        if let Some((_, place)) = chart.filter(|(rules, _)| rules.iter().any(|rule| rule.allows("*", "*", "*"))) {
            let message = format!("{} gives the cloud controller full access to the cluster", controller.name());
            let fix = "list the rules of the chart in `clusterRoleRules` instead";
            return Some(on(controller, Severity::Info, place, text::printable(&message).into_owned(), fix));
        }
        let workload = &controller.workload;
        let rights = Rights::new(context.evidence, &workload.namespace, &workload.service_account);
        let is_admin = |binding: &&&Document| {
            let object = binding.object();
            object.text(&["roleRef", "name"]) == Some("cluster-admin") && binding.kind_name() == "ClusterRoleBinding"
        };
        let admin = rights.bindings.iter().find(is_admin);
        if admin.is_none() && !rights.allows_all() {
            return None;
        }
        let name = format!("{}/{}", workload.namespace, workload.service_account);
        let message = format!("ServiceAccount {} has full access to the cluster", text::printable(&name));
        let place =
            admin.or(rights.bindings.first()).map_or_else(|| controller.place().clone(), |one| one.object().head());
        Some(on(controller, Severity::Info, &place, message, "bind it to the rules of the chart's ClusterRole instead"))
    })
    .unless(rights_not_given(context, AWS))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
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
kind: ClusterRole
metadata:
  name: ccm
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: ccm
roleRef:
  kind: ClusterRole
  name: ccm
subjects:
- kind: ServiceAccount
  name: ccm
  namespace: kube-system
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let values = "
args:
- --cloud-provider=aws
hostNetworking: true
clusterRoleRules:
- apiGroups: ['*']
  resources: ['*']
  verbs: ['*']
";
        lint::fires(&RULE, values);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "resources: [\"*\"]", "resources: [nodes]");
    }
}
