use jiff::{SignedDuration, Timestamp};

use crate::aws::LifecycleHook;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "asg-instance-waits",
    title: "new instances of an Auto Scaling group wait for a lifecycle hook",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "Instances of a group of the cluster have been in `Pending:Wait` for fifteen minutes or longer, counted from their launch: nothing has completed the action of a lifecycle hook for `autoscaling:EC2_INSTANCE_LAUNCHING`.",
    impact: "the group registers such an instance with no load balancer; when the time of the hook is over, Auto Scaling terminates it if the default result is `ABANDON`, even if its node is ready",
    fix: "Let what the hook is for complete the action (`autoscaling:CompleteLifecycleAction`), or remove the hook.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, How lifecycle hooks work in Auto Scaling groups",
        "Amazon EC2 Auto Scaling API Reference, LifecycleHook",
    ],
    example: "1 instance of `workers` has been in Pending:Wait since its launch (i-0a): the lifecycle hook `ready` terminates it after 3600 seconds unless something completes the action",
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
            let launched = region.region.instance(id).and_then(|instance| instance.launch_time.as_deref());
            let launched: Option<Timestamp> = launched.and_then(|time| time.parse().ok());
            launched.is_some_and(|launched| now.duration_since(launched) >= SETTLED)
        };
        let new = one.group.waiting.iter().filter(|(_, state)| *state == "Pending:Wait");
        let late: Vec<&str> = new.map(|(id, _)| id.as_str()).filter(waits).collect();
        if late.is_empty() {
            return Some(Vec::new());
        }
        let hooks = one.group.hooks.iter().flatten().filter(|hook| !hook.is_of_termination());
        let hooks: Vec<String> = hooks.map(described).collect();
        let verb = if late.len() == 1 { "has" } else { "have" };
        let message = format!(
            "{} of `{}` {verb} been in Pending:Wait since launch ({}): {}",
            text::count(late.len(), "instance"),
            text::printable(&one.group.name),
            text::list(&late, 6),
            if hooks.is_empty() { "its lifecycle hooks are not known".to_owned() } else { hooks.join("; ") }
        );
        let fix =
            "let what the hook is for complete the action (`autoscaling:CompleteLifecycleAction`), or remove the hook";
        let instances = late.iter().map(|id| region.bare(ResourceKind::Instance, id));
        Some(vec![on_group(region, one, Severity::Info, message, fix).related(instances)])
    })
}

/// The time of a hook and what follows.
fn described(hook: &LifecycleHook) -> String {
    let name = text::printable(&hook.name);
    let time = hook.heartbeat_timeout.map_or_else(|| "its time".to_owned(), |seconds| format!("{seconds} seconds"));
    match hook.default_result.as_deref() {
        Some("CONTINUE") => format!("the lifecycle hook `{name}` puts them into service after {time}"),
        _ => format!("the lifecycle hook `{name}` terminates them after {time} unless something completes the action"),
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
        assert!(said[0].contains("`ready` terminates them after 3600 seconds"), "{said:?}");
        let said = aws::messages(&RULE, |c| {
            waiting(c, "Pending:Wait", "2026-01-01T11:30:00Z");
            c.launch_group("workers").hooks.as_mut().unwrap()[0].default_result = Some("CONTINUE".to_owned());
        });
        assert!(said[0].contains("puts them into service"), "{said:?}");
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
