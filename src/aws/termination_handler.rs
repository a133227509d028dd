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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given<T> {
    Absent,
    Value(T),
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

/// The instances that it takes; `None` if an option that decides it is not known, or if it drains nothing.
fn scope(run: &CompanionRun<'_>) -> Option<HandlerScope> {
    if !run.knows_arguments() {
        return None;
    }
    match switch(run, "dry-run", "DRY_RUN") {
        Given::Absent | Given::Value(false) => {}
        Given::Value(true) | Given::Hidden => return None,
    }
    // Releases before 1.17.0 do not know the newer names.
    let knows_newer = run.version.is_none_or(|version| version >= TAGS_OF_INSTANCE);
    let checks = switch(run, "check-tag-before-draining", "CHECK_TAG_BEFORE_DRAINING");
    let checks = if knows_newer { checks } else { Given::Absent };
    let older = || switch(run, "check-asg-tag-before-draining", "CHECK_ASG_TAG_BEFORE_DRAINING");
    let checks = if checks == Given::Absent { older() } else { checks };
    match checks {
        Given::Value(false) => return Some(HandlerScope::All),
        Given::Value(true) | Given::Absent => {}
        Given::Hidden => return None,
    }
    let tag = match text(run, "managed-tag", "MANAGED_TAG") {
        given if knows_newer && given != Given::Absent => given,
        _ => text(run, "managed-asg-tag", "MANAGED_ASG_TAG"),
    };
    match tag {
        Given::Value(tag) => Some(HandlerScope::Tagged(tag.to_owned())),
        Given::Absent => Some(HandlerScope::Tagged(MANAGED.to_owned())),
        Given::Hidden => None,
    }
}

/// A boolean option.
fn switch(run: &CompanionRun<'_>, flag: &str, variable: &'static str) -> Given<bool> {
    match text(run, flag, variable) {
        Given::Value(value) if is_true(value) => Given::Value(true),
        Given::Value(value) if is_false(value) => Given::Value(false),
        Given::Value(_) | Given::Hidden => Given::Hidden,
        Given::Absent => Given::Absent,
    }
}

fn text<'r>(run: &'r CompanionRun<'_>, flag: &str, variable: &'static str) -> Given<&'r str> {
    match go_flag(run, flag) {
        Some(value) if is_reference(value) => Given::Hidden,
        Some(value) => Given::Value(value),
        None => of_environment(run, variable),
    }
}

/// Flags that take no next word as their value; those that begin with `enable-` and `check-` are others.
/// Source: `pkg/config/config.go#ParseCliArgs` (`flag.BoolVar`).
const SWITCHES: [&str; 11] = [
    "cordon-only",
    "delete-local-data",
    "delete-sqs-msg-if-node-not-found",
    "dry-run",
    "emit-kubernetes-events",
    "exclude-from-load-balancers",
    "ignore-daemon-sets",
    "json-logging",
    "taint-node",
    "use-apiserver-cache",
    "use-provider-id",
];

/// Value of a flag, the last one if it is repeated. The first word that is not a flag ends them.
/// Source: golang/go `src/flag/flag.go#FlagSet.parseOne`.
fn go_flag<'r>(run: &'r CompanionRun<'_>, flag: &str) -> Option<&'r str> {
    let mut words = run.container.words.iter().map(|word| word.value.as_str()).peekable();
    // The program, if the words begin with it.
    words.next_if(|word| !word.starts_with('-'));
    let mut found = None;
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|rest| !rest.is_empty())
        else {
            break;
        };
        let is_switch = SWITCHES.contains(&rest) || rest.starts_with("enable-") || rest.starts_with("check-");
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name, value),
            None if is_switch => (rest, "true"),
            None => (rest, words.next()?),
        };
        if name == flag {
            found = Some(value);
        }
    }
    found
}

fn of_environment<'r>(run: &'r CompanionRun<'_>, variable: &'static str) -> Given<&'r str> {
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
