use crate::aws::view::{AUTO_SCALING_GROUP_TAG, RegionView};
use crate::aws::{Instance, InstanceState};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-warm-instance-untagged",
    title: "an Auto Scaling group keeps stopped instances without the cluster tag",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "Stopped instances of a group of the cluster, as its warm pool keeps them, have no cluster tag, while its running nodes have it. A tag that a group gets later does not reach the instances of its warm pool.",
    impact: "the next nodes are these instances: the cloud controller exits on such a control-plane node, and never registers such a worker with a load balancer",
    fix: "Tag the instances, or let the warm pool replace them.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Warm pools for applications with long boot times",
        "kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#initFromTags",
    ],
    example: "2 stopped instances of `workers` have no cluster tag: i-0a, i-0b",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    migration: Some(Prerequisite::Tags),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    for_each_group(context, region, |one| {
        let is_tagged = one.members.iter().any(|member| tags::has_cluster_tag(&member.instance.tags, id));
        let is_kept = |instance: &&Instance| {
            instance.state == InstanceState::Stopped
                && tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG) == Some(one.group.name.as_str())
                && !tags::has_cluster_tag(&instance.tags, id)
                && !tags::has_foreign_cluster_tag(&instance.tags, id)
        };
        let kept: Vec<&str> = region.region.instances.iter().filter(is_kept).map(|one| one.id.as_str()).collect();
        if !is_tagged || kept.is_empty() {
            return Some(Vec::new());
        }
        let verb = if kept.len() == 1 { "has" } else { "have" };
        let message = format!(
            "{} of `{}` {verb} no cluster tag: {}",
            text::count(kept.len(), "stopped instance"),
            text::printable(&one.group.name),
            text::list(&kept, 6)
        );
        let fix = "tag the instances, or let the warm pool replace them";
        let instances = kept.iter().map(|id| region.bare(ResourceKind::Instance, id));
        Some(vec![on_group(region, one, Severity::Warning, message, fix).related(instances)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InstanceState;
    use crate::testing::aws::{self, Cluster, KEY};
    use crate::testing::untag;

    fn warm(c: &mut Cluster) {
        c.launch_group("workers");
        let mut kept = c.instance(aws::WORKER).clone();
        kept.id = "i-0warm".to_owned();
        kept.state = InstanceState::Stopped;
        untag(&mut kept.tags, KEY);
        c.region().instances.push(kept);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, warm);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            warm(c);
            c.instance("i-0warm").state = InstanceState::Terminated;
        });
        aws::silent(&RULE, |c| {
            warm(c);
            crate::testing::tag(&mut c.instance("i-0warm").tags, KEY, "owned");
        });
        // Another rule reports the running nodes.
        aws::silent(&RULE, |c| {
            warm(c);
            for id in c.workers_of("workers") {
                untag(&mut c.instance(&id).tags, KEY);
            }
        });
    }
}
