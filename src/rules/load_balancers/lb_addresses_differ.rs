use std::collections::BTreeSet;

use crate::aws::LoadBalancerKind;
use crate::aws::load_balancers::Maker;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, listed, on_balancer};

/// Annotation of both controllers: allocation ids.
const ADDRESSES: &str = "service.beta.kubernetes.io/aws-load-balancer-eip-allocations";

pub(super) const RULE: Rule = Rule {
    id: "lb-addresses-differ",
    title: "a Network Load Balancer does not have the Elastic IP addresses of its Service",
    severity: RuleSeverity::always(Severity::Info),
    resources: BALANCER,
    condition: "The annotation `aws-load-balancer-eip-allocations` of a Service of the cloud controller names an address that its Network Load Balancer does not have.",
    impact: "the cloud controller sets addresses only when it creates a load balancer: the address stays unused, and clients that allow it only cannot connect",
    fix: "Delete the Service and create it again, in a maintenance window, or remove the annotation.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2"],
    example: "`a1b2c3` (Service `shop/web`) does not have the address eipalloc-0a that the Service asks for",
    reads: &[BALANCERS, TAGS],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, service| {
        let is_network = one.balancer.kind == LoadBalancerKind::Network;
        if !is_network || one.claim()?.maker != Maker::CloudController {
            return None;
        }
        let value = service.annotations.get(ADDRESSES).map(String::as_str).unwrap_or_default();
        let held: BTreeSet<&str> = one.balancer.allocations.iter().map(String::as_str).collect();
        let asked = value.split(',').map(str::trim).filter(|id| !id.is_empty());
        let missing: BTreeSet<&str> = asked.filter(|id| !held.contains(id)).collect();
        if missing.is_empty() {
            return Some(Vec::new());
        }
        let message = format!(
            "{} does not have the address {} that the Service asks for",
            described(one),
            listed(missing.iter().copied())
        );
        let fix = "delete the Service and create it again, in a maintenance window, or remove the annotation";
        Some(vec![on_balancer(one, Severity::Info, message, fix)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::ADDRESS_SERVICE;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_network();
            c.manifests = ADDRESS_SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network().allocations = vec!["eipalloc-0a".to_owned(), "eipalloc-0b".to_owned()];
            c.manifests = ADDRESS_SERVICE;
        });
    }
}
