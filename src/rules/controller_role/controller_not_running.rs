use std::collections::BTreeSet;

use crate::aws::companions::companions;
use crate::inventory::Provider;
use crate::kubernetes::{Evidence, Workload, WorkloadKind};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "controller-not-running",
    title: "no Pod of a controller runs",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A Deployment or DaemonSet of a controller (cloud controller, Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns, VPC CNI) wants Pods, none is ready, and a Pod states why: its image cannot be pulled, its container fails again and again or cannot be created, or no node takes it.",
    impact: "nothing does the work of the controller: its load balancers, volumes, nodes or addresses of Pods are not created, changed or removed, and without the cloud controller new Nodes keep the taint `uninitialized`",
    fix: "Remove the cause that the Pod states.",
    sources: &["Kubernetes documentation, Debug Pods"],
    example: "DaemonSet kube-system/cloud-controller-manager (cloud controller 2.14.0) has 0 of 3 Pods ready: CrashLoopBackOff",
    reports_stopped: true,
    ..Rule::evidence(&[Provider::Aws, Provider::Alibaba], check)
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
    let evidence = context.evidence;
    let of_cloud = evidence.controllers().iter().filter(|one| one.workload.kind != WorkloadKind::Pod).map(|one| {
        let label = match one.version {
            Some(version) => format!("cloud controller {version}"),
            None => "cloud controller".to_owned(),
        };
        (&one.workload, label)
    });
    let others = companions(evidence);
    let others = others.iter().map(|run| (run.workload, run.label()));
    let mut checked = 0;
    let mut found = Vec::new();
    for (workload, label) in of_cloud.chain(others) {
        let Some(status) = &workload.status else { continue };
        checked += 1;
        let reasons = reasons(workload, evidence);
        if status.ready > 0 || status.desired == 0 || reasons.is_empty() {
            continue;
        }
        let name = workload.full_name();
        let reasons: Vec<&str> = reasons.into_iter().collect();
        let message = format!(
            "{} ({label}) has 0 of {} ready: {}",
            text::printable(&name),
            text::count(usize::try_from(status.desired).unwrap_or_default(), "Pod"),
            text::printable(&reasons.join("; "))
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let fix = Fix::none(format!(
            "remove the cause; `kubectl describe pods` and `kubectl logs` in namespace {} show more",
            text::printable(&workload.namespace)
        ));
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&workload.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no controller of a live cluster was given");
    }
    CheckResult::counted(checked, found)
}

/// True for the name of a Pod of a workload: two parts follow the name of a Deployment, else one.
fn is_pod_name(pod: &str, workload: &Workload) -> bool {
    let parts = usize::from(workload.kind == WorkloadKind::Deployment);
    let rest = pod.strip_prefix(workload.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| rest.matches('-').count() == parts)
}

/// Lasting reasons that the Pods of a controller state.
fn reasons<'e>(workload: &'e Workload, evidence: &'e Evidence) -> BTreeSet<&'e str> {
    let pods = evidence.workloads.iter().filter(|pod| {
        pod.kind == WorkloadKind::Pod
            && pod.namespace == workload.namespace
            && pod.service_account == workload.service_account
            && is_pod_name(&pod.name, workload)
    });
    let of_pod = |pod: &'e Workload| {
        let status = pod.status.as_ref();
        let waiting = status.into_iter().flat_map(|status| &status.waiting).map(String::as_str);
        let waiting = waiting.filter(|reason| LASTING.contains(reason));
        // A new node may take it soon.
        let refused = status.and_then(|status| status.unschedulable.as_deref()).filter(|_| !evidence.is_recent(pod));
        waiting.chain(refused)
    };
    let of_workload = workload.status.iter().flat_map(|status| &status.stuck).map(String::as_str);
    pods.flat_map(of_pod).chain(of_workload).collect()
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
    fn daemon_sets_of_cloud_controllers_count() {
        let daemon = |image: &str| {
            DEFECT
                .replace("kind: Deployment", "kind: DaemonSet")
                .replace("name: ebs-csi-controller-0a-x1", "name: cloud-controller-manager-x1")
                .replace("name: ebs-csi-controller\n", "name: cloud-controller-manager\n")
                .replace("kind: ReplicaSet", "kind: DaemonSet")
                .replace("  replicas: 2\n  unavailableReplicas: 2", "  desiredNumberScheduled: 3\n  numberReady: 0")
                .replace("registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.58.0", image)
        };
        let aws = daemon("registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0");
        lint::fires(&RULE, &aws);
        lint::fires(&RULE, &daemon("registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager:v2.14.0"));
        lint::silent(&RULE, &aws, "numberReady: 0", "numberReady: 1");
    }

    /// A defect with which no Pod can run is named.
    #[test]
    fn a_cause_that_another_rule_finds_is_named() {
        let manifests = DEFECT
            .replace(
                "aws-ebs-csi-driver:v1.58.0\nstatus:\n  replicas",
                "aws-load-balancer-controller:v2.13.4\n        args: [--ingress-class=alb]\nstatus:\n  replicas",
            )
            .replace("ebs-csi-controller", "aws-load-balancer-controller");
        let rules = [&RULE, crate::rules::find("lbc-cluster-name-missing").unwrap()];
        let found = lint::findings(&rules, &manifests);
        let own = found.iter().find(|finding| finding.rule == RULE.id).unwrap();
        assert!(own.message.ends_with("; it cannot run as it is: see lbc-cluster-name-missing"), "{}", own.message);
        // Alone, it names nothing.
        let alone = lint::findings(&rules[..1], &manifests);
        assert!(alone[0].message.ends_with("CrashLoopBackOff"), "{}", alone[0].message);
    }

    /// No Pod is needed for what the Deployment itself states.
    #[test]
    fn a_deployment_that_is_stuck_counts() {
        let (deployment, _) = DEFECT.split_once("---").unwrap();
        let with = |condition: &str| format!("{}\n  conditions:\n  - {condition}\n", deployment.trim_end());
        let none = with("{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: x}");
        lint::fires(&RULE, &none.replace("  replicas: 2\n  unavailableReplicas: 2\n", "  unavailableReplicas: 2\n"));
        for condition in [
            "{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: x}",
            "{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: serviceaccount not found}",
        ] {
            lint::fires(&RULE, &with(condition));
        }
        lint::silent(
            &RULE,
            &with("{type: Progressing, status: 'True', reason: ReplicaSetUpdated}"),
            "ReplicaSetUpdated",
            "NewReplicaSetAvailable",
        );
    }

    #[test]
    fn silent() {
        // It may still start.
        lint::silent(&RULE, DEFECT, "CrashLoopBackOff", "ContainerCreating");
        lint::silent(&RULE, DEFECT, "unavailableReplicas: 2", "readyReplicas: 1");
    }
}
