use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, for_each_group, next_key, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-security-groups",
    title: "an Auto Scaling group launches instances with several tagged security groups",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The launch template of a group names several security groups with the tag of the cluster, and no node of the group has several today.",
    impact: "with the next node, the cloud controller stops syncing load balancers (`Multiple tagged security groups found for instance`)",
    fix: "Remove the tag from all but one of the groups, or the groups from the launch template.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findSecurityGroupForInstance"],
    example: "the next instance of `workers` (version 2 of `lt-0a`) gets 2 security groups with the cluster tag: `sg-0a`, `sg-0b`",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::DescribeSecurityGroups,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    let tagged = |groups: &[String]| -> Vec<String> {
        let is_tagged =
            |group: &&String| region.security_group(group).is_some_and(|found| tags::has_cluster_tag(&found.tags, id));
        groups.iter().filter(is_tagged).cloned().collect()
    };
    for_each_group(context, region, |one| {
        let has_them = one.members.iter().any(|member| tagged(&member.instance.security_groups).len() > 1);
        let mut found = Vec::new();
        for next in one.known().filter(|_| !has_them) {
            let groups = tagged(next.version.security_groups.as_deref().unwrap_or_default());
            if groups.len() < 2 {
                continue;
            }
            let shown: Vec<String> = groups.iter().map(|group| format!("`{group}`")).collect();
            let phrase = next_phrase(one, next);
            let message =
                format!("{phrase} gets {} security groups with the cluster tag: {}", groups.len(), shown.join(", "));
            let fix = "remove the tag from all but one of the groups, or the groups from the launch template";
            let resources = groups.iter().map(|group| region.bare(ResourceKind::SecurityGroup, group));
            let violation = on_group(region, one, Severity::Warning, message, fix);
            let violation = violation.related(resources.chain([template_resource(next)]));
            found.push(violation.with_respect_to(next_key(next)));
        }
        (one.is_known() || !found.is_empty()).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, KEY, PLAIN_GROUP, TAGGED_GROUP};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            tag(&mut c.add_group("sg-0third").tags, KEY, "owned");
            c.template_version("workers", 2).security_groups =
                Some(vec![TAGGED_GROUP.to_owned(), "sg-0third".to_owned()]);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            let groups = vec![TAGGED_GROUP.to_owned(), PLAIN_GROUP.to_owned()];
            c.template_version("workers", 2).security_groups = Some(groups);
        });
    }
}
