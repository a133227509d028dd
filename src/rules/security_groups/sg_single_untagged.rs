use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags::{self, OWNED, SHARED};

use super::{FIND_GROUP, GROUP, GROUPS, INSTANCES, only_group};

pub(super) const RULE: Rule = Rule {
    id: "sg-single-untagged",
    title: "the only security group of a node is untagged",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "A member has exactly one security group, and it carries no cluster tag.",
    impact: "load balancing works, but clean-up inspects only tagged groups: rules of deleted Network Load Balancers stay in the group, and with controllers before v1.32.0 those of Classic ones too",
    fix: "Add `kubernetes.io/cluster/<ID>=owned`, or `shared` where other clusters' nodes use the group. Rancher's `rancher-nodes` exists once per VPC, and all its clusters share it.",
    applicability: Applicability::Confirm,
    sources: &[
        FIND_GROUP,
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#updateInstanceSecurityGroupsForNLB",
    ],
    example: "security group `sg-0a`, the only one of 3 instances, has no tag `kubernetes.io/cluster/bravo`",
    reads: &[INSTANCES, GROUPS],
    subjects: Subjects::MemberGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let foreign = region.foreign_users(own, |instance| instance.security_groups.iter().map(String::as_str).collect());
    only_group(region)
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            let near = |tag: &crate::inventory::Tag| tags::is_certain_near_miss(tag, own);
            if tags::has_cluster_tag(&group.tags, own)
                || tags::has_foreign_cluster_tag(&group.tags, own)
                || group.tags.iter().any(near)
            {
                return None;
            }
            let value = if foreign.contains_key(id) || group.name == "rancher-nodes" { SHARED } else { OWNED };
            let message =
                format!("security group `{id}`, the only one of {}, has no tag `{key}`", instances_phrase(&members));
            // `owned` lets other tools delete it, and `shared` means that others' nodes have it: the operator decides.
            let changes = region.set_tag(ResourceKind::SecurityGroup, [id], &key, value);
            let fix = Fix::with(Applicability::Confirm, format!("add `{key}={value}`"), changes);
            let others = members.iter().map(|member| region.bare(ResourceKind::Instance, &member.instance.id));
            Some(
                Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
                    .related(others),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.set_groups(&[aws::PLAIN_GROUP]));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.set_groups(&[aws::TAGGED_GROUP]));
    }
}
