use crate::kubernetes::{is_false, is_no, is_true};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-internal-value",
    title: "an unexpected value makes a load balancer internal",
    severity: RuleSeverity::depends(Severity::Error, "error; warning if the value is unusual and means yes"),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller creates an internal load balancer for every value of `aws-load-balancer-internal` that is neither empty nor exactly `false`. Values that read as no are errors; others except `true`, `false` and the old `0.0.0.0/0` are warnings. The AWS Load Balancer Controller accepts only booleans.",
    impact: "the load balancer is internal, but should be reachable from the internet",
    fix: r#"Set it to `"true"`, or remove the annotation."#,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes-sigs/aws-load-balancer-controller pkg/annotations/parser.go#ParseBoolAnnotation",
    ],
    example: "Service shop/web has `aws-load-balancer-internal: False`, which makes it internal",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        const SUFFIX: &str = "aws-load-balancer-internal";
        let Some(internal) = value(service, SUFFIX) else { return Vec::new() };
        let name = service.full_name();
        let (name, shown) = (text::printable(&name), text::printable(internal));
        let (severity, message, impact) = match owner {
            Owner::Classic | Owner::Network => {
                let reads_as_no = is_false(internal) || is_no(internal);
                let (severity, impact) = match internal {
                    "" | "false" | "true" | "0.0.0.0/0" => return Vec::new(),
                    _ if reads_as_no => (Severity::Error, None),
                    _ => (Severity::Warning, Some("the load balancer is internal, whatever the value's intent")),
                };
                (severity, format!("Service {name} has `{SUFFIX}: {shown}`, which makes it internal"), impact)
            }
            // With `scheme` it ignores the value.
            Owner::LoadBalancerController
                if !is_true(internal)
                    && !is_false(internal)
                    && value(service, "aws-load-balancer-scheme").is_none() =>
            {
                let message =
                    format!("Service {name} has `{SUFFIX}: {shown}`, which the AWS Load Balancer Controller refuses");
                (Severity::Error, message, Some("the Service gets no load balancer"))
            }
            Owner::LoadBalancerController | Owner::OtherClass | Owner::Nobody => return Vec::new(),
        };
        let impact = impact.map(str::to_owned);
        let fix = "set it to `\"true\"` or `\"false\"`";
        vec![on(service, Some(SUFFIX), severity, message, fix).impact(impact)]
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
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-internal: "False"
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\"False\"", "\"false\"");
    }
}
