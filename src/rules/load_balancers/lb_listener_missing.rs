use std::collections::BTreeSet;

use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_with_listeners, is_new, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-listener-missing",
    title: "a load balancer has no listener for a port of its Service",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The load balancer has no listener with the number of a port of the Service; for the cloud controller, of a port with a node port. New load balancers are skipped.",
    impact: "clients cannot connect to the port: the controller does not sync the Service, or is refused",
    fix: "See the events of the Service for the reason why the controller did not create the listener.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancer",
        "kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_listener.go#buildListeners",
    ],
    example: "`a1b2c3` (Service `shop/web`) has no listener for the port 8443 of the Service",
    reads: &[BALANCERS, TAGS, Read::DescribeListeners],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_with_listeners(context, |one, listeners, asked| {
        if is_new(context, one) {
            return Vec::new();
        }
        let held: BTreeSet<i64> = listeners.iter().map(|listener| i64::from(listener.port)).collect();
        let asked = asked.iter().map(|listener| listener.port);
        let missing: BTreeSet<String> =
            asked.filter(|port| !held.contains(port)).map(|port| port.to_string()).collect();
        if missing.is_empty() {
            return Vec::new();
        }
        let noun = if missing.len() == 1 { "port" } else { "ports" };
        let message = format!(
            "{} has no listener for the {noun} {} of the Service",
            described(one),
            listed(missing.iter().map(String::as_str))
        );
        let fix = "see the events of the Service for the reason why the controller did not create the listener";
        vec![on_balancer(one, Severity::Warning, message, fix)]
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
            c.add_classic().listeners.as_mut().unwrap()[0].port = 9443;
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
        // It is being created.
        aws::silent(&RULE, |c| {
            let balancer = c.add_classic();
            balancer.listeners.as_mut().unwrap().clear();
            balancer.state = Some("provisioning".to_owned());
            c.manifests = SERVICE;
        });
    }
}
