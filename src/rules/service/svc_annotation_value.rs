use crate::kubernetes::Service;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{Effect, OF_CLOUD_CONTROLLER, PREFIX, load_balancer_controller, wrong};

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-value",
    title: "the controller rejects an annotation's value",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The Service's controller (the cloud controller or the AWS Load Balancer Controller) does not accept an annotation's value. The value is not a boolean or a number where one is required, or Elastic Load Balancing does not accept it. Or the value is an unknown protocol, scheme or attribute, a name that is too long, a map without `=`, or an empty list of subnets.",
    impact: "the Service gets no load balancer, or its load balancer is not updated: the event reports `error parsing service annotation`, or another reason",
    fix: "Correct the value.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_validations.go",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_load_balancer.go, model_build_target_group.go, model_build_listener.go",
        "kubernetes-sigs/aws-load-balancer-controller pkg/annotations/parser.go",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#parseBoolAnnotation",
    ],
    example: "Service shop/web has `aws-load-balancer-healthcheck-interval: 3`, which is below 5",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        if owner == Owner::LoadBalancerController {
            return of_load_balancer_controller(service);
        }
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for known in &OF_CLOUD_CONTROLLER {
            let Some(given) = read_value(service, known.suffix) else { continue };
            let effect = if owner == Owner::Network { known.network } else { known.classic };
            let Some(why) = wrong(known, given, owner == Owner::Network).filter(|_| effect == Effect::Used) else {
                continue;
            };
            let name = service.full_name();
            let (name, given) = (text::printable(&name), text::printable(given));
            let message = format!("Service {name} has `{}: {given}`, which {why}", known.suffix);
            found.push(on(service, Some(known.suffix), Severity::Error, message, "correct the value"));
        }
        found.extend(backend_protocol(service, owner));
        found.extend(client_address(service, owner));
        found
    })
}

/// The value of an annotation that is a string.
fn read_value<'s>(service: &'s Service, suffix: &str) -> Option<&'s str> {
    value(service, suffix).filter(|_| !service.not_strings.contains_key(&format!("{PREFIX}{suffix}")))
}

/// Findings on values that the AWS Load Balancer Controller refuses.
fn of_load_balancer_controller(service: &Service) -> Vec<Violation> {
    let strings = service.annotations.iter().filter(|(key, _)| !service.not_strings.contains_key(*key));
    let own = strings.filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value.as_str())));
    let ports: Vec<&str> =
        service.ports.iter().map(|port| port.name.as_str()).filter(|name| !name.is_empty()).collect();
    let name = service.full_name();
    let found = load_balancer_controller::wrong(
        own,
        |suffix| value(service, suffix),
        &ports,
        !service.source_ranges.is_empty(),
    );
    found
        .into_iter()
        .map(|(suffix, why)| {
            let given = value(service, suffix).unwrap_or_default();
            let (name, given, why) = (text::printable(&name), text::printable(given), text::printable(&why));
            let message = format!("Service {name} has `{suffix}: {given}`, which {why}");
            let impact = "the AWS Load Balancer Controller does not create or update the Service's load balancer: its event gives the reason";
            on(service, Some(suffix), Severity::Error, message, "correct the value").impact(Some(impact.to_owned()))
        })
        .collect()
}

/// Finding on disabled client IP preservation with UDP ports, which require it.
/// Source: cloud-provider-aws `aws_validations.go#validateServiceAnnotationTargetGroupAttributes`.
fn client_address(service: &Service, owner: Owner) -> Option<Violation> {
    const SUFFIX: &str = "aws-load-balancer-target-group-attributes";
    let given = value(service, SUFFIX).filter(|_| owner == Owner::Network)?;
    let is_off = given.split(',').any(|pair| pair.trim() == "preserve_client_ip.enabled=false");
    if !is_off || !service.ports.iter().any(|port| port.protocol == "UDP") {
        return None;
    }
    let name = service.full_name();
    let message = format!(
        "Service {} has `{SUFFIX}: {}`, which UDP ports do not support",
        text::printable(&name),
        text::printable(given)
    );
    Some(on(service, Some(SUFFIX), Severity::Error, message, "remove `preserve_client_ip.enabled=false`"))
}

/// Finding on the backend protocol of a listener with a certificate.
/// Source: cloud-provider-aws `aws_loadbalancer.go#getListener`.
fn backend_protocol(service: &Service, owner: Owner) -> Option<Violation> {
    const SUFFIX: &str = "aws-load-balancer-backend-protocol";
    let given = value(service, SUFFIX).filter(|_| owner == Owner::Classic)?;
    value(service, "aws-load-balancer-ssl-cert")?;
    if ["http", "https", "ssl", "tcp", ""].contains(&given) {
        return None;
    }
    let name = service.full_name();
    let (name, given) = (text::printable(&name), text::printable(given));
    let message = format!("Service {name} has `{SUFFIX}: {given}`, which is not one of http, https, ssl, tcp");
    Some(on(service, Some(SUFFIX), Severity::Error, message, "use one of them in lower case"))
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
    service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled: "yes"
spec:
  type: LoadBalancer
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\"yes\"", "\"true\"");
    }
}
