use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::{for_each_controller, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-removed",
    title: "a flag that the cloud controller does not know",
    severity: RuleSeverity::depends(Severity::Error, "error; warning before version 2, or if the version is not known"),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud is started with a flag that its version does not have: one removed in version 2, such as `--address` or `--profiling` (a warning before that), `--feature-gates` from 2.9.1 on, `--max-concurrent-actions` before 2.11.2, `--enable-imdsv2` before 2.12.4.",
    impact: "it does not start: `unknown flag`",
    fix: "Remove the flag; for addresses use `--metrics-bind-addr` and `--health-probe-bind-addr`, for gates `featureGates` of the cloud configuration.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags"],
    example: "DaemonSet kube-system/cloud-controller-manager has `--address`, which version 2 of it does not know",
    ..Rule::evidence(ALIBABA, check)
};

/// A flag, the first version that has it, and the first that no longer has it.
type Span = (&'static str, Option<ControllerVersion>, Option<ControllerVersion>);

/// Version 2 with a minor and a patch number.
const fn two(minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(2, minor, patch)
}

/// Flags that only some versions have. The others exit at start: `unknown flag`.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go#BindFlags` by tag, and
/// `cmd/cloudprovider/app/core.go` of v1.9.3.
const FLAGS: &[Span] = &[
    ("address", None, Some(two(0, 0))),
    ("bind-address", None, Some(two(0, 0))),
    ("contention-profiling", None, Some(two(0, 0))),
    ("controller-start-interval", None, Some(two(0, 0))),
    ("enable-imdsv2", Some(two(12, 4)), None),
    ("feature-gates", Some(two(0, 0)), Some(two(9, 1))),
    ("kube-api-content-type", None, Some(two(0, 0))),
    ("max-concurrent-actions", Some(two(11, 2)), None),
    ("max-throttling-retry-times", Some(two(12, 4)), None),
    ("min-resync-period", None, Some(two(0, 0))),
    ("node-status-update-frequency", None, Some(two(0, 0))),
    ("port", None, Some(two(0, 0))),
    ("profiling", None, Some(two(0, 0))),
    ("secure-port", None, Some(two(0, 0))),
    ("skip-disable-source-dest-check", Some(two(11, 2)), None),
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_controller(context, |controller| {
        let known = |flag: &str| FLAGS.iter().find(|(name, ..)| *name == flag);
        let is_of_one = |name: &str| ["address", "bind-address", "port", "secure-port"].contains(&name);
        let name = controller.name();
        for flag in &controller.flags {
            let Some((_, first, last)) = known(&flag.name) else { continue };
            let told = |version: &str| {
                format!("{} has `--{}`, which {version} does not know", text::printable(&name), flag.name)
            };
            if *last == Some(two(0, 0)) {
                let fix = if is_of_one(&flag.name) {
                    "use `--metrics-bind-addr` and `--health-probe-bind-addr`"
                } else {
                    "remove it"
                };
                return Some(from_two_on(controller, &flag.place, told, (RULE.impact, fix)));
            }
            let Some(version) = controller.version else { continue };
            let is_two = version >= ControllerVersion::new(2, 0, 0);
            if is_two && (first.is_some_and(|first| version < first) || last.is_some_and(|last| version >= last)) {
                let fix = match flag.name.as_str() {
                    "feature-gates" => "set them as `featureGates` in the cloud configuration",
                    _ => "remove it, or upgrade the controller",
                };
                let told = |_: &str| told(&format!("version {version}"));
                return Some(from_two_on(controller, &flag.place, told, (RULE.impact, fix)));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.0
        command:
        - --address=127.0.0.1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "--address=127.0.0.1", "--cloud-config=/etc/c.conf");
    }
}
