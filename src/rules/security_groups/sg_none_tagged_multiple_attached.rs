use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags::{OWNED, SHARED};

use super::{FIND_GROUP, GROUPS, INSTANCE, INSTANCES, choices, report_undecided};

pub(super) const RULE: Rule = Rule {
    id: "sg-none-tagged-multiple-attached",
    title: "a node has several security groups and none is tagged",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning when stopped, or on control-plane-only machines while no list of Nodes shows whether load balancers skip them",
    ),
    resources: INSTANCE,
    condition: "Two or more security groups are attached to a member and none carries the cluster tag. Nodes with the label `node.kubernetes.io/exclude-from-external-load-balancers` and, with `--nodes`, machines that are not Nodes are skipped.",
    impact: "the first such node stops the sync of every LoadBalancer Service with `Multiple untagged security groups found for instance`",
    fix: "Tag exactly one of the groups.",
    applicability: Applicability::Choice,
    sources: &[
        FIND_GROUP,
        "https://github.com/rancher/rancher/issues/31028",
        "https://github.com/eksctl-io/eksctl/issues/8440",
    ],
    example: "none of the 2 security groups of 3 instances carries `kubernetes.io/cluster/bravo`: sg-0a, sg-0b",
    reads: &[INSTANCES, GROUPS],
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let key = context.cluster_key();
    let own = context.cluster_id();
    let foreign = region.foreign_users(own, |instance| instance.security_groups.iter().map(String::as_str).collect());
    report_undecided(context, region, false, |groups, members| {
        let message = format!(
            "none of the {} of {} carries `{key}`: {}",
            text::count(groups.len(), "security group"),
            instances_phrase(members),
            text::list(groups, 5)
        );
        let tag = |id: &str| {
            let value = if foreign.contains_key(id) { SHARED } else { OWNED };
            region.set_tag(ResourceKind::SecurityGroup, [id], &key, value)
        };
        let choices = choices(region, groups, context.cluster_id(), "tag", tag);
        let pick = choices.first().map(|choice| choice.value.clone()).unwrap_or_default();
        (message, Fix::choose(format!("choose the group that gets `{key}`; the command tags {pick}"), choices))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.group(aws::TAGGED_GROUP).tags.clear());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.set_groups(&[aws::PLAIN_GROUP]));
    }
}
