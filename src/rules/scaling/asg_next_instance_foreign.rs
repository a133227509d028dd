use std::collections::BTreeSet;

use crate::aws::view::{RegionView, instance_clusters};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, for_each_group, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-foreign",
    title: "an Auto Scaling group launches instances with the tag of another cluster",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The next instance of a group of the cluster gets the tag of another cluster, from a tag of the group that propagates or from its launch template.",
    impact: "the cloud controller does not start on an instance with the tags of two clusters, and an instance with the tag of the other cluster alone is a node of neither",
    fix: "Remove the tag of the other cluster from the group or the launch template.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Tag Auto Scaling groups and instances",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#findClusterIDs",
    ],
    example: "the next instance of `workers` (version 2 of `lt-0a`) gets the tag of another cluster, `staging`, and not that of `prod`",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    for_each_group(context, region, |one| {
        let mut found = Vec::new();
        for next in one.known() {
            let others: BTreeSet<&str> = instance_clusters(&next.tags).filter(|other| *other != id).collect();
            let others: Vec<String> = others.into_iter().map(|other| format!("`{}`", text::printable(other))).collect();
            if others.is_empty() {
                continue;
            }
            let also = if tags::has_cluster_tag(&next.tags, id) { ", next to that of" } else { ", and not that of" };
            let message = format!(
                "{} gets the tag of another cluster, {}{also} `{}`",
                next_phrase(one, next),
                others.join(", "),
                text::printable(id)
            );
            let fix = "remove the tag of the other cluster from the group or the launch template";
            let violation = on_group(region, one, Severity::Warning, message, fix);
            found.push(violation.related([template_resource(next)]).with_respect_to(next.template.id.as_str()));
        }
        (one.is_known() || !found.is_empty()).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, OTHER_KEY};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.launch_group("workers");
            tag(&mut c.template_version("workers", 2).instance_tags, OTHER_KEY, "owned");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.launch_group("workers");
            // A version that the group does not use.
            tag(&mut c.template_version("workers", 1).instance_tags, OTHER_KEY, "owned");
        });
    }
}
