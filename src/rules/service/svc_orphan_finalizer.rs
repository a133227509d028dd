use jiff::{SignedDuration, Timestamp};

use crate::kubernetes::{CloudController, Service, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::rules::AWS;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::prelude::*;

use super::{CLEANUP, is_on_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "svc-orphan-finalizer",
    title: "a Service's deletion is stuck: no controller removes its load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "A Service with the finalizer `service.kubernetes.io/load-balancer-cleanup` has been in deletion for more than ten minutes, and no cloud controller that runs the service controller is among the workloads. DaemonSets and Deployments of all namespaces must be given.",
    impact: "the Service, its namespace and the load balancer are never deleted",
    fix: "Run a cloud controller until the Service is deleted; if there will never be one, delete the load balancer, then remove the finalizer.",
    sources: &["kubernetes/cloud-provider controllers/service/controller.go#processServiceDeletion"],
    example: "Service shop/web has been in deletion for 3 hours, and no cloud controller removes its load balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

/// Grace period before a pending finalizer counts as stuck.
const WAIT: SignedDuration = SignedDuration::from_mins(10);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(services) = &evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    if !evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("DaemonSets and Deployments of all namespaces were not given");
    }
    let mut controllers = evidence.aws_controllers();
    // The in-tree provider removes it as well, inside kube-controller-manager until 1.26.
    let may_be_in_tree =
        evidence.kubernetes_version().is_none_or(|version| version.minor().is_some_and(|minor| minor < 27));
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    // AWS runs the EKS control plane, including its controller.
    let is_eks = nodes.iter().any(KubernetesNode::is_eks);
    let runs = may_be_in_tree
        || is_eks
        || controllers.any(|controller| controller.runs(&CloudController::SERVICE) && !controller.is_nowhere(nodes));
    let now = evidence.known_time();
    let orphan = |service: &Service| {
        let deleted: Timestamp = service.deleted_at.as_deref()?.parse().ok()?;
        let age = now?.duration_since(deleted);
        if runs || age <= WAIT || !service.finalizers.iter().any(|one| one == CLEANUP) || !is_on_aws(context, service) {
            return None;
        }
        let since = text::lasted(age);
        let name = service.full_name();
        let message = format!(
            "Service {} has been in deletion for {since}, and no cloud controller removes its load balancer",
            text::printable(&name)
        );
        Some(on(service, None, Severity::Warning, message, "run a cloud controller until the Service is deleted"))
    };
    let why = evidence.kubernetes_version().is_none().then_some("the version of Kubernetes is not known");
    CheckResult::counted(services.len(), services.iter().filter_map(orphan)).unless(why)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: control-1
status:
  nodeInfo:
    kubeletVersion: v1.31.4
---
kind: DaemonSet
metadata:
  name: kube-proxy
spec:
  template:
    spec: {}
---
kind: Deployment
metadata:
  namespace: kube-system
  name: coredns
  uid: w-dns
spec:
  template:
    spec: {}
---
kind: Service
metadata:
  name: web
  deletionTimestamp: '2026-01-05T07:00:00Z'
  finalizers:
  - service.kubernetes.io/load-balancer-cleanup
status:
  loadBalancer:
    ingress:
    - hostname: as1-1.us-east-1.elb.amazonaws.com
---
apiVersion: coordination.k8s.io/v1
kind: Lease
spec:
  renewTime: '2026-01-05T10:00:00.000000Z'
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
            "deletionTimestamp: '2026-01-05T07:00:00Z'",
            "deletionTimestamp: '2026-01-05T09:58:00Z'",
        );
    }
}
