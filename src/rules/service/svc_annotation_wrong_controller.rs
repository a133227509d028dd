use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{PREFIX, cloud_controller_annotation, is_load_balancer_controller_only};

use super::{Owner, for_each_service, on};

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-wrong-controller",
    title: "an annotation is for a controller other than the Service's",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a load balancer that should be internal is public",
    ),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has an annotation that only the AWS Load Balancer Controller reads, or vice versa. It is an error if the Service should be internal (`aws-load-balancer-scheme: internal`) but is not.",
    impact: "the Service's controller ignores it",
    fix: "Use the annotation that the Service's controller reads, or re-create the Service for the other controller.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go",
        "kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go",
        "kubernetes-sigs/aws-load-balancer-controller docs/guide/service/annotations.md",
    ],
    example: "Service shop/web is for the cloud controller, which does not read aws-load-balancer-scheme: its load balancer is internet-facing",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let mut found = Vec::new();
        for (key, value) in &service.annotations {
            let Some(suffix) = key.strip_prefix(PREFIX) else { continue };
            let name = service.full_name();
            let name = text::printable(&name);
            let is_foreign = match owner {
                Owner::Classic | Owner::Network => is_load_balancer_controller_only(suffix),
                Owner::LoadBalancerController => {
                    cloud_controller_annotation(suffix).is_some_and(|known| !known.is_shared)
                }
                Owner::OtherClass | Owner::Nobody => false,
            };
            if !is_foreign {
                continue;
            }
            let (reads, meant) = if owner.is_cloud_controller() {
                ("the cloud controller", "the AWS Load Balancer Controller")
            } else {
                ("the AWS Load Balancer Controller", "the cloud controller")
            };
            let internal = super::value(service, "aws-load-balancer-internal");
            let is_public = suffix == "aws-load-balancer-scheme"
                && value == "internal"
                && internal.is_none_or(|value| value.is_empty() || value == "false");
            let message = format!("Service {name} is for {reads}, which does not read {suffix}");
            let instead = match suffix {
                "aws-load-balancer-scheme" if owner.is_cloud_controller() => {
                    "write `service.beta.kubernetes.io/aws-load-balancer-internal: \"true\"` for an internal one"
                        .to_owned()
                }
                _ => format!("remove it, or re-create the Service for {meant}"),
            };
            found.push(if is_public {
                let message = format!("{message}: its load balancer is internet-facing");
                on(service, Some(suffix), Severity::Error, message, instead)
                    .impact(Some("the load balancer is reachable from the internet, but should be internal".to_owned()))
            } else {
                on(service, Some(suffix), Severity::Warning, message, instead)
            });
        }
        found
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
    service.beta.kubernetes.io/aws-load-balancer-scheme: internal
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "scheme: internal", "internal: \"true\"");
    }
}
