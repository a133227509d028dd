use crate::controller::ControllerVersion;
use crate::model::cloud_provider_alibaba::NEWEST;
use crate::rules::ALIBABA;
use crate::rules::cloud_controller::on;
use crate::rules::prelude::*;

use super::{for_each_with_flags, from_two_on};

pub(super) const RULE: Rule = Rule {
    id: "ali-flag-removed",
    title: "the cloud controller is started with a flag that its version does not have",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning for a flag that version 2 removed, if the controller is older or its version is not known",
    ),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud is started with a flag that its version does not have: a flag that version 2 removed, such as `--address` or `--profiling` (a warning on older versions); a flag of version 2 on version 1, such as `--controllers`; `--feature-gates` from 2.9.1 on; `--sync-period` from 2.8.0 on; `--allocate-node-cidrs` before 2.2.0; `--max-concurrent-actions` before 2.11.2; `--enable-imdsv2` before 2.12.4; or a flag of no version, such as a misspelt one.",
    impact: "it does not start: `unknown flag`",
    fix: "Remove the flag; for addresses use `--metrics-bind-addr` and `--health-probe-bind-addr`, for gates `featureGates` of the cloud configuration.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/runtime_config.go#BindFlags",
        "kubernetes/cloud-provider-alibaba-cloud v1.9.3.376 cmd/cloudprovider/app/options/options.go#AddFlags",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager has `--address`, which version 2 of it does not know",
    ..Rule::evidence(ALIBABA, check)
};

/// Minimum similarity, from 0 to 1, of a flag to the one that is suggested for it.
const ALIKE: f64 = 0.85;

/// A flag, the first version that has it, and the first that no longer has it.
type Span = (&'static str, Option<ControllerVersion>, Option<ControllerVersion>);

/// Version 2 with a minor and a patch number.
const fn two(minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(2, minor, patch)
}

/// Flags that only some versions have. The others exit at start: `unknown flag`.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go#BindFlags` and
/// `pkg/config/runtime_config.go#BindFlags` by tag, v2.1.0 to v2.14.0, and `cmd/cloudprovider/app/core.go` of v1.9.3.
const FLAGS: &[Span] = &[
    ("address", None, Some(two(0, 0))),
    ("allocate-node-cidrs", Some(two(2, 0)), None),
    ("allow-untagged-cloud", Some(two(2, 0)), None),
    ("bind-address", None, Some(two(0, 0))),
    ("contention-profiling", None, Some(two(0, 0))),
    ("controller-start-interval", None, Some(two(0, 0))),
    ("enable-imdsv2", Some(two(12, 4)), None),
    ("feature-gates", Some(two(0, 0)), Some(two(9, 1))),
    ("kube-api-content-type", None, Some(two(0, 0))),
    ("max-concurrent-actions", Some(two(11, 2)), None),
    ("max-throttling-retry-times", Some(two(12, 4)), None),
    ("min-resync-period", None, Some(two(0, 0))),
    ("node-event-aggregation-wait-seconds", Some(two(11, 2)), None),
    ("node-reconcile-batch-size", Some(two(11, 2)), None),
    ("node-status-update-frequency", None, Some(two(0, 0))),
    ("port", None, Some(two(0, 0))),
    ("pprof-bind-addr", Some(two(8, 0)), None),
    ("profiling", None, Some(two(0, 0))),
    ("route-reconcile-batch-size", Some(two(11, 2)), None),
    ("secure-port", None, Some(two(0, 0))),
    ("sg-batch-size", Some(two(8, 0)), None),
    ("skip-disable-source-dest-check", Some(two(11, 2)), None),
    ("sync-period", Some(two(0, 0)), Some(two(8, 0))),
];

/// Flags of every version 2.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go#BindFlags` and
/// `pkg/config/runtime_config.go#BindFlags` by tag, v2.1.0 to v2.14.0.
const ALWAYS: &[&str] = &[
    "cloud-config",
    "cloud-provider",
    "cluster-cidr",
    "cluster-name",
    "concurrent-service-syncs",
    "configure-cloud-routes",
    "controllers",
    "dry-run",
    "health-probe-bind-addr",
    "kube-api-burst",
    "kube-api-qps",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "metrics-bind-addr",
    "network",
    "node-monitor-period",
    "route-reconciliation-period",
    "use-service-account-credentials",
];

/// Those of version 2 that version 1 has too. Source: kubernetes/cloud-provider-alibaba-cloud v1.9.3.376
/// `cmd/cloudprovider/app/options/options.go#AddFlags`, with `leaderelectionconfig.BindFlags` of Kubernetes, which names no
/// lock before 1.17.
const OF_VERSION_ONE: &[&str] = &[
    "allocate-node-cidrs",
    "allow-untagged-cloud",
    "cloud-config",
    "cloud-provider",
    "cluster-cidr",
    "cluster-name",
    "concurrent-service-syncs",
    "configure-cloud-routes",
    "feature-gates",
    "kube-api-burst",
    "kube-api-qps",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "node-monitor-period",
    "route-reconciliation-period",
    "use-service-account-credentials",
];

/// True if a flag came with version 2, and the version is 1.
fn is_of_version_two(name: &str, version: ControllerVersion) -> bool {
    let came = FLAGS.iter().any(|(known, first, _)| *known == name && first.is_some());
    version < two(0, 0) && (came || ALWAYS.contains(&name)) && !OF_VERSION_ONE.contains(&name)
}

/// Flags of the libraries that it contains. Sources: kubernetes/klog `klog.go#InitFlags`; kubernetes-sigs/controller-runtime
/// `pkg/client/config/config.go`.
const OF_LIBRARIES: &[&str] = &[
    "add_dir_header",
    "alsologtostderr",
    "kubeconfig",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "stderrthreshold",
    "v",
    "vmodule",
];

/// True if no version 2 that was read has a flag, and the version is one of them. Names of libraries have underscores, and
/// pflag compares them as they are.
fn is_unknown(name: &str, version: ControllerVersion) -> bool {
    !name.is_empty()
        && (two(0, 0)..=NEWEST).contains(&version)
        && !ALWAYS.contains(&name)
        && !OF_LIBRARIES.contains(&name)
        && !FLAGS.iter().any(|(known, ..)| *known == name)
}

/// The reason that a controller exits at a flag, with the fix.
struct Refusal {
    /// The version that does not know it, if it is not version 2 as such.
    version: Option<ControllerVersion>,
    fix: String,
}

fn refusal(flag: &str, version: Option<ControllerVersion>) -> Option<Refusal> {
    if version.is_some_and(|version| is_of_version_two(flag, version)) {
        return Some(Refusal { version, fix: "remove it, or upgrade the controller".to_owned() });
    }
    let Some((_, first, last)) = FLAGS.iter().find(|(name, ..)| *name == flag) else {
        let version = version.filter(|version| is_unknown(flag, *version))?;
        let fix = match text::most_alike(flag, ALWAYS.iter().copied(), ALIKE) {
            Some(other) => format!("replace it with `--{other}`, or remove it"),
            None => "remove it".to_owned(),
        };
        return Some(Refusal { version: Some(version), fix });
    };
    if *last == Some(two(0, 0)) {
        let fix = match flag {
            "address" | "bind-address" | "port" | "secure-port" => {
                "use `--metrics-bind-addr` and `--health-probe-bind-addr`"
            }
            _ => "remove it",
        };
        return Some(Refusal { version: None, fix: fix.to_owned() });
    }
    let version = version.filter(|version| *version >= two(0, 0))?;
    let is_outside = first.is_some_and(|first| version < first) || last.is_some_and(|last| version >= last);
    let fix = match flag {
        "feature-gates" => "set them as `featureGates` in the cloud configuration",
        _ => "remove it, or upgrade the controller",
    };
    is_outside.then(|| Refusal { version: Some(version), fix: fix.to_owned() })
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_with_flags(context, |controller| {
        let refused = controller.flags.iter().filter_map(|flag| Some((flag, refusal(&flag.name, controller.version)?)));
        let found = refused.map(|(flag, Refusal { version, fix })| {
            let message = |of_two: &str| {
                let version = version.map_or(of_two.to_owned(), |version| format!("version {version}"));
                let name = controller.name();
                let (name, flag) = (text::printable(&name), text::printable(&flag.name));
                format!("{name} has `--{flag}`, which {version} does not know")
            };
            let violation = match version {
                Some(_) => on(controller, Severity::Error, &flag.place, message("it"), &fix),
                None => from_two_on(controller, &flag.place, message, (RULE.impact, &fix)),
            };
            violation.with_respect_to(flag.name.as_str())
        });
        found.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
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
        for flag in ["sync-period=5m", "configure-cloud-route=false", "sg-batch-size=20"] {
            lint::fires(
                &RULE,
                &DEFECT
                    .replace("address=127.0.0.1", flag)
                    .replace("v2.9.0", if flag.starts_with("sg") { "v2.7.0" } else { "v2.8.0" }),
            );
        }
    }

    #[test]
    fn version_one_has_other_flags() {
        let old = DEFECT.replace("v2.9.0", "v1.9.3.376-g5c84e19-aliyun");
        for flag in ["--controllers=node", "--metrics-bind-addr=0", "--network=vpc"] {
            let (findings, _) = lint::outcome(&RULE, &old.replace("--address=127.0.0.1", flag));
            assert!(matches!(findings.as_slice(), [one] if one.severity == Severity::Error), "{flag}: {findings:?}");
        }
        for flag in ["--allocate-node-cidrs=true", "--leader-elect=true", "--cluster-cidr=10.0.0.0/8", "--v=5"] {
            lint::silent(&RULE, &old, "--address=127.0.0.1", flag);
        }
    }

    #[test]
    fn silent() {
        for flag in ["--cloud-config=/etc/c.conf", "--v=5", "--sg-batch-size=20", "--kubeconfig=/etc/k"] {
            lint::silent(&RULE, DEFECT, "--address=127.0.0.1", flag);
        }
        // A later version may have any flag.
        let later = DEFECT.replace("v2.9.0", "v2.99.0");
        lint::silent(&RULE, &later, "--address=127.0.0.1", "--new-flag=1");
    }
}
