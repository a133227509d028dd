use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-launch-suspended",
    title: "an Auto Scaling group does not launch instances: the process is suspended",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "The process `Launch` of a group of the cluster is suspended. `AZRebalance` alone, which kOps and EKS suspend, is not reported.",
    impact: "a node that is lost is not replaced, and the cluster autoscaler waits for nodes that never come",
    fix: "Resume the process, unless it is suspended on purpose.",
    sources: &["Amazon EC2 Auto Scaling User Guide, Suspend and resume Amazon EC2 Auto Scaling processes"],
    example: "`workers` launches no instances: the process Launch is suspended",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    for_each_group(context, region, |one| {
        let is_suspended = one.launch.suspended.iter().any(|process| process == "Launch");
        let message = || {
            let name = text::printable(&one.group.name);
            format!("`{name}` launches no instances: the process Launch is suspended")
        };
        let fix = "resume the process, unless it is suspended on purpose";
        let found = is_suspended.then(|| on_group(region, one, Severity::Info, message(), fix));
        Some(found.into_iter().collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.launch_group("workers").launch.as_mut().unwrap().suspended = vec!["Launch".to_owned()];
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.launch_group("workers").launch.as_mut().unwrap().suspended = vec!["AZRebalance".to_owned()];
        });
    }
}
