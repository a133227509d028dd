use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{CLEANUP, RESOURCES, for_each_service, on};

pub(super) const RULE: Rule = Rule {
    id: "svc-owned-by-two",
    title: "two controllers created load balancers for one Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service has the finalizer of the cloud controller (`service.kubernetes.io/load-balancer-cleanup`) and that of the AWS Load Balancer Controller (`service.k8s.aws/resources`).",
    impact: "both overwrite its address in turn, and one load balancer remains when the Service is deleted",
    fix: "Create a new Service for one of the two, move the traffic there, and delete this one.",
    sources: &[
        "kubernetes/cloud-provider service/helpers/helper.go#LoadBalancerCleanupFinalizer",
        "kubernetes-sigs/aws-load-balancer-controller controllers/service/service_controller.go",
    ],
    example: "Service shop/web has the finalizers of both controllers",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, _| {
        let has = |finalizer: &str| service.finalizers.iter().any(|found| found == finalizer);
        if !has(CLEANUP) || !has(RESOURCES) {
            return Vec::new();
        }
        let name = service.full_name();
        let message = format!("Service {} has the finalizers of both controllers", text::printable(&name));
        let fix = "create a new Service for one of the two, move the traffic there, and delete this one";
        vec![on(service, None, Severity::Error, message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: Service
metadata:
  name: web
  finalizers:
  - service.kubernetes.io/load-balancer-cleanup
  - service.k8s.aws/resources
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-connection-draining-enabled: "true"
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "  - service.k8s.aws/resources\n", "");
    }
}
