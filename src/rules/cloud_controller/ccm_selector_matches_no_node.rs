use crate::kubernetes::WorkloadKind;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_audited, nodes, nodes_not_given, on, selector};

pub(super) const RULE: Rule = Rule {
    id: "ccm-selector-matches-no-node",
    title: "no node matches the cloud controller's selector",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "No Node has the labels that the cloud controller's `nodeSelector` and required node affinity ask for. Without Nodes, the rule checks the machines that a Rancher cluster or `cluster.yml` defines.",
    impact: "none of its pods is created, and nothing reports it: new nodes stay tainted, and Services get no load balancer",
    fix: r#"Select a label that control-plane nodes of this distribution have: `node-role.kubernetes.io/control-plane` is `""` with kubeadm and kOps, `"true"` with RKE2 and K3s, and RKE has `controlplane`. Node affinity with `Exists` fits all of them."#,
    sources: &[
        "https://github.com/k3s-io/k3s/issues/1447",
        "https://github.com/rancher/rancher/issues/43891",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: r#"DaemonSet kube-system/aws-cloud-controller-manager selects none of 6 nodes: none has node-role.kubernetes.io/control-plane: """#,
    migration: Some(Prerequisite::Controller),
    stops_workloads: true,
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        let is_elsewhere = !controller.is_on_nodes() && controller.flag("kubeconfig").is_some();
        if controller.workload.kind == WorkloadKind::Pod || is_elsewhere {
            return None;
        }
        let nodes = nodes(context, controller)?;
        // `ccm-helm-selector-merged` reports keys that the values of a chart leave in place.
        let is_merged = controller.chart.as_ref().is_some_and(|chart| chart.own_selector_left.is_some());
        let selects = nodes.iter().any(|node| controller.workload.selects(node));
        if nodes.is_empty() || selects || (is_merged && super::ccm_helm_selector_merged::has_role_key(controller)) {
            return None;
        }
        let name = controller.name();
        let selector = selector(controller);
        let message = format!(
            "{} selects none of {}: none has {}",
            text::printable(&name),
            text::count(nodes.len(), "node"),
            text::printable(&selector)
        );
        let labels = nodes.iter().flat_map(|node| &node.labels);
        let mut roles: Vec<String> = labels
            .filter(|(key, _)| {
                let role = key.strip_prefix("node-role.kubernetes.io/");
                role.is_some_and(|role| ["control-plane", "controlplane", "master"].contains(&role))
            })
            .map(|(key, value)| format!("`{key}: \"{value}\"`"))
            .collect();
        roles.sort();
        roles.dedup();
        let fix = match roles.as_slice() {
            [] => "no node has a control-plane label: select a label that the intended nodes have".to_owned(),
            roles => format!("the control-plane nodes have {}: select that", text::list(roles, 3)),
        };
        let place = controller.workload.node_selector.first().map_or(controller.place(), |(key, _)| &key.place);
        Some(on(controller, Severity::Error, place, message, fix))
    })
    .unless(nodes_not_given(context))
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
      nodeSelector:
        node-role.kubernetes.io/master: 'true'
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
---
kind: Node
metadata:
  name: cn-hangzhou.i-1
status:
  nodeInfo:
    kubeletVersion: v1.30.1
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
            "name: cn-hangzhou.i-1\n",
            "name: cn-hangzhou.i-1\n  labels:\n    node-role.kubernetes.io/master: \"true\"\n",
        );
    }
}
