use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{Effect, OF_CLOUD_CONTROLLER};

use super::{Owner, of_each, on, strictest_version, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-no-effect",
    title: "an annotation does nothing for this kind of load balancer",
    severity: RuleSeverity::depends(Severity::Warning, "warning; error where it is refused"),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller reads the annotation only for the other kind of load balancer: `proxy-protocol` and connection settings for Classic ones, addresses for Network Load Balancers. Some it refuses: attributes of target groups on a Classic one, and from 1.35 on `security-groups` and `extra-security-groups` on a Network Load Balancer, whatever `NLBSecurityGroupMode` of its cloud configuration is. Of `backend-protocol` a Classic one without a certificate knows `http` alone, and a Network Load Balancer `ssl`, with a certificate.",
    impact: "the load balancer is made without it, and nothing says so; where it is refused, the Service is not updated",
    fix: "Take it out, or use the other kind of load balancer. Proxy protocol of a Network Load Balancer is `aws-load-balancer-target-group-attributes: proxy_protocol_v2.enabled=true`.",
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
    of_each(context, |service, owner| {
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
                Effect::Refused(since) => (
                    Severity::Warning,
                    format!("does nothing, and is refused from the cloud controller 1.{since} on, for"),
                ),
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
                    "write `service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: proxy_protocol_v2.enabled=true`, from the cloud controller 1.34 on"
                }
                _ => "take it out, or use the other kind of load balancer in a new Service",
            };
            found.push(on(service, Some(known.suffix), severity, message, fix));
        }
        found.extend(backend_protocol(service, owner));
        found
    })
}

/// A protocol behind the load balancer that asks for TLS there, and is not read.
/// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildListener`, `#EnsureLoadBalancer`.
fn backend_protocol(service: &Service, owner: Owner) -> Option<Violation> {
    const SUFFIX: &str = "aws-load-balancer-backend-protocol";
    let given = value(service, SUFFIX).filter(|_| owner.is_cloud_controller())?;
    let has_certificate = value(service, "aws-load-balancer-ssl-cert").is_some_and(|arn| !arn.is_empty());
    // What it is without the annotation, it may be called.
    let is_plain = ["", "tcp", "http"].contains(&given);
    let (why, fix) = match owner {
        Owner::Network if !is_plain && given != "ssl" => {
            ("for a Network Load Balancer, which knows `ssl` alone", "write `ssl`, or take it out")
        }
        _ if !is_plain && !has_certificate => (
            "without `aws-load-balancer-ssl-cert`",
            "name a certificate in `aws-load-balancer-ssl-cert`, or take it out",
        ),
        _ => return None,
    };
    let given = text::printable(given);
    let name = service.full_name();
    let message = format!(
        "Service {} has `{SUFFIX}: {given}`, which does nothing to its listeners {why}",
        text::printable(&name)
    );
    Some(on(service, Some(SUFFIX), Severity::Warning, message, fix))
}
