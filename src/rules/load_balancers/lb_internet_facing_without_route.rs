use crate::aws::RouteTable;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, listed, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-internet-facing-without-route",
    title: "an internet-facing load balancer has a subnet without a route to the internet",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "An internet-facing load balancer of the cluster is in a subnet whose route table has no route to an internet gateway, nor a default route through the endpoint of a firewall.",
    impact: "clients that resolve the address of that zone get no answer",
    fix: "Route the subnet to the internet gateway, or use public subnets.",
    sources: &["Elastic Load Balancing User Guide, Internet-facing load balancers"],
    example: "`a1b2c3` (Service `shop/web`) is internet-facing, and subnet-0c has no route to an internet gateway",
    reads: &[BALANCERS, TAGS, Read::DescribeRouteTables, Read::DescribeSubnets],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        if one.balancer.scheme.as_deref()? != "internet-facing" {
            return Some(Vec::new());
        }
        let is_private = |id: &&String| {
            let subnet = one.region.subnet(id)?;
            let leads_out = |table: &RouteTable| table.is_public() || table.leads_through_endpoint();
            Some(!one.region.route_table(subnet).is_some_and(leads_out))
        };
        let private: Vec<&str> =
            one.balancer.subnets.iter().filter(|id| is_private(id) == Some(true)).map(String::as_str).collect();
        if private.is_empty() {
            return Some(Vec::new());
        }
        let message = format!(
            "{} is internet-facing, and {} {} no route to an internet gateway",
            described(one),
            listed(private.iter().copied()),
            if private.len() == 1 { "has" } else { "have" }
        );
        let fix = "route the subnet to the internet gateway, or use public subnets";
        let related = private.iter().map(|id| one.region.bare(ResourceKind::Subnet, id));
        Some(vec![on_balancer(one, Severity::Warning, message, fix).related(related)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, PRIVATE};
    use crate::testing::load_balancers::through_firewall;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.add_network().subnets.push(PRIVATE.to_owned()));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
        });
        // A firewall before the internet gateway.
        aws::silent(&RULE, |c| {
            c.add_network().subnets.push(PRIVATE.to_owned());
            through_firewall(c);
        });
        aws::silent(&RULE, |c| {
            let balancer = c.add_network();
            balancer.subnets = vec![PRIVATE.to_owned()];
            balancer.scheme = Some("internal".to_owned());
        });
    }
}
