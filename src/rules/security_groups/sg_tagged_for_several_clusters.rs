use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags;

use super::{GROUP, GROUPS, INSTANCES};

pub(super) const RULE: Rule = Rule {
    id: "sg-tagged-for-several-clusters",
    title: "a node's security group is tagged for several clusters",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "A group attached to members carries this cluster's tag and another's.",
    impact: "both controllers edit it; two AWS Load Balancer Controllers each treat the other's rules as their own and revoke them",
    fix: "Give each cluster a separate group.",
    applicability: Applicability::Choice,
    sources: &["https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2185"],
    example: "security group `sg-0a` of 3 instances carries cluster tags of alpha next to `bravo`",
    reads: &[INSTANCES, GROUPS],
    subjects: Subjects::MemberGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    region
        .members_by_group()
        .into_iter()
        .filter_map(|(id, members)| {
            let group = region.security_group(id)?;
            let foreign: Vec<&str> = tags::cluster_ids(&group.tags)
                .map(|(id, _)| id)
                .filter(|id| {
                    *id != own
                        && !group
                            .tags
                            .iter()
                            .any(|tag| tag.key == tags::cluster_key(id) && tags::is_certain_near_miss(tag, own))
                })
                .collect();
            if foreign.is_empty() || tags::cluster_value(&group.tags, own).is_none() {
                return None;
            }
            let message = format!(
                "security group `{id}` of {} carries cluster tags of {} next to `{}`",
                instances_phrase(&members),
                text::list(&foreign, 4),
                text::printable(own)
            );
            let fix = Fix::choose("give each cluster's nodes a separate group", Vec::new());
            Some(Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.group(aws::TAGGED_GROUP).tags, aws::OTHER_KEY, "owned"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.group(aws::PLAIN_GROUP).tags, aws::OTHER_KEY, "owned"));
    }
}
