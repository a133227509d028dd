use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::aws::companions::companions;
use crate::inventory::Provider;
use crate::kubernetes::pod::Event;
use crate::kubernetes::{Evidence, Workload, WorkloadKind};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "controller-not-running",
    title: "no Pod of a controller runs",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "A Deployment or DaemonSet of a controller (cloud controller, Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns, VPC CNI) wants Pods, none is ready, and a Pod or an event states why: its image cannot be pulled, its container fails again and again or cannot be created, no node takes it, its volumes cannot be mounted, its network cannot be set up, or no Pod can be created. Events count if they were repeated within the last 20 minutes: about Pods older than five minutes of which no container has started, and about a workload without Pods.",
    impact: "nothing does the work of the controller: its load balancers, volumes, nodes or addresses of Pods are not created, changed or removed, and without the cloud controller new Nodes keep the taint `uninitialized`",
    fix: "Remove the cause that the Pod states.",
    sources: &[
        "Kubernetes documentation, Debug Pods",
        "kubernetes/kubernetes pkg/kubelet/events/event.go",
        "kubernetes/kubernetes pkg/kubelet/kubelet.go#SyncPod",
        "kubernetes/kubernetes pkg/controller/controller_utils.go#FailedCreatePodReason",
    ],
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
        let reasons: Vec<String> = reasons.into_iter().collect();
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

/// Lasting reasons that the Pods of a controller state, or events about them.
fn reasons(workload: &Workload, evidence: &Evidence) -> BTreeSet<String> {
    let is_its_pod = |pod: &&Workload| {
        pod.kind == WorkloadKind::Pod
            && pod.namespace == workload.namespace
            && pod.service_account == workload.service_account
            && is_pod_name(&pod.name, workload)
    };
    let pods: Vec<&Workload> = evidence.workloads.iter().filter(is_its_pod).collect();
    let of_pod = |pod: &&Workload| {
        let status = pod.status.as_ref();
        let waiting = status.into_iter().flat_map(|status| &status.waiting).cloned();
        let waiting: Vec<String> = waiting.filter(|reason| LASTING.contains(&reason.as_str())).collect();
        // A new node may take it soon.
        let refused = status.and_then(|status| status.unschedulable.clone()).filter(|_| !evidence.is_recent(pod));
        waiting.into_iter().chain(refused)
    };
    let of_workload = workload.status.iter().flat_map(|status| &status.stuck).cloned();
    let stated: BTreeSet<String> = pods.iter().flat_map(of_pod).chain(of_workload).collect();
    if stated.is_empty() { of_events(workload, &pods, evidence) } else { stated }
}

/// Time within which a component repeats an event as long as its cause lasts: the longest pause is that of a controller that
/// creates Pods, 1,000 seconds. Source: kubernetes/client-go `util/workqueue/default_rate_limiters.go`.
const REPEATED_WITHIN: SignedDuration = SignedDuration::from_mins(20);

/// Longest message of an event that is shown, in characters.
const SHOWN: usize = 240;

/// Time that a Pod has to start.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// The newest event of each reason about the Pods of a controller, or about what should create them if there are none. Volumes
/// and the network of a Pod are there before its first container starts.
fn of_events(workload: &Workload, pods: &[&Workload], evidence: &Evidence) -> BTreeSet<String> {
    let is_unstarted = |pod: &&&Workload| pod.status.as_ref().is_some_and(|status| status.is_unstarted);
    let unstarted: BTreeMap<&str, &Workload> =
        pods.iter().filter(is_unstarted).map(|pod| (pod.name.as_str(), *pod)).collect();
    let has_pods = !pods.is_empty() || workload.status.as_ref().is_none_or(|status| status.existing > 0);
    // The Pod that an event is about, if it is about one.
    let subject = |event: &Event| -> Option<Option<&Workload>> {
        let about = &event.involved_object;
        if about.namespace != workload.namespace {
            return None;
        }
        match (about.kind.as_str(), event.reason.as_str()) {
            ("Pod", "FailedAttachVolume" | "FailedCreatePodSandBox" | "FailedMount") => {
                let pod = *unstarted.get(about.name.as_str())?;
                // A Pod of a StatefulSet has the name of its predecessor.
                let is_same = pod.uid.is_empty() || about.uid.is_empty() || pod.uid == about.uid;
                is_same.then_some(Some(pod))
            }
            (kind, "FailedCreate") => (!has_pods && is_creator(kind, &about.name, workload)).then_some(None),
            _ => None,
        }
    };
    let found = evidence.events.iter().filter_map(|event| {
        let pod = subject(event)?;
        Some((event.last_seen()?, event, pod))
    });
    let found: Vec<(Timestamp, &Event, Option<&Workload>)> = found.collect();
    // Events of other objects may have any time.
    let now = evidence.known_time().max(found.iter().map(|(seen, ..)| *seen).max());
    let age = |at: Timestamp| now.map(|now| now.duration_since(at));
    let mut newest: BTreeMap<&str, (Timestamp, &str)> = BTreeMap::new();
    for (seen, event, pod) in found {
        let is_new = pod.and_then(|pod| age(pod.created_at?)).is_some_and(|age| age < GRACE);
        if is_new || age(seen).is_none_or(|age| age >= REPEATED_WITHIN) {
            continue;
        }
        let one = (seen, event.message.as_str());
        let known = newest.entry(&event.reason).or_insert(one);
        *known = (*known).max(one);
    }
    let shown = |message: &str| message.chars().take(SHOWN).collect::<String>();
    newest.into_iter().map(|(reason, (_, message))| format!("{reason}: {}", shown(message))).collect()
}

/// True for the workload, and for a `ReplicaSet` of it.
fn is_creator(kind: &str, name: &str, workload: &Workload) -> bool {
    let rest = name.strip_prefix(workload.name.as_str());
    match workload.kind {
        WorkloadKind::Deployment => {
            let hash = rest.and_then(|rest| rest.strip_prefix('-'));
            kind == "ReplicaSet" && hash.is_some_and(|hash| !hash.is_empty() && !hash.contains('-'))
        }
        kind_of_workload => kind == kind_of_workload.name() && rest == Some(""),
    }
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

    /// A Pod that waits for its volumes states no reason; a `DaemonSet` states none if no Pod can be created.
    #[test]
    fn events_state_what_pods_do_not() {
        let event = |kind: &str, name: &str, reason: &str, at: &str| {
            format!(
                "---\napiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: kube-system}}\ninvolvedObject: {{kind: {kind}, namespace: kube-system, name: {name}}}\ntype: Warning\nreason: {reason}\nmessage: secret tls not found\nlastTimestamp: '{at}'\n"
            )
        };
        let waits = DEFECT.replace("CrashLoopBackOff", "ContainerCreating");
        let waits = waits.replace("  uid: a-2\n", "  uid: a-2\n  creationTimestamp: '2026-11-01T10:00:00Z'\n");
        let of_pod = |reason: &str| event("Pod", "ebs-csi-controller-0a-x1", reason, "2026-11-01T12:00:00Z");
        let fires = |manifests: &str| {
            lint::findings(&[&RULE], manifests).into_iter().map(|one| one.message).collect::<Vec<_>>()
        };
        let found = fires(&format!("{waits}{}", of_pod("FailedMount")));
        assert!(found.len() == 1 && found[0].ends_with(": FailedMount: secret tls not found"), "{found:?}");
        // Reasons that pass, other Pods, and what is over.
        for other in [
            of_pod("Unhealthy"),
            event("Pod", "ebs-csi-controller-0a-x2", "FailedMount", "2026-11-01T12:00:00Z"),
            event("ReplicaSet", "ebs-csi-controller-0a", "FailedCreate", "2026-11-01T12:00:00Z"),
            format!(
                "---\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: a, namespace: kube-system}}\nspec: {{renewTime: '2026-11-01T12:30:00Z'}}\n{}",
                of_pod("FailedMount")
            ),
        ] {
            assert_eq!(fires(&format!("{waits}{other}")), [""; 0], "{other}");
        }
        // What was true before a container started, and an object of the same name.
        let started = waits.replace(
            "      waiting:\n        reason: ContainerCreating",
            "      running: {startedAt: '2026-11-01T12:05:00Z'}",
        );
        assert_ne!(started, waits);
        assert_eq!(fires(&format!("{started}{}", of_pod("FailedMount"))), [""; 0]);
        let before = of_pod("FailedMount")
            .replace("namespace: kube-system, name: ebs", "uid: z, namespace: kube-system, name: ebs");
        assert_eq!(fires(&format!("{waits}{before}")), [""; 0]);
        // One that cannot be read, and one of another time, hide no other.
        let others = format!(
            "{}{}",
            event("Node", "x", "Y", "2099-01-01T00:00:00Z"),
            of_pod("x").replace("secret tls not found", "null")
        );
        assert_eq!(fires(&format!("{waits}{others}{}", of_pod("FailedMount"))).len(), 1);
        // A Pod that has just been created.
        let lease = "---\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a, namespace: kube-system}\nspec: {renewTime: '2026-11-01T12:00:00Z'}\n";
        let new = waits.replace("2026-11-01T10:00:00Z", "2026-11-01T11:58:00Z");
        assert_eq!(fires(&format!("{new}{lease}{}", of_pod("FailedMount"))), [""; 0]);
        // Without a Pod.
        let (deployment, _) = DEFECT.split_once("---").unwrap();
        let none = "  conditions: [{type: Available, status: 'False'}]\n  unavailableReplicas: 2";
        let of_others = deployment;
        let deployment = &deployment.replace("  replicas: 2\n  unavailableReplicas: 2", none);
        let of_set = event("ReplicaSet", "ebs-csi-controller-0a", "FailedCreate", "2026-11-01T12:00:00Z");
        assert_eq!(fires(&format!("{deployment}{of_set}")).len(), 1);
        assert_eq!(fires(&format!("{of_others}{of_set}")), [""; 0], "its status counts Pods that were not given");
        let of_other = event("ReplicaSet", "ebs-csi-controller-other-0a", "FailedCreate", "2026-11-01T12:00:00Z");
        assert_eq!(fires(&format!("{deployment}{of_other}")), [""; 0]);
        let daemon = deployment.replace("kind: Deployment", "kind: DaemonSet");
        let daemon = daemon.replace(none, "  desiredNumberScheduled: 2\n  numberReady: 0");
        let daemon = daemon.replace("aws-ebs-csi-driver:v1.58.0", "cloud-controller-manager:v1.33.0");
        let of_daemon = event("DaemonSet", "ebs-csi-controller", "FailedCreate", "2026-11-01T12:00:00Z");
        assert_eq!(fires(&format!("{daemon}{of_daemon}")).len(), 1);
    }

    #[test]
    fn silent() {
        // It may still start.
        lint::silent(&RULE, DEFECT, "CrashLoopBackOff", "ContainerCreating");
        lint::silent(&RULE, DEFECT, "unavailableReplicas: 2", "readyReplicas: 1");
    }
}
