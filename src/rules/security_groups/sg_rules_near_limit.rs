use std::collections::BTreeSet;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::model::limits::{DEFAULT_RULES, counted};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, GROUPS, INSTANCES};

pub(super) const RULE: Rule = Rule {
    id: "sg-rules-near-limit",
    title: "a security group of the nodes or of a load balancer is nearly full",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info above the default quota if the quota was not read: it must have been raised",
    ),
    resources: GROUP,
    condition: "A group of members, or of a load balancer that a controller of the cluster made, has at least 80 percent of the quota of ingress rules, counted per source: the quota of the account where it was given (`list-service-quotas.json`), else the default of 60. A customer-managed prefix list counts as its maximum number of entries, an AWS-managed one as its weight, such as 55 for Amazon CloudFront.",
    impact: "the controller cannot add the next load balancer's rules: `RulesPerSecurityGroupLimitExceeded`",
    fix: "Set `DisableSecurityGroupIngress` or `ElbSecurityGroup` in the cloud config, clear stale rules, or raise the quota.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/issues/74828",
        "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go",
    ],
    example: "security group `sg-0a` has 55 ingress rules; the default quota is 60",
    reads: &[
        INSTANCES,
        GROUPS,
        Read::DescribeLoadBalancers,
        Read::DescribeLoadBalancerTags,
        Read::DescribeManagedPrefixLists,
    ],
    subjects: Subjects::MemberGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let known = region.region.limits.as_ref().and_then(|limits| limits.rules_per_group);
    let known = known.and_then(|quota| usize::try_from(quota).ok());
    let quota = known.unwrap_or(DEFAULT_RULES);
    let here = context.existing.balancers.iter().filter(|one| std::ptr::eq(one.region, region));
    let of_balancers = here.flat_map(|one| one.balancer.security_groups.iter().map(String::as_str));
    let groups: BTreeSet<&str> = region.member_groups().iter().copied().chain(of_balancers).collect();
    groups
        .into_iter()
        .filter_map(|id| {
            let group = region.security_group(id)?;
            let sources =
                group.ingress.iter().flat_map(|permission| permission.ranges.iter().chain(&permission.groups));
            let rules = counted(sources.map(|one| one.source.as_str()), &region.region.prefix_lists);
            if rules * 5 < quota * 4 {
                return None;
            }
            // Prefix lists of which the weight is not known.
            let lists = group
                .ingress
                .iter()
                .flat_map(|permission| &permission.ranges)
                .filter(|range| range.source.starts_with("pl-"))
                .filter(|range| region.region.prefix_lists.get(&range.source).is_none_or(|list| list.weight.is_none()))
                .count();
            let mut message = format!(
                "security group `{id}` has {}; the {} quota is {quota}",
                text::count(rules, "ingress rule"),
                if known.is_some() { "account's" } else { "default" }
            );
            if lists > 0 {
                message.push_str(&format!(
                    "; EC2 counts {} among them as their maximum number of entries",
                    text::count(lists, "prefix list")
                ));
            }
            // A count above the default shows that the quota was raised, but not its value.
            let is_raised = known.is_none() && rules > DEFAULT_RULES;
            let severity = if is_raised { Severity::Info } else { Severity::Warning };
            let fix = Fix::none(
                "clear stale rules, raise the quota, or set `DisableSecurityGroupIngress` in the cloud config",
            );
            Some(Violation::new(severity, region.resource(Tagged::SecurityGroup(group)), message, fix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::IngressPermission;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let group = c.group(aws::TAGGED_GROUP);
            let rule = group.ingress.first().unwrap().clone();
            group.ingress.extend((0..50).map(|port| IngressPermission {
                from_port: Some(port),
                to_port: Some(port),
                ..rule.clone()
            }));
        });
    }

    #[test]
    fn a_prefix_list_counts_as_its_maximum_number_of_entries() {
        let counted = |lists: &[(&str, &str, Option<i64>, &str)]| {
            aws::messages(&RULE, |c| {
                let rule = c.group(aws::TAGGED_GROUP).ingress.first().unwrap().clone();
                let range = |id: &str| crate::aws::RuleSource { source: id.to_owned(), ..Default::default() };
                let ranges = vec![range("pl-0a"), range("pl-0b")];
                c.group(aws::TAGGED_GROUP).ingress = vec![IngressPermission { ranges, groups: Vec::new(), ..rule }];
                for (id, name, maximum, owner) in lists {
                    let list =
                        crate::aws::PrefixList::described((*name).to_owned(), *maximum, Some("IPv4"), Some(*owner));
                    c.region().prefix_lists.insert((*id).to_owned(), list);
                }
            })
        };
        let cloudfront = ("pl-0a", "com.amazonaws.global.cloudfront.origin-facing", None, "AWS");
        let found = counted(&[cloudfront]);
        assert!(
            found[0].contains("has 56 ingress rules") && found[0].contains("1 prefix list among them"),
            "{found:?}"
        );
        let found =
            counted(&[("pl-0a", "offices", Some(40), "111122223333"), ("pl-0b", "s3", Some(10), "111122223333")]);
        assert!(found[0].ends_with("has 50 ingress rules; the default quota is 60"), "{found:?}");
        assert_eq!(counted(&[("pl-0a", "offices", Some(40), "111122223333")]), [""; 0]);
        assert_eq!(counted(&[]), [""; 0]);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let group = c.group(aws::TAGGED_GROUP);
            let rule = group.ingress.first().unwrap().clone();
            group.ingress.extend((0..40).map(|port| IngressPermission {
                from_port: Some(port),
                to_port: Some(port),
                ..rule.clone()
            }));
        });
    }
}
