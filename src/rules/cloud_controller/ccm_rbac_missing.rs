use crate::kubernetes::{CloudController, Rights};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, lacking, rights_not_given};

pub(super) const RULE: Rule = Rule {
    id: "ccm-rbac-missing",
    title: "the cloud controller lacks permissions that it needs",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The ServiceAccount of the AWS cloud controller is bound to roles, or the values of its chart replace the rules of its role (`clusterRoleRules`), but none of them grants a permission that its code needs: on nodes, the status of Services, leases in kube-system and events. A role that was not given is assumed to grant it.",
    impact: "without leases it never becomes leader and does nothing at all; without the other permissions its changes are refused (`forbidden`)",
    fix: "Add the permission to its ClusterRole.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go",
        "kubernetes/cloud-provider controllers/service/controller.go",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: "ServiceAccount kube-system/cloud-controller-manager may not patch services/status",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

/// Verbs that the code needs on resources of the core API group.
const NEEDED: [(&str, &str, &[&str]); 5] = [
    ("", "nodes", &["get", "list", "watch", "update", "patch", "delete"]),
    ("", "nodes/status", &["patch"]),
    ("", "services", &["list", "watch"]),
    ("", "services/status", &["patch"]),
    ("", "events", &["create", "patch"]),
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let workload = &controller.workload;
        let mut rights = Rights::new(context.evidence, &workload.namespace, &workload.service_account);
        let of_chart = controller.chart.as_ref().map(|chart| chart.role_rules.as_ref());
        match of_chart {
            // The chart binds its role, which was not rendered.
            Some(Some((rules, _))) => rights = rights.with(rules),
            Some(None) => return None,
            None if rights.bindings.is_empty() => return None,
            None => {}
        }
        if rights.has_unknown || !controller.acts_as_service_account() {
            return None;
        }
        let runs_services = controller.runs(&CloudController::SERVICE);
        // With per-controller credentials, the controllers use their own permissions.
        let own = controller.is_on("use-service-account-credentials", false);
        let needed =
            NEEDED.into_iter().filter(|(_, resource, _)| !own && (runs_services || !resource.starts_with("services")));
        lacking(controller, &rights, needed)
    })
    .unless(rights_not_given(context, AWS))
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
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.0
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:cloud-controller-manager
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
roleRef:
  kind: ClusterRole
  name: system:cloud-controller-manager
subjects:
- kind: ServiceAccount
  name: cloud-controller-manager
  namespace: kube-system
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    const VALUES: &str = "
args:
- --cloud-provider=aws
hostNetworking: true
clusterRoleRules:
- apiGroups: ['', coordination.k8s.io]
  resources: [nodes]
  verbs: ['*']
";

    #[test]
    fn fires_on_the_rules_of_a_chart() {
        lint::fires(&RULE, VALUES);
        lint::fires(&RULE, &VALUES.replace("resources: [nodes]", "resources: [nodes, services, leases]"));
        let own = VALUES.split_once("clusterRoleRules").unwrap().0;
        for nothing in ["null", "", "[]"] {
            lint::fires(&RULE, &format!("{own}clusterRoleRules: {nothing}\n"));
        }
    }

    #[test]
    fn silent_on_the_rules_of_a_chart() {
        lint::silent(&RULE, VALUES, "resources: [nodes]", "resources: ['*']");
        let own = VALUES.split_once("clusterRoleRules").unwrap().0;
        lint::does_not_apply(&RULE, own);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "kind: ClusterRole\nmetadata:\n  name: system:cloud-controller-manager\n",
            "kind: ClusterRole\nmetadata:\n  name: system:cloud-controller-manager\nrules:\n- apiGroups: [\"*\"]\n  resources: [\"*\"]\n  verbs: [\"*\"]\n",
        );
    }
}
