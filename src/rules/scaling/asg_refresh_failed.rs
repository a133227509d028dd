use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-refresh-failed",
    title: "the latest instance refresh of an Auto Scaling group failed",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "The latest instance refresh of a group of the cluster, which Amazon EC2 Auto Scaling lists for six weeks, has the status `Failed` or `RollbackFailed`.",
    impact: "the group has nodes of both configurations, or still those that were to be replaced",
    fix: "Correct what the reason names, and start the instance refresh again.",
    sources: &[
        "Amazon EC2 Auto Scaling API Reference, DescribeInstanceRefreshes",
        "Amazon EC2 Auto Scaling User Guide, How an instance refresh works in an Auto Scaling group",
    ],
    example: "the latest instance refresh of `workers` (2026-01-01, 40 % replaced) failed: there is a problem with the security groups",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstanceRefreshes,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    for_each_group(context, region, |one| {
        let latest = one.group.refreshes.as_ref()?.first();
        let failed = latest.filter(|latest| matches!(latest.status.as_str(), "Failed" | "RollbackFailed"));
        let found = failed.map(|latest| {
            let day = latest.started_at.as_deref().and_then(|time| time.split('T').next());
            let parts = day.map(str::to_owned).into_iter();
            let parts = parts.chain(latest.percentage.map(|part| format!("{part} % replaced")));
            let parts: Vec<String> = parts.map(|part| text::printable(&part).into_owned()).collect();
            let about = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
            let reason = latest.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(": {}", text::printable(reason))).unwrap_or_default();
            let message =
                format!("the latest instance refresh of `{}`{about} failed{reason}", text::printable(&one.group.name));
            let fix = "correct what the reason names, and start the instance refresh again";
            on_group(region, one, Severity::Info, message, fix)
        });
        Some(found.into_iter().collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InstanceRefresh;
    use crate::testing::aws::{self, Cluster};

    fn refreshed(c: &mut Cluster, status: &str) {
        c.launch_group("workers").refreshes = Some(vec![InstanceRefresh {
            status: status.to_owned(),
            reason: Some("The security group does not exist.".to_owned()),
            started_at: Some("2026-01-01T10:00:00Z".to_owned()),
            percentage: Some(40),
            ..InstanceRefresh::default()
        }]);
    }

    #[test]
    fn fires() {
        for status in ["Failed", "RollbackFailed"] {
            aws::fires(&RULE, |c| refreshed(c, status));
        }
        let said = aws::messages(&RULE, |c| refreshed(c, "Failed"));
        let expected = "the latest instance refresh of `workers` (2026-01-01, 40 % replaced) failed: The security group does not exist.";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn silent() {
        for status in ["Successful", "InProgress", "Cancelled", "RollbackSuccessful"] {
            aws::silent(&RULE, |c| refreshed(c, status));
        }
        aws::silent(&RULE, |c| c.launch_group("workers").refreshes = Some(Vec::new()));
    }

    #[test]
    fn a_refresh_that_was_not_read_decides_nothing() {
        aws::does_not_apply(&RULE, |c| drop(c.launch_group("workers").clone()));
    }
}
