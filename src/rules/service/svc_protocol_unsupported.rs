use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-protocol-unsupported",
    title: "a load balancer does not support the Service's protocols",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has UDP ports on a Classic Load Balancer, SCTP ports, or TCP and UDP ports together.",
    impact: "the Service gets no load balancer: `Protocol … not supported by LoadBalancer`, or `mixed protocol is not supported for LoadBalancer`",
    fix: "Use a Network Load Balancer for UDP, and a Service for each protocol.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#checkMixedProtocol",
        "kubernetes/cloud-provider-aws, v1.22.0",
    ],
    example: "Service shop/dns has TCP and UDP ports, which the cloud controller does not combine on one load balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let has = |protocol: &str| service.ports.iter().any(|port| port.protocol == protocol);
        let name = service.full_name();
        let name = text::printable(&name);
        let (message, fix) = if has("SCTP") {
            (format!("Service {name} has SCTP ports, which no AWS load balancer supports"), "use TCP or UDP")
        } else if has("TCP") && has("UDP") {
            let message = format!(
                "Service {name} has TCP and UDP ports, which the cloud controller does not combine on one load balancer"
            );
            (message, "create a Service for each protocol")
        } else if has("UDP") && owner == Owner::Classic {
            let message = format!("Service {name} has UDP ports, which a Classic Load Balancer does not support");
            (message, "re-create the Service with `service.beta.kubernetes.io/aws-load-balancer-type: nlb`")
        } else {
            return Vec::new();
        };
        vec![on_field(service, "ports", message, fix)]
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
    service.beta.kubernetes.io/aws-load-balancer-connection-draining-enabled: "true"
spec:
  type: LoadBalancer
  ports:
  - port: 53
    protocol: UDP
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "protocol: UDP", "protocol: TCP");
    }
}
