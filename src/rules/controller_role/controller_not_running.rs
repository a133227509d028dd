use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::aws::companions::{CompanionRun, companions};
use crate::kubernetes::{Evidence, Workload, WorkloadKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "controller-not-running",
    title: "no Pod of a controller runs",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A Deployment of a controller (AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns) wants Pods, none is ready, and a Pod states why: its image cannot be pulled, its container fails again and again or cannot be created, or no node takes it.",
    impact: "nothing does the work of the controller: load balancers, volumes or nodes are not created, changed or removed",
    fix: "Remove the cause that the Pod states.",
    sources: &["Kubernetes documentation, Debug Pods"],
    example: "Deployment kube-system/aws-load-balancer-controller (AWS Load Balancer Controller 2.13.4) has 0 of 2 Pods ready: ImagePullBackOff",
    ..Rule::evidence(AWS, check)
};

/// Reasons that do not pass by themselves. Source: kubernetes/kubernetes `pkg/kubelet/images/types.go`,
/// `pkg/kubelet/kuberuntime/kuberuntime_container.go`.
const LASTING: [&str; 7] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions(context.evidence) {
        let Some(status) = &run.workload.status else { continue };
        checked += 1;
        let reasons = reasons(&run, context.evidence);
        if status.ready > 0 || status.desired == 0 || reasons.is_empty() {
            continue;
        }
        let name = run.workload.full_name();
        let reasons: Vec<&str> = reasons.into_iter().collect();
        let message = format!(
            "{} ({}) has 0 of {} ready: {}",
            text::printable(&name),
            run.label(),
            text::count(usize::try_from(status.desired).unwrap_or_default(), "Pod"),
            text::printable(&reasons.join("; "))
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let fix = Fix::none(format!(
            "remove the cause; `kubectl describe pods` and `kubectl logs` in namespace {} show more",
            text::printable(&run.workload.namespace)
        ));
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&run.workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no controller of a live cluster was given");
    }
    CheckResult::counted(checked, found)
}

/// Time that a new Pod may take.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// True for the name of a Pod of a Deployment: two parts follow.
fn is_pod_name(pod: &str, deployment: &str) -> bool {
    let rest = pod.strip_prefix(deployment).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| rest.matches('-').count() == 1)
}

/// Lasting reasons that the Pods of a controller state.
fn reasons<'e>(run: &CompanionRun<'_>, evidence: &'e Evidence) -> BTreeSet<&'e str> {
    let now = evidence.known_time();
    let is_new = |pod: &Workload| match (pod.created_at, now) {
        (Some(created), Some(now)) => now.duration_since(created) < GRACE,
        _ => false,
    };
    let pods = evidence.workloads.iter().filter(|pod| {
        pod.kind == WorkloadKind::Pod
            && pod.namespace == run.workload.namespace
            && pod.service_account == run.workload.service_account
            && is_pod_name(&pod.name, &run.workload.name)
    });
    let of_pod = |pod: &'e Workload| {
        let status = pod.status.as_ref();
        let waiting = status.into_iter().flat_map(|status| &status.waiting).map(String::as_str);
        let waiting = waiting.filter(|reason| LASTING.contains(reason));
        // A new node may take it soon.
        let refused = status.and_then(|status| status.unschedulable.as_deref()).filter(|_| !is_new(pod));
        waiting.chain(refused)
    };
    pods.flat_map(of_pod).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
  uid: a-1
spec:
  replicas: 2
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.58.0
status:
  replicas: 2
  unavailableReplicas: 2
---
apiVersion: v1
kind: Pod
metadata:
  name: ebs-csi-controller-0a-x1
  namespace: kube-system
  uid: a-2
  ownerReferences:
  - kind: ReplicaSet
    name: ebs-csi-controller-0
spec:
  containers:
  - image: registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.58.0
status:
  containerStatuses:
  - name: ebs-plugin
    state:
      waiting:
        reason: CrashLoopBackOff
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        let unschedulable =
            "conditions:\n  - type: PodScheduled\n    status: 'False'\n    message: 0/3 nodes are available";
        lint::fires(&RULE, &DEFECT.replace("containerStatuses:", &format!("{unschedulable}\n  others:")));
    }

    #[test]
    fn silent() {
        // It may still start.
        lint::silent(&RULE, DEFECT, "CrashLoopBackOff", "ContainerCreating");
        lint::silent(&RULE, DEFECT, "unavailableReplicas: 2", "readyReplicas: 1");
    }
}
