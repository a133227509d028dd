use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, left_by, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-volume",
    title: "a volume of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Volume],
    condition: "A volume is `available`, owned by the cluster, and no live instance of the region is tagged for it. Auto Scaling groups are not inspected: a group with a nonzero desired capacity would launch nodes again.",
    impact: "nothing uses it, and it still costs money",
    fix: "Take a snapshot if the data matters, then delete the volume.",
    sources: &["https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/773"],
    example: "2 available volumes are owned by `bravo`, which has no live instance here",
    reads: &[INSTANCES, Read::DescribeVolumes],
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
    let found: Vec<Tagged<'_>> = region
        .volumes()
        .iter()
        .filter(|volume| volume.state == "available" && volume.attached_to.is_empty())
        .filter(|volume| tags::has_cluster_tag_owned(&volume.tags, context.cluster_id()))
        .map(Tagged::Volume)
        .collect();
    let message = left_by(context, found.len(), "available volume", "owned");
    one(
        region,
        &found,
        message,
        "check that no Auto Scaling group brings the cluster back, save the data, then delete them",
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let volume = c.region().volumes.first_mut().unwrap();
            volume.state = "available".to_owned();
            volume.attached_to.clear();
            tag(&mut volume.tags, aws::KEY, "owned");
            c.terminate();
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let volume = c.region().volumes.first_mut().unwrap();
            volume.state = "available".to_owned();
            volume.attached_to.clear();
            tag(&mut volume.tags, aws::KEY, "owned");
        });
    }
}
