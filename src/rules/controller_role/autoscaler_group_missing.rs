use crate::aws::autoscaler::named_groups;
use crate::aws::view::AUTO_SCALING_GROUP_TAG;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{autoscaler_violation, check_autoscalers};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-group-missing",
    title: "the cluster autoscaler names an Auto Scaling group that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--nodes` of the cluster autoscaler names an Auto Scaling group that the list of the regions of the cluster lacks, and that no instance names.",
    impact: "the autoscaler scales no other group in its place",
    fix: "Name the existing group in `--nodes`, or use `--node-group-auto-discovery`.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#parseExplicitAsgs",
    ],
    example: "Deployment kube-system/cluster-autoscaler names the Auto Scaling group `workers-old` in `--nodes`, which does not exist",
    reads: &[Read::DescribeAutoScalingGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_autoscalers(context, |run, groups, found| {
        let named = named_groups(run);
        let is_listed = |name: &str| groups.iter().any(|group| group.name == name);
        for one in named.iter().filter(|one| !is_listed(one.name) && !has_instances(context, one.name)) {
            let message = format!(
                "names the Auto Scaling group `{}` in `--nodes`, which does not exist",
                text::printable(one.name)
            );
            let fix = "name the existing group in `--nodes`, or use `--node-group-auto-discovery`";
            found.push(autoscaler_violation(run, Severity::Error, &message, one.name, fix));
        }
        named.len()
    })
}

/// True if an instance states that it is in the group: a list without it was filtered.
fn has_instances(context: &Context<'_>, group: &str) -> bool {
    let regions = context.view.inventory.accounts.iter().flat_map(|account| &account.regions);
    let mut instances = regions.flat_map(|region| &region.instances).filter(|instance| instance.state.is_live());
    instances.any(|instance| tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG) == Some(group))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::controllers::controller_with_role;
    use crate::testing::{aws, tag};

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

    fn with_group(c: &mut aws::Cluster, name: &str) {
        c.manifests = WORLD;
        c.add_scaling_group(name, &[]);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_group(c, "other"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_group(c, "workers"));
        // A list that lacks the group of an instance shows nothing.
        aws::silent(&RULE, |c| {
            with_group(c, "other");
            tag(&mut c.instance(aws::WORKER).tags, "aws:autoscaling:groupName", "workers");
        });
    }
}
