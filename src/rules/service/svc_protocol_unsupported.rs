use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, of_each, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-protocol-unsupported",
    title: "a load balancer cannot carry the protocols of the Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has ports of UDP on a Classic Load Balancer, of SCTP, or of TCP and UDP together.",
    impact: "the Service gets no load balancer: `Protocol … not supported by LoadBalancer`, or `mixed protocol is not supported for LoadBalancer`",
    fix: "Use a Network Load Balancer for UDP, and a Service for each protocol.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#checkMixedProtocol",
        "kubernetes/cloud-provider-aws, v1.22.0",
    ],
    example: "Service shop/dns has ports of TCP and UDP, which the cloud controller does not put on one load balancer",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |service, owner| {
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let has = |protocol: &str| service.ports.iter().any(|port| port.protocol == protocol);
        let name = service.full_name();
        let name = text::printable(&name);
        let (message, fix) = if has("SCTP") {
            (format!("Service {name} has ports of SCTP, which no load balancer of AWS carries"), "use TCP or UDP")
        } else if has("TCP") && has("UDP") {
            let message = format!(
                "Service {name} has ports of TCP and UDP, which the cloud controller does not put on one load balancer"
            );
            (message, "make a Service for each protocol")
        } else if has("UDP") && owner == Owner::Classic {
            let message = format!("Service {name} has ports of UDP, which a Classic Load Balancer does not carry");
            (message, "make the Service again with `service.beta.kubernetes.io/aws-load-balancer-type: nlb`")
        } else {
            return Vec::new();
        };
        vec![on_field(service, "ports", message, fix)]
    })
}
