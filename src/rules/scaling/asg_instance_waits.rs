use jiff::{SignedDuration, Timestamp};

use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::aws::{InstanceState, LifecycleHook};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-instance-waits",
    title: "new instances of an Auto Scaling group wait for a lifecycle hook",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "Instances of a group of the cluster are in `Pending:Wait` fifteen minutes after their launch or later: nothing has completed the action of a lifecycle hook for `autoscaling:EC2_INSTANCE_LAUNCHING`. An instance that leaves a warm pool whose instances run has waited less.",
    impact: "the group registers such an instance with no load balancer; when the time of a hook with the default result `ABANDON` is over, Auto Scaling terminates the instance, even if its node is ready",
    fix: "Let what the hook is for complete the action (`autoscaling:CompleteLifecycleAction`), or remove the hook.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, How lifecycle hooks work in Auto Scaling groups",
        "Amazon EC2 Auto Scaling API Reference, LifecycleHook",
    ],
    example: "1 instance of `workers` is in Pending:Wait 15 minutes after launch or later (i-0a); lifecycle hook `ready` (ABANDON after 3600 seconds)",
    reads: &[
        Read::DescribeAutoScalingGroups,
        Read::DescribeInstances,
        Read::DescribeLaunchTemplateVersions,
        Read::DescribeLifecycleHooks,
    ],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

/// Time in which user data and a controller usually complete the action.
const SETTLED: SignedDuration = SignedDuration::from_mins(15);

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let now: Option<Timestamp> = context.view.inventory.collected_at.as_deref().and_then(|time| time.parse().ok());
    let Some(now) = now else {
        return CheckResult::not_applicable("the time of the inventory is not known");
    };
    for_each_group(context, region, |one| {
        let waits = |id: &&str| {
            let instance = region.region.instance(id);
            let instance = instance.filter(|one| matches!(one.state, InstanceState::Running | InstanceState::Pending));
            let launched = instance.and_then(|instance| instance.launch_time.as_deref());
            let launched: Option<Timestamp> = launched.and_then(|time| time.parse().ok());
            launched.is_some_and(|launched| now.duration_since(launched) >= SETTLED)
        };
        let new = one.group.waiting.iter().filter(|(_, state)| *state == "Pending:Wait");
        let late: Vec<&str> = new.map(|(id, _)| id.as_str()).filter(waits).collect();
        if late.is_empty() {
            return Some(Vec::new());
        }
        let verb = if late.len() == 1 { "is" } else { "are" };
        let message = format!(
            "{} of `{}` {verb} in Pending:Wait 15 minutes after launch or later ({}){}",
            text::count(late.len(), "instance"),
            text::printable(&one.group.name),
            text::list(&late, 6),
            hooks_of_launches(one)
        );
        let fix =
            "let what the hook is for complete the action (`autoscaling:CompleteLifecycleAction`), or remove the hook";
        let instances = late.iter().map(|id| region.bare(ResourceKind::Instance, id));
        Some(vec![on_group(region, one, Severity::Info, message, fix).related(instances)])
    })
}

/// The hooks for launches, with their results and times.
fn hooks_of_launches(one: &ScalingGroup<'_>) -> String {
    let Some(hooks) = &one.group.hooks else { return "; the lifecycle hooks were not read".to_owned() };
    let described = |hook: &LifecycleHook| {
        let result = hook.default_result.as_deref().unwrap_or("ABANDON");
        let time = hook.heartbeat_timeout.map(|seconds| format!(" after {seconds} seconds")).unwrap_or_default();
        format!("`{}` ({}{time})", text::printable(&hook.name), text::printable(result))
    };
    let hooks: Vec<String> = hooks.iter().filter(|hook| !hook.is_of_termination()).map(described).collect();
    match hooks.as_slice() {
        [] => "; the group has no lifecycle hook for launches any more".to_owned(),
        [only] => format!("; lifecycle hook {only}"),
        all => format!("; lifecycle hooks {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{LifecycleHook, RULE};
    use crate::testing::aws::{self, Cluster};

    fn waiting(c: &mut Cluster, state: &str, launched: &str) {
        c.inventory.collected_at = Some("2026-01-01T12:00:00Z".to_owned());
        c.instance(aws::WORKER).launch_time = Some(launched.to_owned());
        let group = c.launch_group("workers");
        group.waiting.insert(aws::WORKER.to_owned(), state.to_owned());
        group.hooks = Some(vec![LifecycleHook {
            name: "ready".to_owned(),
            transition: "autoscaling:EC2_INSTANCE_LAUNCHING".to_owned(),
            default_result: Some("ABANDON".to_owned()),
            heartbeat_timeout: Some(3600),
        }]);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| waiting(c, "Pending:Wait", "2026-01-01T11:30:00Z"));
        let said = aws::messages(&RULE, |c| waiting(c, "Pending:Wait", "2026-01-01T11:30:00Z"));
        assert!(said[0].ends_with("; lifecycle hook `ready` (ABANDON after 3600 seconds)"), "{said:?}");
        let said = aws::messages(&RULE, |c| {
            waiting(c, "Pending:Wait", "2026-01-01T11:30:00Z");
            c.launch_group("workers").hooks = Some(Vec::new());
        });
        assert!(said[0].ends_with("no lifecycle hook for launches any more"), "{said:?}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| waiting(c, "Pending:Wait", "2026-01-01T11:50:00Z"));
        // It drains.
        aws::silent(&RULE, |c| waiting(c, "Terminating:Wait", "2026-01-01T11:30:00Z"));
    }

    #[test]
    fn without_a_time_nothing_is_late() {
        aws::does_not_apply(&RULE, |c| {
            waiting(c, "Pending:Wait", "2026-01-01T11:30:00Z");
            c.inventory.collected_at = None;
        });
    }
}
