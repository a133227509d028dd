use jiff::Timestamp;

use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::aws::{Instance, InstanceRefresh};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_read_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-refresh-failed",
    title: "the latest instance refresh of an Auto Scaling group failed",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "The latest instance refresh of a group of the cluster has the status `RollbackFailed`; or it has the status `Failed`, and the group still has an instance that was launched before it began. Instances without a known time of launch count.",
    impact: "the group has instances that it would not launch today, or that were to be replaced",
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
    for_each_read_group(context, region, "the instance refreshes of the groups were not read", |one| {
        let latest = one.group.refreshes.as_ref()?.first();
        let failed = latest.filter(|latest| matches!(latest.status.as_str(), "Failed" | "RollbackFailed"));
        let matters = |latest: &&InstanceRefresh| is_rollback(latest) || has_older_instance(region, one, latest);
        let found = failed.filter(matters).map(|latest| {
            let day = latest.started_at.as_deref().and_then(|time| time.split('T').next());
            let parts = day.map(str::to_owned).into_iter();
            // The percentage falls while a rollback goes on.
            let percentage = latest.percentage.filter(|_| !is_rollback(latest));
            let parts = parts.chain(percentage.map(|part| format!("{part} % replaced")));
            let parts: Vec<String> = parts.map(|part| text::printable(&part).into_owned()).collect();
            let about = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
            let reason = latest.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(": {}", text::printable(reason))).unwrap_or_default();
            let what = if is_rollback(latest) { "the rollback of the" } else { "the" };
            let message = format!(
                "{what} latest instance refresh of `{}`{about} failed{reason}",
                text::printable(&one.group.name)
            );
            let fix = "correct what the reason names, and start the instance refresh again";
            on_group(region, one, Severity::Info, message, fix)
        });
        Some(found.into_iter().collect())
    })
}

fn is_rollback(latest: &InstanceRefresh) -> bool {
    latest.status == "RollbackFailed"
}

/// True if an instance of the group may be older than its refresh.
fn has_older_instance(region: &RegionView<'_>, one: &ScalingGroup<'_>, latest: &InstanceRefresh) -> bool {
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    let began = time(&latest.started_at);
    let instances = one.group.instances.iter().filter_map(|id| region.region.instance(id));
    let mut instances = instances.filter(|instance| instance.state.is_live());
    let mut members = one.members.iter().map(|member| member.instance);
    let is_older =
        |instance: &Instance| began.zip(time(&instance.launch_time)).is_none_or(|(began, launched)| launched < began);
    instances.any(is_older) || members.any(is_older)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InstanceRefresh;
    use crate::testing::aws::{self, Cluster};

    fn refreshed(c: &mut Cluster, status: &str) {
        c.launch_group("workers");
        launched(c, "2025-12-01T00:00:00Z");
        c.launch_group("workers").refreshes = Some(vec![InstanceRefresh {
            status: status.to_owned(),
            reason: Some("The security group does not exist.".to_owned()),
            started_at: Some("2026-01-01T10:00:00Z".to_owned()),
            percentage: Some(40),
            ..InstanceRefresh::default()
        }]);
    }

    /// Sets when the workers were launched.
    fn launched(c: &mut Cluster, time: &str) {
        for id in c.workers_of("workers") {
            c.instance(&id).launch_time = Some(time.to_owned());
        }
    }

    #[test]
    fn fires() {
        for status in ["Failed", "RollbackFailed"] {
            aws::fires(&RULE, |c| refreshed(c, status));
        }
        let said = aws::messages(&RULE, |c| refreshed(c, "Failed"));
        let expected = "the latest instance refresh of `workers` (2026-01-01, 40 % replaced) failed: The security group does not exist.";
        assert_eq!(said, [expected]);
        let said = aws::messages(&RULE, |c| refreshed(c, "RollbackFailed"));
        let expected = "the rollback of the latest instance refresh of `workers` (2026-01-01) failed: The security group does not exist.";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn silent() {
        for status in ["Successful", "InProgress", "Cancelled", "RollbackSuccessful"] {
            aws::silent(&RULE, |c| refreshed(c, status));
        }
        aws::silent(&RULE, |c| c.launch_group("workers").refreshes = Some(Vec::new()));
        // Every instance is younger.
        aws::silent(&RULE, |c| {
            refreshed(c, "Failed");
            launched(c, "2026-01-02T00:00:00Z");
        });
    }

    #[test]
    fn a_refresh_that_was_not_read_decides_nothing() {
        aws::does_not_apply(&RULE, |c| drop(c.launch_group("workers").clone()));
    }
}
