use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags;

use super::{FIND_GROUP, GROUPS, INSTANCE, INSTANCES, choices, report_undecided};

pub(super) const RULE: Rule = Rule {
    id: "sg-multiple-tagged-on-instance",
    title: "several security groups of a node carry the cluster tag",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning when stopped, or on control-plane-only machines while no list of Nodes shows whether load balancers skip them",
    ),
    resources: INSTANCE,
    condition: "More than one security group attached to a member carries the cluster tag; its value does not matter, and a group listed twice counts twice. Nodes with the label `node.kubernetes.io/exclude-from-external-load-balancers` and, with `--nodes`, machines that are not Nodes are skipped. A Service's annotation `service.beta.kubernetes.io/aws-load-balancer-target-node-labels` may exclude more, which is not visible here.",
    impact: "the first such node stops the sync of every LoadBalancer Service with `Multiple tagged security groups found for instance`",
    fix: "Remove the tag from all but one of the groups; do not detach them. Tagged groups on load balancers are normal. EKS restores the tag of its cluster group: keep that one.",
    applicability: Applicability::Choice,
    sources: &[
        FIND_GROUP,
        "https://github.com/kubernetes/kubernetes/issues/73906",
        "https://github.com/kubernetes/cloud-provider-aws/issues/666",
    ],
    example: "2 security groups of 3 instances carry `kubernetes.io/cluster/bravo`: sg-0a, sg-0b",
    reads: &[INSTANCES, GROUPS],
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let key = context.cluster_key();
    report_undecided(context, region, true, |groups, members| {
        let message = format!(
            "{} of {} carry `{key}`: {}",
            text::count(groups.len(), "security group"),
            instances_phrase(members),
            text::list(groups, 5)
        );
        let own = context.cluster_id();
        let untag_others = |keep: &str| {
            let mut surplus: Vec<&str> = groups.iter().copied().filter(|id| *id != keep).collect();
            surplus.dedup();
            let marks = surplus.into_iter().filter_map(|id| region.security_group(id)).flat_map(|group| {
                // A legacy tag makes the group count as well.
                let marks = group.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
                marks.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag))
            });
            marks.collect()
        };
        let mut choices = choices(region, groups, own, "keep", untag_others);
        // EKS restores the tag on the cluster's group: that one stays.
        let of_eks = |id: &str| {
            region.security_group(id).is_some_and(|group| tags::value(&group.tags, "aws:eks:cluster-name").is_some())
        };
        if choices.iter().any(|choice| of_eks(&choice.value)) {
            choices.retain(|choice| of_eks(&choice.value));
        }
        let keep = choices.first().map(|choice| choice.value.clone()).unwrap_or_default();
        let question = format!("choose the group that stays tagged; to keep {keep}, remove the tag from the others");
        (message, Fix::choose(question, choices))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.group(aws::PLAIN_GROUP).tags, aws::KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.group(aws::PLAIN_GROUP).tags, aws::OTHER_KEY, "owned"));
    }
}
