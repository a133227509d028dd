use crate::kubernetes::{WorkloadKind, is_false};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_audited, nodes, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-no-leader-election",
    title: "several cloud controllers act at once",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller is started with `--leader-elect=false` as a DaemonSet, or as a Deployment with more than one replica.",
    impact: "each pod creates and changes the same load balancers: Services get two of them, and changes undo each other",
    fix: "Remove `--leader-elect=false`, or run one pod.",
    sources: &["kubernetes/cloud-provider app/controllermanager.go#Run"],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--leader-elect=false`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        let flag = controller.flag("leader-elect").filter(|flag| is_false(&flag.value))?;
        let workload = &controller.workload;
        let is_one = match workload.kind {
            WorkloadKind::DaemonSet => false,
            WorkloadKind::Deployment | WorkloadKind::StatefulSet => workload.replicas <= 1,
            WorkloadKind::Pod => true,
        };
        // A control plane with a single node has one pod.
        let runs_on =
            nodes(context, controller).map(|nodes| nodes.iter().filter(|node| workload.selects(node)).count());
        if is_one || workload.kind == WorkloadKind::DaemonSet && runs_on == Some(1) {
            return None;
        }
        let name = controller.name();
        let message = format!("{} has `--leader-elect=false`", text::printable(&name));
        Some(on(controller, Severity::Error, &flag.place, message, "remove `--leader-elect=false` from its arguments"))
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
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --leader-elect=false
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "=false", "=true");
    }
}
