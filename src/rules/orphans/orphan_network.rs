use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-network",
    title: "the network of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::RouteTable],
    condition: "A VPC, subnet or route table is owned by the cluster, and no live instance of the region is tagged for it.",
    impact: "nothing uses it",
    fix: "Delete it with the tool that created it.",
    sources: &["https://github.com/kubernetes/kubernetes/issues/73480"],
    example: "3 subnets and 1 VPC owned by `bravo`, which has no live instance here",
    reads: &[INSTANCES, Read::DescribeVpcs, Read::DescribeSubnets, Read::DescribeRouteTables],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    match is_dead(context, region) {
        Some(true) => {}
        Some(false) => return CheckResult::clean(),
        None => return CheckResult::not_applicable(LAUNCHES_UNREAD),
    }
    let owned = |resource: &Tagged<'_>| tags::has_cluster_tag_owned(resource.tags(), context.cluster_id());
    let found: Vec<Tagged<'_>> = region
        .tagged()
        .filter(|resource| matches!(resource, Tagged::Vpc(_) | Tagged::Subnet(_) | Tagged::RouteTable(_)))
        .filter(owned)
        .collect();
    let mut kinds: BTreeMap<ResourceKind, usize> = BTreeMap::new();
    for resource in &found {
        *kinds.entry(resource.kind()).or_default() += 1;
    }
    let described: Vec<String> = kinds.iter().map(|(kind, number)| text::count(*number, kind.noun())).collect();
    let message = format!(
        "{} owned by `{}`, which has no live instance here",
        described.join(" and "),
        text::printable(context.cluster_id())
    );
    one(
        region,
        &found,
        message,
        "check that no Auto Scaling group brings the cluster back, then delete them with the tool that created them",
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, crate::testing::aws::Cluster::terminate);
    }

    #[test]
    fn a_group_whose_template_was_not_read_may_be_the_clusters() {
        aws::does_not_apply(&RULE, |c| {
            let group = c.launch_group("workers");
            group.instances.clear();
            group.tags.clear();
            c.region().launch_templates = None;
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
