use crate::aws::autoscaler::autoscalers;
use crate::aws::scaling_groups::{ScalingGroup, groups_of_cluster};
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{DISCOVERY, GROUP, for_each_group, group_tag, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-group-tags",
    title: "the cluster autoscaler does not discover an Auto Scaling group that its neighbours' tags suggest it should",
    severity: RuleSeverity::depends(Severity::Warning, "warning with one of the two tags, info with none"),
    resources: GROUP,
    condition: "A group of workers lacks a discovery tag of the cluster autoscaler (`k8s.io/cluster-autoscaler/enabled`, `k8s.io/cluster-autoscaler/<ID>`) that another group of the cluster has together with the first. Skipped: groups of a fixed size, those with the tag of another cluster, and clusters whose autoscaler was given: its arguments decide.",
    impact: "an autoscaler that selects by both tags never scales the group",
    fix: "Add the missing tags to the group; they need not propagate.",
    applicability: Applicability::Confirm,
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_wrapper.go#getAutoscalingGroupsByTags",
    ],
    example: "`batch` has the autoscaler's tag `k8s.io/cluster-autoscaler/enabled` and lacks `k8s.io/cluster-autoscaler/prod`, which `workers` has",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if !autoscalers(context.kubernetes).is_empty() {
        return CheckResult::not_applicable("the arguments of the cluster autoscaler state which groups it manages");
    }
    let (enabled, own) = (format!("{DISCOVERY}enabled"), format!("{DISCOVERY}{}", context.cluster_id()));
    let has = |one: &ScalingGroup<'_>, key: &str| tags::value(&one.group.tags, key).is_some();
    let groups = groups_of_cluster(region, context.cluster_id()).unwrap_or_default();
    let Some(example) = groups.iter().find(|one| has(one, &enabled) && has(one, &own)) else {
        return CheckResult::not_applicable(
            "no Auto Scaling group of the cluster has both tags of the cluster autoscaler",
        );
    };
    for_each_group(context, region, |one| {
        let (is_enabled, is_own) = (has(one, &enabled), has(one, &own));
        let is_fixed = one.group.min_size == one.group.max_size;
        let is_another = !is_own
            && one
                .group
                .tags
                .iter()
                .filter_map(|tag| tag.key.strip_prefix(DISCOVERY))
                .any(|name| name != "enabled" && !name.contains('/'));
        if (is_enabled && is_own)
            || is_fixed
            || is_another
            || one.is_of_control_plane(region)
            || tags::has_foreign_cluster_tag(&one.group.tags, context.cluster_id())
        {
            return Some(Vec::new());
        }
        let name = text::printable(&one.group.name);
        let other = text::printable(&example.group.name);
        let (severity, message) = match (is_enabled, is_own) {
            (false, false) => {
                (Severity::Info, format!("`{name}` has no tags of the cluster autoscaler, which `{other}` has"))
            }
            (is_enabled, _) => {
                let (held, lacking) = if is_enabled { (&enabled, &own) } else { (&own, &enabled) };
                let text =
                    format!("`{name}` has the autoscaler's tag `{held}` and lacks `{lacking}`, which `{other}` has");
                (Severity::Warning, text)
            }
        };
        let lacking = [(&enabled, "true"), (&own, tags::OWNED)].into_iter().filter(|(key, _)| !has(one, key));
        let changes = lacking.map(|(key, value)| group_tag(region, one, (key, value), false)).collect();
        let by_hand = "add the missing tags to the group, if the autoscaler should scale it";
        let violation = on_group(region, one, severity, message, String::new());
        Some(vec![Violation { fix: Fix::with(Applicability::Confirm, by_hand, changes), ..violation }])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::tag;

    const ENABLED: &str = "k8s.io/cluster-autoscaler/enabled";
    const OWN: &str = "k8s.io/cluster-autoscaler/c-m-4x8z2k9q";

    fn discovered(c: &mut Cluster) {
        let group = c.launch_group("workers");
        tag(&mut group.tags, ENABLED, "true");
        tag(&mut group.tags, OWN, "owned");
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            discovered(c);
            c.launch_group("batch");
        });
        aws::fires(&RULE, |c| {
            discovered(c);
            tag(&mut c.launch_group("batch").tags, ENABLED, "true");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, discovered);
        aws::silent(&RULE, |c| {
            discovered(c);
            // A fixed size needs no autoscaler.
            let group = c.launch_group("batch");
            group.max_size = group.min_size;
        });
    }
}
