use std::collections::BTreeMap;

use crate::aws::view::RegionView;
use crate::aws::{LoadBalancer, LoadBalancerKind, LoadBalancing};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCERS, in_region};

pub(super) const RULE: Rule = Rule {
    id: "limit-near",
    title: "the account is near a limit that new load balancers need",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info for Elastic IP addresses and for security groups per network interface",
    ),
    resources: &[ResourceKind::Cluster],
    condition: "At least 90 percent of the Classic, Network or Application Load Balancers or of the target groups that the account allows in a region exist, or of the listeners of a load balancer of the cluster; all its Elastic IP addresses are allocated; or an interface of a node has as many security groups as it may have.",
    impact: "the controllers cannot create the next ones: `TooManyLoadBalancers`, `TooManyTargetGroups`, `AddressLimitExceeded`",
    fix: "Delete what is not used, or request a higher quota.",
    sources: &[
        "Elastic Load Balancing API Reference, DescribeAccountLimits",
        "Amazon EC2 API Reference, DescribeAccountAttributes",
    ],
    example: "49 of 50 network load balancers exist in us-east-1 (limit network-load-balancers): 1 more fits",
    reads: &[
        BALANCERS,
        Read::DescribeAccountAttributes,
        Read::DescribeAccountLimits,
        Read::DescribeAddresses,
        Read::DescribeInstances,
        Read::DescribeTargetGroups,
    ],
    subjects: Subjects::Cluster,
    ..Rule::region(check)
};

const KINDS: [(LoadBalancerKind, &str); 3] = [
    (LoadBalancerKind::Classic, "classic load balancer"),
    (LoadBalancerKind::Network, "network load balancer"),
    (LoadBalancerKind::Application, "application load balancer"),
];

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if region.members.is_empty() {
        return CheckResult::not_applicable("no node of the cluster is in the region");
    }
    let mut checked = 0;
    let mut is_whole = true;
    let mut found = Vec::new();
    let mut report = |severity: Severity, key: &str, message: String| {
        let resource = in_region(region, ResourceKind::Cluster, context.cluster_id());
        let fix = Fix::none("delete what is not used, or request a higher quota");
        found.push(Violation::new(severity, resource, message, fix).with_respect_to(key.to_owned()));
    };
    let place = text::printable(&region.region.name);
    if let Some((balancing, limits)) =
        region.region.load_balancing.as_ref().and_then(|one| Some((one, one.limits.as_ref()?)))
    {
        for (name, noun, number, limit) in counts(balancing, limits) {
            checked += 1;
            if number * 10 >= limit * 9 {
                let free = limit.saturating_sub(number);
                let number = text::count(usize::try_from(number).unwrap_or(usize::MAX), noun);
                let verb = if free == 1 { "fits" } else { "fit" };
                let message = format!("{number} of {limit} exist in {place} (limit {name}): {free} more {verb}");
                report(Severity::Warning, name, message);
            }
        }
        let names = context.existing.names(context.cluster_id());
        let is_own = |one: &LoadBalancer| !names.claims(one.tags.as_deref().unwrap_or_default()).is_empty();
        for (balancer, name, number, limit) in listeners(balancing, limits, is_own) {
            checked += 1;
            if number * 10 >= limit * 9 {
                let free = limit.saturating_sub(number);
                let verb = if free == 1 { "fits" } else { "fit" };
                let message = format!(
                    "`{}` has {number} of {limit} listeners (limit {name}): {free} more {verb}",
                    text::printable(balancer)
                );
                report(Severity::Warning, &format!("{name} {balancer}"), message);
            }
        }
    } else {
        is_whole = false;
    }
    let limits = region.region.limits.as_ref();
    if let Some((addresses, limit)) =
        region.region.elastic_ips.as_ref().zip(limits.and_then(|limits| limits.elastic_ips))
    {
        checked += 1;
        let number = addresses.len();
        if number as u64 >= limit {
            let message = format!(
                "{number} of {limit} Elastic IP addresses are allocated in {place} (limit vpc-max-elastic-ips): none more fits"
            );
            report(Severity::Info, "vpc-max-elastic-ips", message);
        }
    } else {
        is_whole = false;
    }
    if let Some(limit) = limits.and_then(|limits| limits.groups_per_interface) {
        checked += 1;
        let is_full = |groups: &Vec<String>| groups.len() as u64 >= limit;
        let full = region.members.iter().filter(|member| {
            is_full(&member.instance.security_groups)
                || member.instance.network_interfaces.iter().any(|one| is_full(&one.security_groups))
        });
        let full = full.count();
        if full > 0 {
            let nodes = text::count(full, "node");
            let verb = if full == 1 { "has" } else { "have" };
            let message = format!(
                "{nodes} {verb} {limit} security groups on a network interface (limit vpc-max-security-groups-per-interface): none more fits"
            );
            report(Severity::Info, "vpc-max-security-groups-per-interface", message);
        }
    } else {
        is_whole = false;
    }
    if !is_whole && found.is_empty() {
        return CheckResult::not_applicable("not all limits of the account, and what counts against them, were read");
    }
    CheckResult::counted(checked, found)
}

/// Name of each limit, what it limits, their number and the limit.
fn counts<'l>(
    balancing: &'l LoadBalancing,
    limits: &'l BTreeMap<String, u64>,
) -> impl Iterator<Item = (&'static str, &'static str, u64, u64)> + 'l {
    let of_kinds = KINDS.into_iter().map(|(kind, noun)| {
        (kind.limit_name(), noun, balancing.load_balancers.iter().filter(|one| one.kind == kind).count())
    });
    let all = of_kinds.chain([("target-groups", "target group", balancing.target_groups.len())]);
    all.filter_map(|(name, noun, number)| {
        Some((name, noun, number as u64, limits.get(name).copied().filter(|limit| *limit > 0)?))
    })
}

/// Load balancers of the cluster whose listeners were read: the name, that of the limit, their number and the limit.
/// Source: Elastic Load Balancing API Reference, `Limit`, of both versions.
fn listeners<'l>(
    balancing: &'l LoadBalancing,
    limits: &'l BTreeMap<String, u64>,
    is_own: impl Fn(&LoadBalancer) -> bool + 'l,
) -> impl Iterator<Item = (&'l str, &'static str, u64, u64)> + 'l {
    balancing.load_balancers.iter().filter(move |one| is_own(one)).filter_map(|one| {
        let name = match one.kind {
            LoadBalancerKind::Classic => "classic-listeners",
            LoadBalancerKind::Network => "listeners-per-network-load-balancer",
            LoadBalancerKind::Application => "listeners-per-application-load-balancer",
            LoadBalancerKind::Gateway => return None,
        };
        let limit = limits.get(name).copied().filter(|limit| *limit > 0)?;
        Some((one.name.as_str(), name, one.listeners.as_ref()?.len() as u64, limit))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::{ElasticIp, NetworkLimits};
    use crate::testing::aws::{self, Cluster};

    fn limit(c: &mut Cluster, name: &str, limit: u64) {
        c.add_network();
        let limits = c.region().load_balancing.as_mut().unwrap().limits.get_or_insert_default();
        limits.insert(name.to_owned(), limit);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| limit(c, "network-load-balancers", 1));
        aws::fires(&RULE, |c| limit(c, "target-groups", 1));
        aws::fires(&RULE, |c| limit(c, "listeners-per-network-load-balancer", 1));
        aws::fires(&RULE, |c| {
            let limits = NetworkLimits { elastic_ips: Some(1), ..NetworkLimits::default() };
            c.region().limits = Some(limits);
            c.region().elastic_ips = Some(vec![ElasticIp { id: "eipalloc-0a".to_owned(), ..ElasticIp::default() }]);
        });
        aws::fires(&RULE, |c| {
            let limits = NetworkLimits { groups_per_interface: Some(1), ..NetworkLimits::default() };
            c.region().limits = Some(limits);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            limit(c, "network-load-balancers", 50);
            limit(c, "listeners-per-network-load-balancer", 50);
            let limits = NetworkLimits { elastic_ips: Some(5), groups_per_interface: Some(5), rules_per_group: None };
            c.region().limits = Some(limits);
            c.region().elastic_ips = Some(Vec::new());
        });
        // Without the limits of load balancers, addresses alone are no verdict.
        aws::does_not_apply(&RULE, |c| {
            let limits = NetworkLimits { elastic_ips: Some(5), groups_per_interface: Some(5), rules_per_group: None };
            c.region().limits = Some(limits);
            c.region().elastic_ips = Some(Vec::new());
        });
    }
}
