use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_traffic::{Fate, guarded};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-allowlist-ignored",
    title: "security groups that only accept do not restrict a load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "The internet-facing Network Load Balancer of a Service joined security groups whose rules accept the traffic to one of its listeners from some IPv4 addresses, and none of which drops any IPv4 traffic to it. Skipped are load balancers that a Service names, ranges of listener ports, load balancers whose groups were not recorded, and listeners for which a rule names a group, a prefix list, a list of ports, source ports or a destination.",
    impact: "the port is open to everyone: without a rule that drops, a Network Load Balancer accepts all traffic, unlike an instance",
    fix: "Add a rule that drops `0.0.0.0/0` with a larger priority than those that accept, or use `loadBalancerSourceRanges` (since v2.14.0).",
    sources: &[
        "Alibaba Cloud NLB documentation, Add an NLB instance to a security group",
        "Alibaba Cloud NLB FAQ: inbound rules that do not take effect",
    ],
    example: "443/TCP of nlb-bp1web, the load balancer of Service `shop/web`, is open to everyone: security group sg-bp1lb accepts some addresses, but drops none",
    reads: &[Read::NlbListLoadBalancers, Read::EcsDescribeSecurityGroupAttribute, Read::EcsDescribeSecurityGroups],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let mut guarded = guarded(context, services);
    let is_public = |scheme: Option<&str>| scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("internet"));
    guarded.retain(|one| is_public(one.balancer.address_type.as_deref()));
    if guarded.is_empty() {
        return CheckResult::not_applicable(
            "no internet-facing load balancer of a Service joined security groups whose rules are recorded",
        );
    }
    let mut found = Vec::new();
    for one in &guarded {
        let ports = one.listeners(Fate::AcceptedWithoutEffect);
        if ports.is_empty() {
            continue;
        }
        let name = one.service.full_name();
        let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
        let is_single = one.groups.len() == 1;
        let message = format!(
            "{} of {}, the load balancer of Service `{}`, {} open to everyone: {} {} some addresses, but {}",
            text::list(&ports, 4),
            text::printable(&one.balancer.id),
            text::printable(&name),
            if ports.len() == 1 { "is" } else { "are" },
            if is_single { "security group" } else { "security groups" },
            format_args!("{} {}", text::list(&one.groups, 4), if is_single { "accepts" } else { "accept" }),
            if is_single { "drops none" } else { "drop none" },
        );
        let fix = Fix::none("add a rule that drops `0.0.0.0/0` with a larger priority than those that accept");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        let related = one.groups.iter().map(|id| alibaba::resource(one.view, ResourceKind::SecurityGroup, id, None));
        found.push(Violation::new(Severity::Warning, resource, message, fix).related(related).at(&one.service.place));
    }
    CheckResult::counted(guarded.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba_traffic::testing::{join, rule};
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| join(c, vec![rule(1, "accept", "TCP", "443/443", "203.0.113.0/24")]));
        // Rules of IPv6 decide about other traffic.
        alibaba::fires(&RULE, |c| {
            let other = |policy: &str, range: &str| rule(1, policy, "ALL", "-1/-1", range);
            join(c, vec![other("accept", "203.0.113.0/24"), other("accept", "2001:db8::/32"), other("drop", "::/0")]);
        });
        alibaba::fires(&RULE, |c| {
            join(
                c,
                vec![rule(1, "accept", "ALL", "-1/-1", "10.0.0.0/8"), rule(1, "drop", "TCP", "22/22", "0.0.0.0/0")],
            );
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            join(
                c,
                vec![rule(1, "accept", "ALL", "-1/-1", "10.0.0.0/8"), rule(100, "drop", "ALL", "-1/-1", "0.0.0.0/0")],
            );
        });
        // A rule for other ports expresses nothing about this one.
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "accept", "TCP", "22/22", "203.0.113.0/24")]));
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "accept", "TCP", "443/443", "0.0.0.0/0")]));
        alibaba::silent(&RULE, |c| join(c, vec![rule(1, "accept", "TCP", "443/443", "pl-bp1")]));
        let half = |range: &str| rule(1, "accept", "TCP", "443/443", range);
        alibaba::silent(&RULE, |c| join(c, vec![half("0.0.0.0/1"), half("128.0.0.0/1")]));
        alibaba::silent(&RULE, |c| join(c, vec![half("1.2.3.4/0")]));
        alibaba::silent(&RULE, |c| {
            join(
                c,
                vec![
                    rule(1, "accept", "TCP", "443/443", "10.0.0.0/8"),
                    rule(2, "drop", "TCP", "443/443", "11.0.0.0/8"),
                ],
            );
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
        // Only the VPC reaches it.
        alibaba::does_not_apply(&RULE, |c| {
            join(c, vec![rule(1, "accept", "TCP", "443/443", "10.0.0.0/8")]);
            c.load_balancer("nlb-bp1web").address_type = Some("Intranet".to_owned());
        });
    }
}
