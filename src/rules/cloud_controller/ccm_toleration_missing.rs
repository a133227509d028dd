use crate::kubernetes::{UNINITIALIZED, WorkloadKind};
use crate::nodes::Taint;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_audited, is_passing, nodes, nodes_not_given, on, uninitialized};

pub(super) const RULE: Rule = Rule {
    id: "ccm-toleration-missing",
    title: "the cloud controller does not tolerate the taints of its nodes",
    severity: RuleSeverity::depends(Severity::Error, "error; warning if some nodes accept it"),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller does not tolerate `node.cloudprovider.kubernetes.io/uninitialized`, which new nodes have until it initialises them, or a taint of the nodes that it selects. Temporary taints, such as those for pressure, do not count.",
    impact: "none of its pods runs on such nodes: new nodes are not initialised, and Services get no load balancer",
    fix: "Tolerate with `operator: Exists`: control-plane taints have no value with kubeadm, kOps and Rancher, and `true` with RKE. Rancher machines with the role etcd also have `node-role.kubernetes.io/etcd:NoExecute`.",
    sources: &[
        "https://github.com/rancher/rancher/issues/43891",
        "kubernetes/api core/v1/toleration.go#ToleratesTaint",
        "kubernetes/kubernetes pkg/controller/daemon/util/daemonset_util.go#AddOrUpdateDaemonPodTolerations",
        "rancher/rancher pkg/capr/planner",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager does not tolerate node-role.kubernetes.io/etcd:NoExecute, set on all 3 nodes that it selects",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        let workload = &controller.workload;
        // Static pods and pods for a named node bypass the scheduler; a controller with a kubeconfig for another API
        // server serves another cluster than the one that runs it.
        let is_elsewhere = !controller.is_on_nodes() && controller.flag("kubeconfig").is_some();
        if workload.kind == WorkloadKind::Pod || is_elsewhere {
            return None;
        }
        let place = controller.chart.as_ref().and_then(|chart| chart.tolerations.as_ref());
        let place = place.unwrap_or(if controller.chart.is_some() { controller.place() } else { &workload.pod_place });
        let name = controller.name();
        let name = text::printable(&name);
        if workload.is_kept_away_by(&uninitialized()) {
            let message = format!("{name} does not tolerate {UNINITIALIZED}, which every new node has");
            let fix = format!("add the toleration `key: {UNINITIALIZED}`, `operator: Exists`");
            return Some(on(controller, Severity::Error, place, message, fix));
        }
        let nodes = nodes(context, controller)?;
        let selected: Vec<_> = nodes.iter().filter(|node| workload.selects(node)).collect();
        let keeps_away = |taint: &&Taint| !is_passing(taint) && workload.is_kept_away_by(taint);
        let blocked: Vec<_> =
            selected.iter().filter(|node| node.taints.iter().any(|taint| keeps_away(&taint))).collect();
        if blocked.is_empty() {
            return None;
        }
        let is_nowhere = blocked.len() == selected.len();
        if !is_nowhere && !controller.is_on_nodes() {
            return None;
        }
        let taints = blocked.iter().flat_map(|node| node.taints.iter().filter(keeps_away));
        let mut taints: Vec<String> = taints
            .map(|taint| {
                let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
                format!("{}{value}:{}", taint.key, taint.effect)
            })
            .collect();
        taints.sort();
        taints.dedup();
        let (number, severity) = match (is_nowhere, selected.len()) {
            (true, 1) => ("the one node".to_owned(), Severity::Error),
            (true, all) => (format!("all {all} nodes"), Severity::Error),
            (false, all) => (format!("{} of {all} nodes", blocked.len()), Severity::Warning),
        };
        let message = format!("{name} does not tolerate {}, set on {number} that it selects", text::list(&taints, 3));
        let fix = "tolerate these taints by key, with `operator: Exists`";
        Some(on(controller, severity, place, message, fix))
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
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      tolerations: []
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
---
kind: Node
metadata:
  name: control-1
spec:
  providerID: aws:///eu-west-1a/i-0a
status:
  nodeInfo:
    kubeletVersion: v1.33.2
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "tolerations: []", "tolerations:\n      - operator: Exists");
    }
}
