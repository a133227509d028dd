use crate::aws::autoscaler::{autoscalers, managed_groups};
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{DISCOVERY, GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-group-of-two-clusters",
    title: "the autoscaler of another cluster discovers an Auto Scaling group",
    severity: RuleSeverity::always(Severity::Warning),
    resources: GROUP,
    condition: "A group of the cluster has the discovery tags of the cluster autoscaler for another cluster, `k8s.io/cluster-autoscaler/enabled` and `k8s.io/cluster-autoscaler/OTHER`. Skipped: groups that the arguments of an autoscaler of this cluster select, whatever their tags.",
    impact: "the other autoscaler takes instances that do not join its cluster for unregistered nodes, and removes them",
    fix: "Replace the tag with that of this cluster.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes/autoscaler cluster-autoscaler/clusterstate/clusterstate.go#getNotRegisteredNodes",
    ],
    example: "`batch` has the discovery tag of another cluster's autoscaler, `k8s.io/cluster-autoscaler/staging`",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let id = context.cluster_id();
    let own = autoscalers(context.kubernetes);
    for_each_group(context, region, |one| {
        let named = one.group.tags.iter().filter_map(|tag| tag.key.strip_prefix(DISCOVERY));
        let named: Vec<&str> = named.collect();
        if own.iter().any(|run| !managed_groups(run, &[one.group]).is_empty()) {
            return Some(Vec::new());
        }
        let is_name = |name: &&&str| **name != id && **name != "enabled" && !name.contains('/') && !name.is_empty();
        let found = named.iter().filter(|_| named.contains(&"enabled")).filter(is_name).map(|other| {
            let message = format!(
                "`{}` has the discovery tag of another cluster's autoscaler, `{DISCOVERY}{}`",
                text::printable(&one.group.name),
                text::printable(other)
            );
            let fix = if named.contains(&id) {
                "remove it".to_owned()
            } else {
                format!("replace it with `{DISCOVERY}{}`", text::printable(id))
            };
            on_group(region, one, Severity::Warning, message, fix).with_respect_to(*other)
        });
        Some(found.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let group = c.launch_group("workers");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/enabled", "true");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/staging", "owned");
        });
    }

    #[test]
    fn a_group_with_the_own_tag_too_loses_the_other() {
        let fix = aws::only_fix(&RULE, |c| {
            let group = c.launch_group("workers");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/enabled", "true");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/staging", "owned");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/c-m-4x8z2k9q", "owned");
        });
        assert_eq!(fix.summary, "remove it");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let group = c.launch_group("workers");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/enabled", "true");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/c-m-4x8z2k9q", "owned");
            tag(&mut group.tags, "k8s.io/cluster-autoscaler/node-template/label/pool", "workers");
        });
    }
}
