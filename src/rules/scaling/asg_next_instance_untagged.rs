use crate::aws::launches::NextInstance;
use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, for_each_group, group_tag, next_key, next_phrase, on_group, template_resource};

pub(super) const RULE: Rule = Rule {
    id: "asg-next-instance-untagged",
    title: "an Auto Scaling group launches instances without the cluster tag",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "The next instance of a group of the cluster gets no cluster tag: neither from a tag of the group that propagates (`PropagateAtLaunch`), nor from the version of the launch template that the group uses, for each template of a mixed instances policy. User data that tags the instance is not considered. Not reported with a tag of another cluster, which `asg-next-instance-foreign` reports.",
    impact: "the cloud controller exits on such a control-plane node, and never registers such a worker with a load balancer",
    fix: "Let the tag of the group propagate, or add it to the instance tags of the launch template. `--fix` lets it propagate; instances that run already do not get it.",
    applicability: Applicability::Confirm,
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Tag Auto Scaling groups and instances",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
    ],
    example: "the next instance of `workers` (version 2 of `lt-0a`) gets no cluster tag: version 1 of the template has it",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
    ],
    subjects: Subjects::ScalingGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    let key = context.cluster_key();
    for_each_group(context, region, |one| {
        let lacks = |held: &[tags::Tag]| !tags::has_cluster_tag(held, id) && !tags::has_foreign_cluster_tag(held, id);
        let why = |next: Option<&NextInstance<'_>>| reason(one, next, id);
        let by_hand =
            format!("let `{key}` of the group propagate, or add it to the instance tags of the launch template");
        // A tag of the group with another value stays as it is.
        let is_free = tags::value(&one.group.tags, &key).is_none_or(|value| value == tags::OWNED);
        let fix = if is_free && !tags::has_foreign_cluster_tag(&one.group.tags, id) {
            let change = group_tag(region, one, (&key, tags::OWNED), true);
            Fix::with(Applicability::Confirm, by_hand, vec![change])
        } else {
            Fix::none(by_hand)
        };
        if one.group.next_templates().is_empty() {
            let found = lacks(&one.propagated()).then(|| {
                let name = text::printable(&one.group.name);
                let message = format!("the next instance of `{name}` gets no cluster tag: {}", why(None));
                Violation { fix: fix.clone(), ..on_group(region, one, Severity::Warning, message, String::new()) }
            });
            return Some(found.into_iter().collect());
        }
        let mut found = Vec::new();
        for next in one.known().filter(|next| lacks(&next.tags)) {
            let message = format!("{} gets no cluster tag: {}", next_phrase(one, next), why(Some(next)));
            let violation = on_group(region, one, Severity::Warning, message, String::new());
            let violation = Violation { fix: fix.clone(), ..violation };
            found.push(violation.related([template_resource(next)]).with_respect_to(next_key(next)));
        }
        (one.is_known() || !found.is_empty()).then_some(found)
    })
}

/// Reason why an instance gets no cluster tag.
fn reason(one: &ScalingGroup<'_>, next: Option<&NextInstance<'_>>, id: &str) -> String {
    if tags::has_cluster_tag(&one.group.tags, id) {
        return "the tag of the group does not propagate".to_owned();
    }
    let versions = next.iter().flat_map(|next| &next.template.versions);
    let mut with_tag = versions.filter(|version| tags::has_cluster_tag(&version.instance_tags, id));
    match (with_tag.next(), next) {
        (Some(version), _) => format!("version {} of the template has it", version.number),
        (None, Some(_)) => "neither the group nor the template has it".to_owned(),
        (None, None) => "the group has none that propagates".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, KEY, OTHER_KEY};
    use crate::testing::{tag, untag};

    #[test]
    fn fires() {
        // The tag of the group does not propagate.
        aws::fires(&RULE, |c| c.launch_group("workers").launch.as_mut().unwrap().propagated.clear());
        // Neither has it.
        aws::fires(&RULE, |c| untag(&mut c.launch_group("workers").tags, KEY));
        // The latest version drops it.
        aws::fires(&RULE, |c| {
            untag(&mut c.launch_group("workers").tags, KEY);
            tag(&mut c.template_version("workers", 1).instance_tags, KEY, "owned");
        });
        // A launch configuration has no tags.
        aws::fires(&RULE, |c| {
            let launch = c.launch_group("workers").launch.as_mut().unwrap();
            launch.templates.clear();
            launch.propagated.clear();
        });
        // One template of several.
        aws::fires(&RULE, |c| {
            untag(&mut c.launch_group("workers").tags, KEY);
            tag(&mut c.template_version("workers", 2).instance_tags, KEY, "owned");
            c.add_override("workers", "arm");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| drop(c.launch_group("workers").clone()));
        // The template alone is enough.
        aws::silent(&RULE, |c| {
            untag(&mut c.launch_group("workers").tags, KEY);
            tag(&mut c.template_version("workers", 2).instance_tags, KEY, "owned");
        });
        // The other rule reports it.
        aws::silent(&RULE, |c| {
            c.launch_group("workers").launch.as_mut().unwrap().propagated.clear();
            tag(&mut c.template_version("workers", 2).instance_tags, OTHER_KEY, "owned");
        });
    }
}
