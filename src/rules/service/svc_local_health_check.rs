use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-local-health-check",
    title: "the health check does not detect which nodes have a pod",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has `externalTrafficPolicy: Local`, and annotations that set its health check to `traffic-port` or to TCP.",
    impact: "nodes without a pod count as healthy, and drop their traffic",
    fix: "Leave the health check to the controller: it checks `healthCheckNodePort` over HTTP.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        r#"Kubernetes documentation, "Virtual IPs and Service Proxies", "External traffic policy""#,
    ],
    example: "Service shop/web sends only to nodes with a pod, but checks by `aws-load-balancer-healthcheck-port: traffic-port`",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        if !owner.is_cloud_controller() || !service.is_local {
            return Vec::new();
        }
        let checks =
            [("aws-load-balancer-healthcheck-port", "traffic-port"), ("aws-load-balancer-healthcheck-protocol", "tcp")];
        let found = checks.into_iter().find_map(|(suffix, wrong)| {
            let given = value(service, suffix)?;
            given.eq_ignore_ascii_case(wrong).then_some((suffix, given))
        });
        let Some((suffix, given)) = found else { return Vec::new() };
        let name = service.full_name();
        let message = format!(
            "Service {} sends only to nodes with a pod, but checks by `{suffix}: {}`",
            text::printable(&name),
            text::printable(given)
        );
        vec![on(service, Some(suffix), Severity::Warning, message, "remove the health check annotations")]
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
    service.beta.kubernetes.io/aws-load-balancer-healthcheck-port: traffic-port
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "Policy: Local", "Policy: Cluster");
    }
}
