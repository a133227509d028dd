use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, GROUPS, INSTANCES};

pub(super) const RULE: Rule = Rule {
    id: "sg-tagged-outside-vpc",
    title: "a security group of another VPC carries the cluster tag",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "A group with the cluster tag is in a VPC in which no member lives.",
    impact: "the controller's list of tagged groups covers the region, so two clusters that share an id revoke each other's rules",
    fix: "Find out who uses the id in that VPC; remove the tag there.",
    applicability: Applicability::Choice,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#getTaggedSecurityGroups"],
    example: "security group `sg-0a` of VPC `vpc-0b` carries the cluster tag, but no node lives there",
    reads: &[INSTANCES, GROUPS],
    subjects: Subjects::Region,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let vpcs = region.member_vpcs();
    if vpcs.is_empty() {
        return CheckResult::not_applicable("no instance is a node of the cluster");
    }
    region
        .region
        .security_groups
        .iter()
        .filter(|group| tags::has_cluster_tag(&group.tags, own))
        .filter(|group| group.vpc_id.as_deref().is_some_and(|vpc| !vpcs.contains(vpc)))
        .map(|group| {
            let vpc = group.vpc_id.as_deref().unwrap_or_default();
            let message = format!(
                "security group `{}` of VPC `{vpc}` carries the cluster tag, but no node lives there",
                group.id
            );
            let marks = group.tags.iter().filter(|tag| tags::has_cluster_tag(std::slice::from_ref(*tag), own));
            let remove =
                marks.flat_map(|tag| region.remove_tag(ResourceKind::SecurityGroup, [&group.id], tag)).collect();
            let fix = Fix::choose(
                "find out who uses the cluster id in that VPC",
                vec![Choice::with("remove-tag", "it is unused there: remove the tag", remove)],
            );
            Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let group = c.add_group("sg-0far");
            group.vpc_id = Some("vpc-0far".to_owned());
            tag(&mut group.tags, aws::KEY, "owned");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let group = c.add_group("sg-0far");
            group.vpc_id = Some("vpc-0far".to_owned());
            tag(&mut group.tags, aws::OTHER_KEY, "owned");
        });
    }
}
