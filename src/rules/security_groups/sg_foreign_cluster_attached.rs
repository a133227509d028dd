use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags::{self, SHARED};

use super::{FIND_GROUP, GROUP, GROUPS, INSTANCES, only_group};

pub(super) const RULE: Rule = Rule {
    id: "sg-foreign-cluster-attached",
    title: "a security group of another cluster is attached to a node",
    severity: RuleSeverity::depends(Severity::Error, "error if it is the only group, else warning"),
    resources: GROUP,
    condition: "A group attached to a member carries another cluster's tag and not this one's.",
    impact: "it counts as untagged; if it is the only group, this cluster's controller writes its rules into the other cluster's group",
    fix: "Use a group of this cluster, or tag the group `shared` for both.",
    applicability: Applicability::Choice,
    sources: &[FIND_GROUP, "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3325"],
    example: "security group `sg-0a` of alpha is the only group of 3 instances of `bravo`",
    reads: &[INSTANCES, GROUPS],
    subjects: Subjects::MemberGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let only = only_group(region);
    region
        .members_by_group()
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            if tags::has_cluster_tag(&group.tags, own) || !tags::has_foreign_cluster_tag(&group.tags, own) {
                return None;
            }
            let near = |tag: &crate::inventory::Tag| tags::is_certain_near_miss(tag, own);
            if group.tags.iter().any(near) {
                return None;
            }
            let ids: Vec<&str> = tags::cluster_ids(&group.tags).map(|(id, _)| id).collect();
            let alone = only.get(id).filter(|alone| alone.iter().any(|member| !member.is_stopped()));
            let (severity, of) = match alone {
                Some(alone) => (Severity::Error, format!("is the only group of {}", instances_phrase(alone))),
                None => (Severity::Warning, format!("is attached to {}", instances_phrase(&members))),
            };
            let message =
                format!("security group `{id}` of {} {of} of `{}`", text::list(&ids, 3), text::printable(own));
            let key = context.cluster_key();
            let all = ids.iter().map(|id| tags::cluster_key(id)).chain([key.clone()]);
            let share = all.flat_map(|key| region.set_tag(ResourceKind::SecurityGroup, [id], &key, SHARED)).collect();
            let fix = Fix::choose(
                "decide which cluster the group belongs to",
                vec![
                    Choice::with(
                        "share",
                        format!("both clusters use it: set the tags of both to `{SHARED}` (`{key}` here)"),
                        share,
                    ),
                    Choice::advice("replace", "the nodes need a group of this cluster"),
                ],
            );
            let others = members.iter().map(|member| region.bare(ResourceKind::Instance, &member.instance.id));
            Some(Violation::new(severity, region.resource(Tagged::SecurityGroup(group)), message, fix).related(others))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.group(aws::PLAIN_GROUP).tags, aws::OTHER_KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let tags = &mut c.group(aws::PLAIN_GROUP).tags;
            tag(tags, aws::OTHER_KEY, "owned");
            tag(tags, aws::KEY, "owned");
        });
    }
}
