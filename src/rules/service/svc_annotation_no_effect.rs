use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{Effect, OF_CLOUD_CONTROLLER};

use super::{Owner, for_each_service, on, strictest_version, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-no-effect",
    title: "an annotation does nothing for this kind of load balancer",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error where it is refused"),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller reads the annotation only for the other kind of load balancer: `proxy-protocol` and connection settings for Classic Load Balancers, addresses for Network Load Balancers. It refuses target group attributes on a Classic Load Balancer and, from 1.35 on, `security-groups` and `extra-security-groups` on a Network Load Balancer, regardless of `NLBSecurityGroupMode` in its cloud configuration. As `backend-protocol`, a Classic Load Balancer without a certificate knows only `http`, and a Network Load Balancer only `ssl`, with a certificate.",
    impact: "the load balancer is created without it and without an error; where it is refused, the Service is not updated",
    fix: "Remove it, or use the other kind of load balancer. On a Network Load Balancer, set `aws-load-balancer-target-group-attributes: proxy_protocol_v2.enabled=true` for proxy protocol.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go",
    ],
    example: "Service shop/web has aws-load-balancer-proxy-protocol, which does nothing for a Network Load Balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let version = strictest_version(context);
    let minor = version.and_then(ControllerVersion::minor);
    for_each_service(context, |service, owner| {
        let mut found = Vec::new();
        for known in &OF_CLOUD_CONTROLLER {
            if value(service, known.suffix).is_none() {
                continue;
            }
            let effect = match owner {
                Owner::Classic => known.classic,
                Owner::Network => known.network,
                Owner::LoadBalancerController | Owner::OtherClass | Owner::Nobody => continue,
            };
            let (severity, does) = match effect {
                Effect::Used => continue,
                Effect::Refused(0) => (Severity::Error, "is refused for".to_owned()),
                Effect::Refused(since) if minor.is_some_and(|minor| minor >= since) => {
                    (Severity::Error, "is refused for".to_owned())
                }
                Effect::Refused(since) => {
                    (Severity::Warning, format!("does nothing, and is refused from cloud controller 1.{since} on, for"))
                }
                Effect::Ignored => (Severity::Warning, "does nothing for".to_owned()),
            };
            let name = service.full_name();
            let message = format!(
                "Service {} has {}, which {does} {}",
                text::printable(&name),
                known.suffix,
                owner.load_balancer()
            );
            let fix = match (known.suffix, owner) {
                ("aws-load-balancer-proxy-protocol", _) => {
                    "set `service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: proxy_protocol_v2.enabled=true`, from cloud controller 1.34 on"
                }
                _ => "remove it, or use the other kind of load balancer in a new Service",
            };
            found.push(on(service, Some(known.suffix), severity, message, fix));
        }
        found.extend(backend_protocol(service, owner));
        found
    })
}

/// Finding on a backend protocol that requests TLS and is ignored.
/// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildListener`, `#EnsureLoadBalancer`.
fn backend_protocol(service: &Service, owner: Owner) -> Option<Violation> {
    const SUFFIX: &str = "aws-load-balancer-backend-protocol";
    let given = value(service, SUFFIX).filter(|_| owner.is_cloud_controller())?;
    let has_certificate = value(service, "aws-load-balancer-ssl-cert").is_some_and(|arn| !arn.is_empty());
    // Naming the default protocol is harmless.
    let is_plain = ["", "tcp", "http"].contains(&given);
    let (why, fix) = match owner {
        Owner::Network if !is_plain && given != "ssl" => {
            ("for a Network Load Balancer, which knows only `ssl`", "set it to `ssl`, or remove it")
        }
        _ if !is_plain && !has_certificate => {
            ("without `aws-load-balancer-ssl-cert`", "name a certificate in `aws-load-balancer-ssl-cert`, or remove it")
        }
        _ => return None,
    };
    let given = text::printable(given);
    let name = service.full_name();
    let message = format!(
        "Service {} has `{SUFFIX}: {given}`, which has no effect on its listeners {why}",
        text::printable(&name)
    );
    Some(on(service, Some(SUFFIX), Severity::Warning, message, fix))
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
    service.beta.kubernetes.io/aws-load-balancer-eip-allocations: eipalloc-1
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "spec:", "    service.beta.kubernetes.io/aws-load-balancer-type: nlb\nspec:");
    }
}
