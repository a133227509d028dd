use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{CLEANUP, Owner, RESOURCES, for_each_service, host_kind, on};

pub(super) const RULE: Rule = Rule {
    id: "svc-type-annotation-changed",
    title: "the kind of load balancer was changed after its creation",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service's host name is that of another kind of load balancer than its annotations request now, or the cloud controller created the load balancer of a Service that now requests the AWS Load Balancer Controller.",
    impact: "up to cloud controller 1.35 a second load balancer is created and the first one remains; from 1.36 on the Service is no longer updated: `cannot update Load Balancer Type annotation`",
    fix: "Restore the annotation, or create a new Service and move the traffic there.",
    sources: &[
        "https://github.com/kubernetes/cloud-provider-aws/issues/1254",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go",
    ],
    example: "Service shop/web requests a Network Load Balancer, but its host name is that of a Classic Load Balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let name = service.full_name();
        let name = text::printable(&name);
        let has = |finalizer: &str| service.finalizers.iter().any(|found| found == finalizer);
        let message = match (owner, host_kind(service)) {
            (Owner::Classic | Owner::Network, Some(made)) if made != owner && !has(RESOURCES) => format!(
                "Service {name} requests {}, but its host name is that of {}",
                owner.load_balancer(),
                made.load_balancer()
            ),
            (Owner::LoadBalancerController, Some(_)) if has(CLEANUP) && !has(RESOURCES) => {
                format!(
                    "Service {name} requests the AWS Load Balancer Controller, but the cloud controller created its load balancer"
                )
            }
            _ => return Vec::new(),
        };
        let fix = "restore the annotation, or create a new Service and move the traffic there";
        vec![on(service, Some("aws-load-balancer-type"), Severity::Error, message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: changed
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: nlb
spec:
  type: LoadBalancer
status:
  loadBalancer:
    ingress:
    - hostname: a1-3.eu-west-1.elb.amazonaws.com
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "a1-3.eu-west-1.elb", "a1-3.elb.eu-west-1");
    }
}
