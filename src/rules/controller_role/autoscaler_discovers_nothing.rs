use crate::aws::autoscaler::{TagSelector, discoveries, has_unknown_groups, managed_groups};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{autoscaler_violation, check_autoscalers};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-discovers-nothing",
    title: "the discovery tags of the cluster autoscaler match no Auto Scaling group",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The tags of `--node-group-auto-discovery=asg:tag=…` of the cluster autoscaler match no Auto Scaling group in the regions of the cluster. A group must have every key, with the given value if the argument has one. White space in the list is part of a key. An autoscaler that also has an existing group by `--nodes` is skipped, and so is one with arguments that refer to variables.",
    impact: "the autoscaler manages no group: pending Pods stay pending",
    fix: "Tag the groups with these keys, or correct the argument.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_manager.go#parseASGAutoDiscoverySpec",
    ],
    example: "Deployment kube-system/cluster-autoscaler selects no Auto Scaling group: no group has all of the tags k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/staging",
    reads: &[Read::DescribeAutoScalingGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_autoscalers(context, |run, groups, found| {
        let selectors = discoveries(run);
        if selectors.is_empty() || has_unknown_groups(run) {
            return 0;
        }
        if managed_groups(run, groups).is_empty() {
            let tags = selectors.iter().map(TagSelector::text).collect::<Vec<_>>().join(" or of ");
            let mut message =
                format!("selects no Auto Scaling group: no group has all of the tags {}", text::printable(&tags));
            let spaced: Vec<String> = selectors
                .iter()
                .flat_map(TagSelector::spaced)
                .map(|key| format!("\"{}\"", text::printable(key)))
                .collect();
            let mut fix = "tag the groups with these keys, or correct `--node-group-auto-discovery`";
            if !spaced.is_empty() {
                message.push_str(&format!("; white space is part of the key {}", text::list(&spaced, 3)));
                fix = "remove the white space from `--node-group-auto-discovery`";
            }
            found.push(autoscaler_violation(run, Severity::Warning, &message, &tags, fix));
        }
        selectors.len()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    const WORLD: &str = controller_with_role!(
        "cluster-autoscaler",
        "autoscaler",
        "      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command:
        - ./cluster-autoscaler
        - --cloud-provider=aws
        - --node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,team=a
"
    );

    fn with_tags(c: &mut aws::Cluster, tags: &[(&str, &str)]) {
        c.manifests = WORLD;
        c.add_scaling_group("workers", tags);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_tags(c, &[("team", "a")]));
        aws::fires(&RULE, |c| with_tags(c, &[("k8s.io/cluster-autoscaler/enabled", "true"), ("team", "b")]));
    }

    #[test]
    fn white_space_is_part_of_a_key() {
        let found = aws::messages(&RULE, |c| {
            with_tags(c, &[("k8s.io/cluster-autoscaler/enabled", "true"), ("team", "a")]);
            c.manifests = Box::leak(WORLD.replace("enabled,team", "enabled, team").into_boxed_str());
        });
        assert!(found[0].ends_with("; white space is part of the key \" team\""), "{found:?}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_tags(c, &[("k8s.io/cluster-autoscaler/enabled", "no"), ("team", "a")]));
    }
}
