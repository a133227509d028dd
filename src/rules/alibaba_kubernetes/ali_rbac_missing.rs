use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, Rights, is_false, is_true};
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::{lacking, rights_not_given};
use crate::rules::prelude::*;

use super::for_each_controller;
use crate::kubernetes::alibaba_cloud_config::cloud_config;

pub(super) const RULE: Rule = Rule {
    id: "ali-rbac-missing",
    title: "the cloud controller lacks rights in Kubernetes",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "The ServiceAccount of version 2 of the cloud controller of Alibaba Cloud is bound to roles, and none of them grants one of the rights that the manifest of the controller grants on nodes, Services, endpoints, events or leases in kube-system. With the feature gate `EndpointSlice` (on by default from 2.9.1 on), it needs to read endpointslices as well. A bound role that was not given is assumed to grant the right.",
    impact: "without leases it never becomes leader and does nothing; without the others its calls are refused (`forbidden`)",
    fix: "Add the right to its ClusterRole. The ClusterRole in docs/examples/cloud-controller-manager.yml of kubernetes/cloud-provider-alibaba-cloud has all of them.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud deploy/v2/cloud-controller-manager.yaml",
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/cloud-controller-manager.yml",
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/feature_gates.go",
    ],
    example: "ServiceAccount kube-system/cloud-controller-manager may not patch services/status",
    ..Rule::evidence(ALIBABA, check)
};

/// Verbs needed to watch a resource.
const READ: [&str; 3] = ["get", "list", "watch"];

/// Verbs on core resources that the manifest grants.
const NEEDED: [(&str, &str, &[&str]); 6] = [
    ("", "nodes", &["get", "list", "watch", "update", "patch", "delete"]),
    ("", "nodes/status", &["patch"]),
    ("", "services", &["get", "list", "watch", "patch"]),
    ("", "services/status", &["patch"]),
    ("", "endpoints", &READ),
    ("", "events", &["create", "patch"]),
];

/// Both service controllers watch these if the gate is on.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/service/clbv1/service_controller.go#add`; the gate
/// at its tags 2.8.0 and 2.9.1.
const SLICES: (&str, &str, &[&str]) = ("discovery.k8s.io", "endpointslices", &READ);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    // No version reads them from its flag.
    let maps = context.evidence.documents_by_kind(DocumentKind::ConfigMap);
    let gates: Vec<String> = maps.filter_map(|map| cloud_config(map)?.feature_gates).collect();
    for_each_controller(context, |controller| {
        let workload = &controller.workload;
        let rights = Rights::new(context.evidence, &workload.namespace, &workload.service_account);
        let is_two = controller.version.is_some_and(|version| version >= ControllerVersion::new(2, 0, 0));
        if !is_two || !controller.acts_as_service_account() || rights.bindings.is_empty() || rights.has_unknown {
            return None;
        }
        let set = |to: &dyn Fn(&str) -> bool| {
            gates.iter().any(|gates| {
                let mut pairs = gates.split(',').filter_map(|gate| gate.split_once('='));
                pairs.any(|(gate, value)| gate.trim() == "EndpointSlice" && to(value.trim()))
            })
        };
        let has_slices =
            if controller.version >= Some(ControllerVersion::new(2, 9, 1)) { !set(&is_false) } else { set(&is_true) };
        lacking(controller, &rights, NEEDED.into_iter().chain(has_slices.then_some(SLICES)))
    })
    .unless(rights_not_given(context, ALIBABA))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: rbac.authorization.k8s.io/v1beta1
kind: ClusterRoleBinding
roleRef:
  kind: ClusterRole
  name: system:cloud-controller-manager
subjects:
- kind: ServiceAccount
  name: cloud-controller-manager
  namespace: kube-system
---
kind: DaemonSet
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: cloud-controller-manager
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:cloud-controller-manager
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn endpoint_slices_are_watched_where_their_gate_is_on() {
        let rights = "rules:\n- apiGroups: [\"\"]\n  resources: [\"*\"]\n  verbs: [\"*\"]\n- apiGroups: [coordination.k8s.io]\n  resources: [\"*\"]\n  verbs: [\"*\"]\n";
        let with = |version: &str, gate: &str| {
            let config = format!(
                "---\nkind: ConfigMap\nmetadata:\n  name: cloud-config\n  namespace: kube-system\ndata:\n  cloud-config.conf: '{{\"Global\": {{\"featureGates\": \"{gate}\"}}}}'\n"
            );
            lint::outcome(&RULE, &format!("{}{rights}{config}", DEFECT.replace("v2.9.0", version))).0.len()
        };
        for (version, gate, expected) in [
            ("v2.14.0", "", 1),
            ("v2.14.0", "EndpointSlice=false", 0),
            ("v2.8.0", "", 0),
            ("v2.8.0", "EndpointSlice=true", 1),
        ] {
            assert_eq!(with(version, gate), expected, "{version} {gate}");
        }
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
