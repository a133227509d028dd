use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on_field};

pub(super) const RULE: Rule = Rule {
    id: "svc-ip-family",
    title: "a Service of IPv6 behind a load balancer of IPv4",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has `ipFamilies: [IPv6]` alone, and no `ipFamilyPolicy` that adds the other family. The cloud controller makes load balancers of IPv4 only, which reach nodes by IPv4, and kube-proxy answers on the node port of such a Service by IPv6 only.",
    impact: "no target becomes healthy",
    fix: "Set `ipFamilyPolicy: PreferDualStack`, or leave the Service to the AWS Load Balancer Controller.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
        "kubernetes/kubernetes pkg/proxy/servicechangetracker.go",
        r#"Kubernetes documentation, "IPv4/IPv6 dual-stack""#,
    ],
    example: "Service shop/web is of IPv6, and its load balancer of IPv4",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, |service, owner| {
        // With another policy the API server adds the other family.
        let is_single = service.ip_family_policy.as_deref().is_none_or(|policy| policy == "SingleStack");
        if !owner.is_cloud_controller() || !is_single || service.ip_families != ["IPv6"] {
            return Vec::new();
        }
        let name = service.full_name();
        let message = format!("Service {} is of IPv6, and its load balancer of IPv4", text::printable(&name));
        vec![on_field(service, "ipFamilies", message, "set `ipFamilyPolicy: PreferDualStack`")]
    })
}
