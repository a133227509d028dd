use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-no-node-port",
    title: "a load balancer of nodes, and ports without a node port",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has `allocateLoadBalancerNodePorts: false` and ports without `nodePort`.",
    impact: "those ports get no listener: `Ignoring port without NodePort defined`",
    fix: "Let node ports be allocated, or give the ports one.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer"],
    example: "Service shop/web has no node port for port 443, and the load balancer leaves it out",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |service, owner| {
        let without: Vec<String> =
            service.ports.iter().filter(|port| port.node_port.is_none()).map(|port| port.port.to_string()).collect();
        if !owner.is_cloud_controller() || !service.is_without_node_ports || without.is_empty() {
            return Vec::new();
        }
        let name = service.full_name();
        let ports = text::list(&without, 5);
        let message = format!(
            "Service {} has no node port for port {ports}, and the load balancer leaves it out",
            text::printable(&name)
        );
        vec![on_field(
            service,
            "allocateLoadBalancerNodePorts",
            message,
            "take `allocateLoadBalancerNodePorts: false` out",
        )]
    })
}
