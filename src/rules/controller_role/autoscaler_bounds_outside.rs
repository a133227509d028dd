use crate::aws::autoscaler::named_groups;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{autoscaler_violation, check_autoscalers};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-bounds-outside",
    title: "the cluster autoscaler may scale an Auto Scaling group beyond the limits of the group",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "MIN or MAX in `--nodes=MIN:MAX:NAME` of the cluster autoscaler is outside the range from `MinSize` to `MaxSize` of the Auto Scaling group.",
    impact: "AWS rejects sizes outside the limits of the group (ValidationError), and scaling stops at the limit",
    fix: "Use the limits of the group in `--nodes`, or change those of the group.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "Amazon EC2 Auto Scaling API Reference, SetDesiredCapacity",
    ],
    example: "Deployment kube-system/cluster-autoscaler scales the Auto Scaling group `workers` between 1 and 20 nodes, but the limits of the group are 1 and 6",
    reads: &[Read::DescribeAutoScalingGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_autoscalers(context, |run, groups, found| {
        let mut checked = 0;
        for named in named_groups(run) {
            let Some(group) = groups.iter().find(|group| group.name == named.name) else { continue };
            checked += 1;
            if named.min >= group.min_size && named.max <= group.max_size {
                continue;
            }
            let message = format!(
                "scales the Auto Scaling group `{}` between {} and {} nodes, but the limits of the group are {} and {}",
                text::printable(named.name),
                named.min,
                named.max,
                group.min_size,
                group.max_size
            );
            let fix = "use the limits of the group in `--nodes`, or change those of the group";
            found.push(autoscaler_violation(run, Severity::Warning, &message, named.name, fix));
        }
        checked
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
        - --nodes=1:6:workers
"
    );

    fn with_limits(c: &mut aws::Cluster, min: u32, max: u32) {
        c.manifests = WORLD;
        let group = c.add_scaling_group("workers", &[]);
        (group.min_size, group.max_size) = (min, max);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_limits(c, 1, 5));
        aws::fires(&RULE, |c| with_limits(c, 2, 6));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_limits(c, 0, 6));
    }
}
