use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, GROUPS, INSTANCES};

/// Ingress rules per group that EC2 allows by default (AWS documentation, Amazon VPC quotas); accounts can raise it.
const DEFAULT_RULE_QUOTA: usize = 60;

pub(super) const RULE: Rule = Rule {
    id: "sg-rules-near-limit",
    title: "the nodes' security group is nearly full",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info above the default quota, which must have been raised",
    ),
    resources: GROUP,
    condition: "A group attached to members has at least 80 percent of the default quota of 60 ingress rules, counted per source.",
    impact: "the controller cannot add the next load balancer's rules: `RulesPerSecurityGroupLimitExceeded`",
    fix: "Set `DisableSecurityGroupIngress` or `ElbSecurityGroup` in the cloud config, clear stale rules, or raise the quota.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/issues/74828",
        "kubernetes/cloud-provider-aws pkg/providers/v1/config/config.go",
    ],
    example: "security group `sg-0a` has 55 ingress rules; the default quota is 60",
    reads: &[INSTANCES, GROUPS],
    subjects: Subjects::MemberGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(_: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    region
        .members_by_group()
        .into_keys()
        .filter_map(|id| {
            let group = region.security_group(id)?;
            // EC2 counts IPv4 and IPv6 rules separately: each has the quota.
            let (mut v4, mut v6) = (0_usize, 0_usize);
            for permission in &group.ingress {
                let of_v6 = permission.ranges.iter().filter(|range| range.source.contains(':')).count();
                v6 += of_v6 + permission.groups.len();
                v4 += permission.ranges.len() - of_v6 + permission.groups.len();
            }
            let rules = v4.max(v6);
            if rules * 5 < DEFAULT_RULE_QUOTA * 4 {
                return None;
            }
            // A prefix list counts as its maximum number of entries, which is not read.
            let lists = group
                .ingress
                .iter()
                .flat_map(|permission| &permission.ranges)
                .filter(|range| range.source.starts_with("pl-"))
                .count();
            let mut message = format!(
                "security group `{id}` has {}; the default quota is {DEFAULT_RULE_QUOTA}",
                text::count(rules, "ingress rule")
            );
            if lists > 0 {
                message.push_str(&format!(
                    "; EC2 counts {} among them as their maximum number of entries",
                    text::count(lists, "prefix list")
                ));
            }
            // A count above the default shows that the quota was raised, but not its value.
            let severity = if rules > DEFAULT_RULE_QUOTA { Severity::Info } else { Severity::Warning };
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
