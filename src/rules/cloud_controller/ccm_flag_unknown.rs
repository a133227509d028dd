use crate::controller::ControllerVersion;
use crate::kubernetes::controller_flags::{self, Known, OLDEST};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-flag-unknown",
    title: "the cloud controller is given a flag that it does not know",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller is given a flag that its version does not have, or that the version of `--target-controller` does not have: none ever had it, it came later, or it is gone, as `--port` and `--address` since 1.24, and `--logtostderr` and its like since 1.26.",
    impact: "it does not start: `unknown flag`",
    fix: "Take the flag out, or write it as the controller has it.",
    sources: &[
        "kubernetes/cloud-provider options/options.go",
        "kubernetes/component-base logs/klogflags/klogflags.go",
        "https://github.com/kubernetes/kubernetes/pull/108953",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--logtostderr`, which it knew until 1.25",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let target = context.evidence.target.controller;
    of_each(context, |controller| {
        // What a shell or a template makes of the words is not known; what stands behind the first dash may be cut from its flag.
        if !controller.knows_flags {
            return None;
        }
        let wrong =
            controller.flags.iter().find_map(|flag| Some((flag, wrong(&flag.name, controller.version, target)?)));
        let (flag, (why, fix)) = wrong?;
        let name = controller.name();
        let message = format!("{} has `--{}`, {why}", text::printable(&name), text::printable(&flag.name));
        Some(on(controller, Severity::Error, &flag.place, message, fix).with_respect_to(&flag.name))
    })
}

/// What is wrong with a flag, and what to do.
fn wrong(
    name: &str,
    version: Option<ControllerVersion>,
    target: Option<ControllerVersion>,
) -> Option<(String, String)> {
    let Some(Known { since, until }) = controller_flags::known(name) else {
        let fix = controller_flags::nearest(name).map_or_else(
            || format!("take `--{}` out", text::printable(name)),
            |nearest| format!("write `--{nearest}`"),
        );
        return Some(("which it does not know".to_owned(), fix));
    };
    let minor = |version: ControllerVersion| version.minor().filter(|minor| *minor >= OLDEST);
    let fix = format!("take `--{name}` out");
    if let Some(until) = until {
        let knew = |verb| format!("which it {verb} until 1.{}", until - 1);
        if version.and_then(minor).is_some_and(|minor| minor >= until) {
            return Some((knew("knew"), fix));
        }
        let target = target.filter(|target| minor(*target).is_some_and(|minor| minor >= until))?;
        return Some((format!("{}, and the target is {target}", knew("knows")), fix));
    }
    let since = since?;
    // A target that knows it says nothing of the version that runs.
    let is_before = version.and_then(minor).is_some_and(|minor| minor < since);
    is_before.then(|| (format!("which it knows from 1.{since} on"), fix))
}
