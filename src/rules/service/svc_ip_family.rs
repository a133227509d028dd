use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_service, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-ip-family",
    title: "an IPv6 Service behind an IPv4 load balancer",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has only `ipFamilies: [IPv6]`, and no `ipFamilyPolicy` that adds the other family. The cloud controller creates only IPv4 load balancers, which reach nodes over IPv4, but kube-proxy answers on the node port of such a Service only over IPv6.",
    impact: "no target becomes healthy",
    fix: "Set `ipFamilyPolicy: PreferDualStack`, or leave the Service to the AWS Load Balancer Controller.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
        "kubernetes/kubernetes pkg/proxy/servicechangetracker.go",
        r#"Kubernetes documentation, "IPv4/IPv6 dual-stack""#,
    ],
    example: "Service shop/web uses IPv6, but its load balancer uses IPv4",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        // With another policy the API server adds the other family.
        let is_single = service.ip_family_policy.as_deref().is_none_or(|policy| policy == "SingleStack");
        if !owner.is_cloud_controller() || !is_single || service.ip_families != ["IPv6"] {
            return Vec::new();
        }
        let name = service.full_name();
        let message = format!("Service {} uses IPv6, but its load balancer uses IPv4", text::printable(&name));
        vec![on_field(service, "ipFamilies", message, "set `ipFamilyPolicy: PreferDualStack`")]
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
  ipFamilies:
  - IPv6
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "- IPv6", "- IPv4\n  - IPv6");
    }
}
