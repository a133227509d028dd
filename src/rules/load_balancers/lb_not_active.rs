use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-not-active",
    title: "a load balancer failed, or cannot scale",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The state of a load balancer of the cluster is `failed` or `active_impaired`.",
    impact: "a failed load balancer was never set up; an impaired one routes traffic, and cannot scale: usually its subnets have too few free addresses",
    fix: "Of an impaired one, free addresses in its subnets: Elastic Load Balancing needs 8 in each. For a failed one, remove the cause that the events of its object name, and create the object again.",
    sources: &["Elastic Load Balancing API Reference, LoadBalancerState"],
    example: "`k8s-shop-site-db8a9c2302` (Ingress `shop/site`) is in the state active_impaired",
    reads: &[BALANCERS, TAGS],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let Some(state @ ("failed" | "active_impaired")) = one.balancer.state.as_deref() else {
            return Some(Vec::new());
        };
        let subnets = one.balancer.subnets.iter().filter_map(|id| one.region.subnet(id));
        let full: Vec<&str> = subnets
            .filter(|subnet| subnet.available_ip_address_count.is_some_and(|free| free < 8))
            .map(|subnet| subnet.id.as_str())
            .collect();
        let mut message = format!("{} is in the state {state}", described(one));
        if !full.is_empty() {
            message.push_str(&format!("; fewer than 8 addresses are free in {}", super::listed(full.iter().copied())));
        }
        let fix = if state == "failed" {
            "see the events of its object, remove the cause, and create the object again: a failed load balancer does not recover"
        } else {
            "free addresses in its subnets: Elastic Load Balancing needs 8 in each"
        };
        let subnets = full.iter().map(|id| one.region.bare(ResourceKind::Subnet, id));
        Some(vec![on_balancer(one, Severity::Warning, message, fix).related(subnets)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.add_network().state = Some("active_impaired".to_owned()));
        aws::fires(&RULE, |c| c.add_network().state = Some("failed".to_owned()));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.add_network().state = Some("provisioning".to_owned()));
        aws::silent(&RULE, |c| {
            c.add_classic();
        });
    }
}
