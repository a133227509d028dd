use crate::kubernetes::{CloudController, WorkloadKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on};
use crate::model::load_balancer_controller::has_load_balancer_controller;

pub(super) const RULE: Rule = Rule {
    id: "svc-owned-by-nobody",
    title: "no controller creates a Service's load balancer",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service of type `LoadBalancer` has `aws-load-balancer-type: external` without `aws-load-balancer-nlb-target-type: ip` or `instance`. It is also reported if the AWS Load Balancer Controller is not among all workloads, and the Service has the class `service.k8s.aws/nlb` or the only cloud controller runs without its service controller.",
    impact: "its address stays `<pending>` forever, without an event",
    fix: "Add `aws-load-balancer-nlb-target-type`, or install the controller that the Service requests.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/service_utils.go",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#isLBExternal",
        "kubernetes/cloud-provider controllers/service/controller.go#wantsLoadBalancer",
    ],
    example: "Service shop/web leaves its load balancer to the AWS Load Balancer Controller, which requires aws-load-balancer-nlb-target-type",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let knows_workloads = evidence.has_all_workloads(&[WorkloadKind::Deployment]);
    let has_other = has_load_balancer_controller(evidence);
    let mut clouds = evidence.aws_controllers().peekable();
    let is_without =
        knows_workloads && clouds.peek().is_some() && clouds.all(|one| !one.runs(&CloudController::SERVICE));
    for_each_service(context, |service, owner| {
        let name = service.full_name();
        let name = text::printable(&name);
        let (suffix, message, fix) = match owner {
            Owner::Nobody => (
                Some("aws-load-balancer-type"),
                format!(
                    "Service {name} leaves its load balancer to the AWS Load Balancer Controller, which requires aws-load-balancer-nlb-target-type"
                ),
                "add the annotation `service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip`, or `instance`",
            ),
            Owner::LoadBalancerController if knows_workloads && !has_other && service.load_balancer_class.is_some() => {
                (
                    None,
                    format!(
                        "Service {name} has the class `service.k8s.aws/nlb`, but the AWS Load Balancer Controller does not run"
                    ),
                    "install the AWS Load Balancer Controller, or re-create the Service without `loadBalancerClass`",
                )
            }
            Owner::Classic | Owner::Network if is_without && !has_other => (
                None,
                format!("Service {name} is for the cloud controller, whose service controller is switched off"),
                "switch the service controller on (`--controllers`), or install the AWS Load Balancer Controller and re-create the Service for it",
            ),
            _ => return Vec::new(),
        };
        vec![on(service, suffix, Severity::Error, message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: external
spec:
  type: LoadBalancer
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
            "spec:",
            "    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip\nspec:",
        );
    }
}
