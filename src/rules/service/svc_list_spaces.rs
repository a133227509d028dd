use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Owner, for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-list-spaces",
    title: "spaces in a list become part of its items",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service for the cloud controller has spaces around the items of `aws-load-balancer-ssl-ports`, `-eip-allocations` or `-private-ipv4-addresses`. The controller does not trim those lists; it trims subnets and security groups.",
    impact: "a port with a space matches no port of the Service, so that port is served without TLS; an address with a space is not found",
    fix: "Remove the spaces.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#getPortSets",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
    ],
    example: "Service shop/web has `aws-load-balancer-ssl-ports: 443, 8443`, where ` 8443` is not a valid port",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_service(context, |service, owner| {
        let lists: &[&str] = match owner {
            Owner::Classic => &["aws-load-balancer-ssl-ports"],
            Owner::Network => &[
                "aws-load-balancer-ssl-ports",
                "aws-load-balancer-eip-allocations",
                "aws-load-balancer-private-ipv4-addresses",
            ],
            Owner::LoadBalancerController | Owner::OtherClass | Owner::Nobody => &[],
        };
        let found = lists.iter().filter_map(|suffix| {
            let given = value(service, suffix)?;
            let spaced = given.split(',').find(|item| item.trim() != *item && !item.trim().is_empty())?;
            let name = service.full_name();
            let (name, given, spaced) = (text::printable(&name), text::printable(given), text::printable(spaced));
            let what = if suffix.ends_with("ports") { "port" } else { "address" };
            let message = format!("Service {name} has `{suffix}: {given}`, where `{spaced}` is not a valid {what}");
            Some(on(service, Some(suffix), Severity::Error, message, "remove the spaces"))
        });
        found.collect()
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
    service.beta.kubernetes.io/aws-load-balancer-ssl-ports: 443, 8443
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "443, 8443", "443,8443");
    }
}
