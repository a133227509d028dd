use std::collections::BTreeSet;

use crate::aws::{LoadBalancerKind, SecurityGroup};
use crate::rules::aws::Context;
use crate::rules::balancer_traffic::covers;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, listed, on_balancer};

/// Annotation of the AWS Load Balancer Controller.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/annotations/constants.go#SvcLBSuffixEnforceSecurityGroupInboundRulesOnPrivateLinkTraffic`.
const PRIVATE_LINK: &str = "service.beta.kubernetes.io/aws-load-balancer-inbound-sg-rules-on-private-link-traffic";

pub(super) const RULE: Rule = Rule {
    id: "lb-group-lacks-listener-port",
    title: "the security groups of a load balancer do not let a listener's port in",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A load balancer of the cluster has security groups, and no rule of them covers the port of a TCP, TLS, HTTP or HTTPS listener, from any source. A Network Load Balancer counts only if its Service was given and does not turn the rules off for PrivateLink.",
    impact: "clients cannot connect to that port; the cloud controller adds the rule again only when it syncs the Service",
    fix: "Let the port in, or make the controller sync the object.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#setSecurityGroupIngress"],
    example: "no rule of sg-0a lets port 443 of `a1b2c3` (Service `shop/web`) in",
    reads: &[BALANCERS, TAGS, Read::DescribeListeners, Read::DescribeSecurityGroups],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let listeners = one.balancer.listeners.as_ref()?;
        let held = &one.balancer.security_groups;
        if held.is_empty() {
            return Some(Vec::new());
        }
        // Rules may be off for clients of a Network Load Balancer that come by PrivateLink.
        let is_by_rules = one.balancer.kind != LoadBalancerKind::Network
            || one
                .service
                .is_some_and(|service| service.annotations.get(PRIVATE_LINK).is_none_or(|value| value != "off"));
        if !is_by_rules {
            return None;
        }
        let groups: Vec<&SecurityGroup> = held.iter().map(|id| one.region.security_group(id)).collect::<Option<_>>()?;
        let admits = |port: u16| {
            let mut permissions = groups.iter().flat_map(|group| &group.ingress);
            permissions.any(|permission| covers(permission, port))
        };
        // UDP rules have another protocol.
        let is_tcp =
            |protocol: &str| matches!(protocol.to_ascii_uppercase().as_str(), "TCP" | "TLS" | "SSL" | "HTTP" | "HTTPS");
        let ports = listeners.iter().filter(|listener| is_tcp(&listener.protocol)).map(|listener| listener.port);
        let closed: BTreeSet<String> = ports.filter(|port| !admits(*port)).map(|port| port.to_string()).collect();
        if closed.is_empty() {
            return Some(Vec::new());
        }
        let message = format!(
            "no rule of {} lets port {} of {} in",
            listed(held.iter().map(String::as_str)),
            listed(closed.iter().map(String::as_str)),
            described(one)
        );
        let fix = "let the port in, or make the controller sync the object";
        let related = held.iter().map(|id| one.region.bare(ResourceKind::SecurityGroup, id));
        Some(vec![on_balancer(one, Severity::Warning, message, fix).related(related)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_classic();
            c.group("sg-0elb").ingress.clear();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic();
        });
        // One that was made without security groups has none.
        aws::silent(&RULE, |c| {
            c.add_network();
        });
    }
}
