use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-type-value-unknown",
    title: "an unknown kind of load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "`aws-load-balancer-type` is not `nlb`, `nlb-ip` or `external`.",
    impact: "the cloud controller creates a Classic Load Balancer without a warning",
    fix: "Set `nlb` for a Network Load Balancer of the cloud controller, `external` for one of the AWS Load Balancer Controller, or remove the annotation for a Classic one. Application Load Balancers are for Ingresses.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#isNLB",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#isLBExternal",
    ],
    example: "Service shop/web requests the type `NLB`, but gets a Classic Load Balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let Some(kind) = value(service, "aws-load-balancer-type").filter(|_| owner == Owner::Classic) else {
            return Vec::new();
        };
        let name = service.full_name();
        let (name, shown) = (text::printable(&name), text::printable(kind));
        let message = if kind.is_empty() {
            format!("Service {name} has an empty type, and gets a Classic Load Balancer")
        } else {
            format!("Service {name} requests the type `{shown}`, but gets a Classic Load Balancer")
        };
        let fix = match kind.to_ascii_lowercase().as_str() {
            "nlb" | "network" | "nlb-instance" => "set it to `nlb`",
            "alb" | "application" => "use an Ingress for an Application Load Balancer, or set it to `nlb`",
            _ => "set it to `nlb` or `external`, or remove the annotation",
        };
        vec![on(service, Some("aws-load-balancer-type"), Severity::Warning, message, fix)]
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
    service.beta.kubernetes.io/aws-load-balancer-type: NLB
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "type: NLB", "type: nlb");
    }
}
