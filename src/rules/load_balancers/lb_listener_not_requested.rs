use std::collections::BTreeSet;

use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-listener-not-requested",
    title: "a load balancer has a listener that its Service does not ask for",
    severity: RuleSeverity::always(Severity::Info),
    resources: BALANCER,
    condition: "A listener has a port that is not a port of the Service.",
    impact: "the controllers remove such listeners at each sync: it was added by hand since then, or the controller does not sync the Service",
    fix: "Add the port to the Service, or let the controller remove the listener.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2"],
    example: "no port of the Service asks for the listener 9443 of `a1b2c3` (Service `shop/web`)",
    reads: &[BALANCERS, TAGS, Read::DescribeListeners],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, service| {
        let listeners = one.balancer.listeners.as_ref()?;
        let asked: BTreeSet<i64> = service.ports.iter().map(|port| port.port).collect();
        let others: BTreeSet<String> = listeners
            .iter()
            .filter(|listener| !asked.contains(&i64::from(listener.port)))
            .map(|listener| listener.port.to_string())
            .collect();
        if others.is_empty() {
            return Some(Vec::new());
        }
        let message = format!(
            "no port of the Service asks for the listener {} of {}",
            listed(others.iter().map(String::as_str)),
            described(one)
        );
        let fix = "add the port to the Service, or let the controller remove the listener";
        Some(vec![on_balancer(one, Severity::Info, message, fix)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::Listener;
    use crate::testing::aws;
    use crate::testing::load_balancers::SERVICE;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_classic().listeners.as_mut().unwrap().push(Listener { port: 9443, ..Listener::default() });
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
