//! The AWS node termination handler with a queue, and the instances whose events it handles.
//! Sources: aws/aws-node-termination-handler `pkg/config/config.go#ParseCliArgs`,
//! `pkg/monitor/sqsevent/sqs-monitor.go#processInterruptionEvents` and `#getNodeInfo`.

use crate::aws::autoscaler::EKS_NODE_GROUP;
use crate::aws::companions::{CompanionRun, companions, is_reference};
use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::Member;
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::kubernetes::{Evidence, is_false, is_true};
use crate::tags::{self, Tag};

/// Key of the tag that it asks for by default.
const MANAGED: &str = "aws-node-termination-handler/managed";

/// Release from which it checks the tags of the instance alone; before, those of its Auto Scaling group count too.
/// Source: aws/aws-node-termination-handler v1.17.0, `pkg/monitor/sqsevent/sqs-monitor.go#getNodeInfo`.
const TAGS_OF_INSTANCE: ControllerVersion = ControllerVersion::new(1, 17, 0);

/// A node termination handler that reads a queue.
#[derive(Debug)]
pub(crate) struct QueueHandler<'e> {
    pub(crate) run: CompanionRun<'e>,
    pub(crate) scope: HandlerScope,
}

/// The instances whose events a handler takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandlerScope {
    All,
    /// Those with a tag of this key.
    Tagged(String),
}

/// An option, which the command line gives before the environment.
enum Given<'r> {
    Absent,
    Value(&'r str),
    /// It is given, but not known.
    Hidden,
}

/// The handlers whose options are known.
pub(crate) fn queue_handlers(evidence: &Evidence) -> Vec<QueueHandler<'_>> {
    let all = companions(evidence).into_iter().filter(|run| run.row.companion == Companion::NodeTerminationHandler);
    all.filter_map(|run| {
        let scope = scope(&run)?;
        Some(QueueHandler { run, scope })
    })
    .collect()
}

/// True if a handler reads a queue, whatever its options are.
#[cfg(feature = "aws")]
pub(crate) fn reads_queue(evidence: &Evidence) -> bool {
    companions(evidence).iter().any(|run| run.row.companion == Companion::NodeTerminationHandler)
}

/// The instances that it takes; `None` if an option that decides it is not known.
fn scope(run: &CompanionRun<'_>) -> Option<HandlerScope> {
    if !run.knows_arguments() {
        return None;
    }
    // Releases before 1.17.0 do not know the newer names.
    let knows_newer = run.version.is_none_or(|version| version >= TAGS_OF_INSTANCE);
    let choose = |newer: (&str, &'static str), older: (&str, &'static str)| match option(run, newer) {
        Given::Value(value) if knows_newer => Some(Some(value.to_owned())),
        Given::Hidden if knows_newer => None,
        _ => match option(run, older) {
            Given::Value(value) => Some(Some(value.to_owned())),
            Given::Hidden => None,
            Given::Absent => Some(None),
        },
    };
    let checks = choose(
        ("check-tag-before-draining", "CHECK_TAG_BEFORE_DRAINING"),
        ("check-asg-tag-before-draining", "CHECK_ASG_TAG_BEFORE_DRAINING"),
    )?;
    let checks = match checks.as_deref() {
        None => true,
        Some(value) if is_true(value) => true,
        Some(value) if is_false(value) => false,
        Some(_) => return None,
    };
    let tag = choose(("managed-tag", "MANAGED_TAG"), ("managed-asg-tag", "MANAGED_ASG_TAG"))?;
    let tagged = || HandlerScope::Tagged(tag.unwrap_or_else(|| MANAGED.to_owned()));
    Some(if checks { tagged() } else { HandlerScope::All })
}

fn option<'r>(run: &'r CompanionRun<'_>, (flag, variable): (&str, &'static str)) -> Given<'r> {
    if !run.arguments(flag).is_empty() {
        return run.argument(flag).map_or(Given::Hidden, Given::Value);
    }
    // Whole ConfigMaps or Secrets may hold it.
    if run.workload.has_hidden_credentials {
        return Given::Hidden;
    }
    match run.container.settings.get(variable) {
        Some(value) if value.is_empty() => Given::Absent,
        Some(value) if is_reference(value) => Given::Hidden,
        Some(value) => Given::Value(value),
        None if run.workload.environment.iter().any(|name| name == variable) => Given::Hidden,
        None => Given::Absent,
    }
}

impl QueueHandler<'_> {
    /// True if it handles the events of an instance with these tags, in a group with those.
    pub(crate) fn takes(&self, of_instance: &[Tag], of_group: &[Tag]) -> bool {
        let HandlerScope::Tagged(key) = &self.scope else { return true };
        let has = |held: &[Tag]| tags::value(held, key).is_some();
        let looks_at_group = self.run.version.is_none_or(|version| version < TAGS_OF_INSTANCE);
        has(of_instance) || looks_at_group && has(of_group)
    }

    /// True if it handles the events of a group's nodes.
    pub(crate) fn takes_group(&self, one: &ScalingGroup<'_>) -> bool {
        let mut members = one.members.iter();
        let of_next = || one.known().any(|next| self.takes(&next.tags, &one.group.tags));
        members.any(|member| self.takes(&member.instance.tags, &one.group.tags)) || one.members.is_empty() && of_next()
    }
}

/// True for a node that EKS or Karpenter drains before it is terminated.
/// Sources: aws/aws-node-termination-handler README.md (managed node groups); aws/karpenter-provider-aws
/// `website/content/en/docs/concepts/disruption.md`, "Interruption".
pub(crate) fn is_drained_by_others(member: &Member<'_>) -> bool {
    let mut keys = member.instance.tags.iter().map(|tag| tag.key.as_str());
    keys.any(|key| key == EKS_NODE_GROUP || key.starts_with("karpenter.sh/"))
}

/// True for the group of a managed node group of EKS.
pub(crate) fn is_of_eks(one: &ScalingGroup<'_>) -> bool {
    tags::value(&one.group.tags, EKS_NODE_GROUP).is_some()
}
