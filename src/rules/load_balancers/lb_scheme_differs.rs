use crate::aws::load_balancers::Maker;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-scheme-differs",
    title: "a load balancer has another scheme than its Service asks for",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Service asks the cloud controller for an internal load balancer and has an internet-facing one, or the other way round.",
    impact: "the cloud controller never changes the scheme of an existing load balancer: a load balancer that should be internal stays reachable from the internet",
    fix: "Delete the Service and create it again, in a maintenance window: the load balancer gets another address.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer"],
    example: "`a1b2c3` (Service `shop/web`) is internet-facing, and the Service asks for internal",
    reads: &[BALANCERS, TAGS],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, _| {
        let wanted = *one.decision.as_ref()?.asked_scheme().known()?;
        let held = one.balancer.scheme.as_deref()?;
        if held == wanted {
            return Some(Vec::new());
        }
        // The AWS Load Balancer Controller replaces the load balancer.
        if one.claim()?.maker != Maker::CloudController {
            return None;
        }
        let message = format!("{} is {}, and the Service asks for {wanted}", described(one), text::printable(held));
        let fix =
            "delete the Service and create it again, in a maintenance window: the load balancer gets another address";
        Some(vec![on_balancer(one, Severity::Warning, message, fix)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::SERVICE;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_classic().scheme = Some("internal".to_owned());
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
    }
}
