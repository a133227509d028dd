use crate::controller::ControllerVersion;
use crate::kubernetes::CloudConfig;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-health-check-overridden",
    title: "the shared health check replaces a Service's own",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "The cloud configuration has `ClusterServiceLoadBalancerHealthProbeMode=Shared`. A Service with a Network Load Balancer of the cloud controller and without `externalTrafficPolicy: Local` has an annotation with a different protocol, port or path for its health check. The mode was added in 1.33.",
    impact: "the targets are checked over HTTP on the port of kube-proxy, regardless of the annotations; thresholds and intervals still apply",
    fix: "Remove the annotations, or set `externalTrafficPolicy: Local`.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#buildNLBHealthCheckConfiguration"],
    example: "Service shop/web has aws-load-balancer-healthcheck-path, but the cloud configuration sets one health check for all Services",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

const REPLACED: [&str; 3] = [
    "aws-load-balancer-healthcheck-protocol",
    "aws-load-balancer-healthcheck-port",
    "aws-load-balancer-healthcheck-path",
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let configurations = &context.evidence.cloud_configs;
    if configurations.is_empty() {
        return CheckResult::not_applicable("no configuration of the AWS cloud controller was given");
    }
    // Earlier versions do not have the mode.
    const FIRST: ControllerVersion = ControllerVersion::new(1, 33, 0);
    let knows_mode = context.aws_controller_version().is_none_or(|version| version >= FIRST);
    let is_shared =
        |config: &&CloudConfig| config.global("ClusterServiceLoadBalancerHealthProbeMode") == Some("Shared");
    let shared = configurations.iter().find(is_shared).filter(|_| knows_mode);
    for_each_service(context, |service, owner| {
        let Some(shared) = shared.filter(|_| owner == Owner::Network && !service.is_local) else { return Vec::new() };
        let of = |name: &str, default: &'static str| shared.global(name).unwrap_or(default).to_owned();
        let checks = [
            "http".to_owned(),
            of("ClusterServiceSharedLoadBalancerHealthProbePort", "10256"),
            of("ClusterServiceSharedLoadBalancerHealthProbePath", "/healthz"),
        ];
        let is_replaced = |(suffix, check): &(&str, String)| {
            value(service, suffix).is_some_and(|given| !given.eq_ignore_ascii_case(check))
        };
        let Some((suffix, _)) = REPLACED.into_iter().zip(checks).find(is_replaced) else { return Vec::new() };
        let name = service.full_name();
        let message = format!(
            "Service {} has {suffix}, but the cloud configuration sets one health check for all Services",
            text::printable(&name)
        );
        vec![on(service, Some(suffix), Severity::Warning, message, "remove it, or set `externalTrafficPolicy: Local`")]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: ConfigMap
metadata:
  name: cloud-config
data:
  cloud.conf: |-
    [Global]
    ClusterServiceLoadBalancerHealthProbeMode = Shared
---
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: nlb
    service.beta.kubernetes.io/aws-load-balancer-healthcheck-path: /ready
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "= Shared", "= ServiceNodePort");
    }
}
