use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_service, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-no-node-port",
    title: "a load balancer needs node ports that the Service lacks",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has `allocateLoadBalancerNodePorts: false` and ports without `nodePort`.",
    impact: "those ports get no listener: `Ignoring port without NodePort defined`",
    fix: "Allow the allocation of node ports, or set one for each port.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer"],
    example: "Service shop/web has no node port for port 443, so the load balancer skips it",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let without: Vec<String> =
            service.ports.iter().filter(|port| port.node_port.is_none()).map(|port| port.port.to_string()).collect();
        if !owner.is_cloud_controller() || !service.is_without_node_ports || without.is_empty() {
            return Vec::new();
        }
        let name = service.full_name();
        let ports = text::list(&without, 5);
        let message = format!(
            "Service {} has no node port for port {ports}, so the load balancer skips it",
            text::printable(&name)
        );
        vec![on_field(
            service,
            "allocateLoadBalancerNodePorts",
            message,
            "remove `allocateLoadBalancerNodePorts: false`",
        )]
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
  allocateLoadBalancerNodePorts: false
  ports:
  - port: 443
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "- port: 443\n", "- port: 443\n    nodePort: 30443\n");
    }
}
