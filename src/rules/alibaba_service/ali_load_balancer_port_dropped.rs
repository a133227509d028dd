use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_traffic::{Fate, guarded};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-port-dropped",
    title: "security groups drop all IPv4 traffic to a port of a load balancer",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The Network Load Balancer of a Service joined security groups whose rules drop the traffic to one of its listeners from every IPv4 address: of all groups together the smallest priority decides, and of one priority the rule that drops. Rules that name a group, a prefix list, a list of ports, source ports or a destination are counted as accepting. Skipped are load balancers that a Service names, ranges of listener ports, and load balancers whose groups were not recorded.",
    impact: "no client reaches the port over IPv4: connections to the load balancer time out, though its backends are healthy",
    fix: "Accept the clients with a smaller priority than that of the rule that drops, or remove that rule.",
    sources: &[
        "Alibaba Cloud NLB documentation, Add an NLB instance to a security group",
        "Alibaba Cloud ECS API, AuthorizeSecurityGroup: order of rules",
    ],
    example: "security group sg-bp1lb drops all IPv4 traffic to 443/TCP of nlb-bp1web, the load balancer of Service `shop/web`",
    reads: &[Read::NlbListLoadBalancers, Read::EcsDescribeSecurityGroupAttribute, Read::EcsDescribeSecurityGroups],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let guarded = guarded(context, services);
    if guarded.is_empty() {
        return CheckResult::not_applicable(
            "no load balancer of a Service joined security groups whose rules are recorded",
        );
    }
    let mut found = Vec::new();
    for one in &guarded {
        let ports = one.listeners(Fate::Dropped);
        if ports.is_empty() {
            continue;
        }
        let name = one.service.full_name();
        let groups = text::list(&one.groups, 4);
        let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
        let message = format!(
            "{} {groups} {} all IPv4 traffic to {} of {}, the load balancer of Service `{}`",
            if one.groups.len() == 1 { "security group" } else { "security groups" },
            if one.groups.len() == 1 { "drops" } else { "drop" },
            text::list(&ports, 4),
            text::printable(&one.balancer.id),
            text::printable(&name),
        );
        let fix = Fix::none("accept the clients with a smaller priority than that of the rule that drops");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        let related = one.groups.iter().map(|id| alibaba::resource(one.view, ResourceKind::SecurityGroup, id, None));
        found.push(Violation::new(Severity::Error, resource, message, fix).related(related).at(&one.service.place));
    }
    CheckResult::counted(guarded.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba_traffic::testing::{join, rule};
    use crate::testing::alibaba;

    fn annotate(c: &mut alibaba::Cluster, name: &str, value: &str) {
        let name = format!("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-{name}");
        c.service("web")["metadata"]["annotations"][name] = value.into();
    }

    fn name_protocol(c: &mut alibaba::Cluster, value: &str) {
        annotate(c, "protocol-port", value);
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| join(c, vec![rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0")]));
        // Of one priority, the rule that drops decides.
        alibaba::fires(&RULE, |c| {
            join(
                c,
                vec![rule(5, "drop", "TCP", "1/65535", "0.0.0.0/0"), rule(5, "accept", "TCP", "443/443", "10.0.0.0/8")],
            );
        });
        // Ranges that together are every address, and rules of IPv6 beside them.
        let halves =
            || [rule(9, "drop", "TCP", "443/443", "0.0.0.0/1"), rule(7, "drop", "ALL", "-1/-1", "128.0.0.0/1")];
        alibaba::fires(&RULE, |c| join(c, halves().to_vec()));
        alibaba::fires(&RULE, |c| join(c, [&halves()[..], &[rule(1, "accept", "ALL", "-1/-1", "::/0")]].concat()));
        alibaba::fires(&RULE, |c| join(c, vec![rule(100, "drop", "ALL", "-1/-1", "10.1.2.3/0")]));
        alibaba::fires(&RULE, |c| {
            let only = rule(1, "accept", "ALL", "-1/-1", "10.0.0.0/8");
            let refused = rule(1, "drop", "ALL", "-1/-1", "10.0.0.0/8");
            join(c, vec![only, refused, rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0")]);
        });
        // The listener has the protocol of the annotation.
        alibaba::fires(&RULE, |c| {
            join(c, vec![rule(100, "drop", "UDP", "443/443", "0.0.0.0/0")]);
            name_protocol(c, "udp:443");
        });
        alibaba::fires(&RULE, |c| {
            join(
                c,
                vec![rule(5, "drop", "TCP", "443/443", "0.0.0.0/0"), rule(1, "accept", "TCP", "80/80", "0.0.0.0/0")],
            );
        });
    }

    #[test]
    fn silent() {
        // What the controller writes for `loadBalancerSourceRanges`.
        alibaba::silent(&RULE, |c| {
            join(
                c,
                vec![rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0"), rule(1, "accept", "ALL", "-1/-1", "10.0.0.0/8")],
            );
        });
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "drop", "ALL", "-1/-1", "203.0.113.0/24")]));
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "drop", "UDP", "-1/-1", "0.0.0.0/0")]));
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "drop", "TCP", "22/22", "0.0.0.0/0")]));
        alibaba::silent(&RULE, |c| join(c, vec![rule(100, "accept", "ALL", "-1/-1", "0.0.0.0/0")]));
        alibaba::silent(&RULE, |c| join(c, Vec::new()));
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "drop", "ALL", "-1/-1", "::/0")]));
        alibaba::silent(&RULE, |c| {
            join(c, vec![rule(100, "drop", "TCP", "443/443", "0.0.0.0/0")]);
            name_protocol(c, "udp:443");
        });
        // What a group or a list holds is not known.
        alibaba::silent(&RULE, |c| {
            join(
                c,
                vec![rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0"), rule(9, "accept", "TCP", "443/443", "pl-bp1")],
            );
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        for (name, value) in [("id", "nlb-bp1own"), ("listener-port-range", "1000-2000:443")] {
            alibaba::does_not_apply(&RULE, |c| {
                join(c, vec![rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0")]);
                annotate(c, name, value);
            });
        }
        alibaba::does_not_apply(&RULE, |c| {
            join(c, vec![rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0")]);
            c.region().security_groups.last_mut().unwrap().rules = None;
        });
    }
}
