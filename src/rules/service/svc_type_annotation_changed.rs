use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{CLEANUP, Owner, RESOURCES, kind_of_host, of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "svc-type-annotation-changed",
    title: "the kind of load balancer was changed after it was made",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The host name of a Service is that of another kind of load balancer than its annotations ask for now, or the cloud controller has made one for a Service that now asks for the AWS Load Balancer Controller.",
    impact: "up to the cloud controller 1.35 a second load balancer is made and the first one is left over; from 1.36 on the Service is not updated any more: `cannot update Load Balancer Type annotation`",
    fix: "Put the annotation back, or make a new Service and move the traffic there.",
    sources: &[
        "https://github.com/kubernetes/cloud-provider-aws/issues/1254",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go",
    ],
    example: "Service shop/web asks for a Network Load Balancer, and its host name is that of a Classic Load Balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |service, owner| {
        let name = service.full_name();
        let name = text::printable(&name);
        let has = |finalizer: &str| service.finalizers.iter().any(|found| found == finalizer);
        let message = match (owner, kind_of_host(service)) {
            (Owner::Classic | Owner::Network, Some(made)) if made != owner && !has(RESOURCES) => format!(
                "Service {name} asks for {}, and its host name is that of {}",
                owner.load_balancer(),
                made.load_balancer()
            ),
            (Owner::LoadBalancerController, Some(_)) if has(CLEANUP) && !has(RESOURCES) => {
                format!(
                    "Service {name} asks for the AWS Load Balancer Controller, and the cloud controller has made its load balancer"
                )
            }
            _ => return Vec::new(),
        };
        let fix = "put the annotation back, or make a new Service and move the traffic there";
        vec![on(service, Some("aws-load-balancer-type"), Severity::Error, message, fix)]
    })
}
