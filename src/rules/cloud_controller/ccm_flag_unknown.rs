use crate::controller::ControllerVersion;
use crate::kubernetes::controller_flags::{self, Known, OLDEST};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-flag-unknown",
    title: "the cloud controller has an unknown flag",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "An AWS cloud controller has a flag that its version, or the version of `--target-controller`, does not support: the flag never existed, was added later, or was removed, such as `--port` and `--address` in 1.24, and `--logtostderr` and similar flags in 1.26.",
    impact: "it does not start: `unknown flag`",
    fix: "Remove the flag, or use the controller's spelling.",
    sources: &[
        "kubernetes/cloud-provider options/options.go",
        "kubernetes/component-base logs/klogflags/klogflags.go",
        "https://github.com/kubernetes/kubernetes/pull/108953",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `--logtostderr`, which it supported until 1.25",
    migration: Some(Prerequisite::Controller),
    stops_workloads: true,
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let target = context.evidence.target.controller;
    for_each_aws(context, |controller| {
        // The output of a shell or a template is not known; the text behind the first dash may be separated from its
        // flag.
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

/// Problem with a flag, and its fix.
fn wrong(
    name: &str,
    version: Option<ControllerVersion>,
    target: Option<ControllerVersion>,
) -> Option<(String, String)> {
    let Some(Known { since, until }) = controller_flags::known(name) else {
        let fix = controller_flags::nearest(name)
            .map_or_else(|| format!("remove `--{}`", text::printable(name)), |nearest| format!("use `--{nearest}`"));
        return Some(("which is not one of its flags".to_owned(), fix));
    };
    let minor = |version: ControllerVersion| version.minor().filter(|minor| *minor >= OLDEST);
    let fix = format!("remove `--{name}`");
    if let Some(until) = until {
        let knew = |verb| format!("which it {verb} until 1.{}", until - 1);
        if version.and_then(minor).is_some_and(|minor| minor >= until) {
            return Some((knew("supported"), fix));
        }
        let target = target.filter(|target| minor(*target).is_some_and(|minor| minor >= until))?;
        return Some((format!("{}, and the target is {target}", knew("supports")), fix));
    }
    let since = since?;
    // A target that supports the flag proves nothing about the running version.
    let is_before = version.and_then(minor).is_some_and(|minor| minor < since);
    is_before.then(|| (format!("which it supports from 1.{since} on"), fix))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
        args:
        - --port=0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--port=0", "--secure-port=0");
    }
}
