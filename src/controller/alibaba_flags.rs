//! Flags of the cloud controller of Alibaba Cloud, by version.

use super::ControllerVersion;

/// A flag, the first version that has it, and the first that no longer has it.
pub(crate) type Span = (&'static str, Option<ControllerVersion>, Option<ControllerVersion>);

/// Version 2 with a minor and a patch number.
pub(crate) const fn two(minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(2, minor, patch)
}

/// Flags that only some versions have. The other versions exit at startup with `unknown flag`.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go#BindFlags` and
/// `pkg/config/runtime_config.go#BindFlags` by tag, v2.1.0 to v2.14.0, and `cmd/cloudprovider/app/core.go` of v1.9.3.
pub(crate) const FLAGS: &[Span] = &[
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
pub(crate) const ALWAYS: &[&str] = &[
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

/// Flags of version 2 that version 1 also has. Source: kubernetes/cloud-provider-alibaba-cloud v1.9.3.376
/// `cmd/cloudprovider/app/options/options.go#AddFlags`, with `leaderelectionconfig.BindFlags` of Kubernetes, which
/// names no lock before 1.17.
pub(crate) const OF_VERSION_ONE: &[&str] = &[
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

/// True if version 2 introduced the flag, and `version` is a version 1.
pub(crate) fn is_of_version_two(name: &str, version: ControllerVersion) -> bool {
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

/// True if `version` is a version 2 up to `newest`, and none of these has the flag. Flags of the libraries contain
/// underscores, which pflag does not normalise.
pub(crate) fn is_unknown(name: &str, version: ControllerVersion, newest: ControllerVersion) -> bool {
    !name.is_empty()
        && (two(0, 0)..=newest).contains(&version)
        && !ALWAYS.contains(&name)
        && !OF_LIBRARIES.contains(&name)
        && !FLAGS.iter().any(|(known, ..)| *known == name)
}

/// Type of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Duration,
    Whole,
    /// A whole number above zero.
    Positive,
    Number,
}

/// Flags of version 2 whose values have a type.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go#BindFlags` and
/// `pkg/config/runtime_config.go#BindFlags`, v2.1.0 to v2.14.0.
pub(crate) const TYPED: [(&str, Kind); 24] = [
    ("allocate-node-cidrs", Kind::Switch),
    ("allow-untagged-cloud", Kind::Switch),
    ("concurrent-service-syncs", Kind::Whole),
    ("configure-cloud-routes", Kind::Switch),
    ("dry-run", Kind::Switch),
    ("enable-imdsv2", Kind::Switch),
    ("kube-api-burst", Kind::Whole),
    ("kube-api-qps", Kind::Number),
    ("leader-elect", Kind::Switch),
    ("leader-elect-lease-duration", Kind::Duration),
    ("leader-elect-renew-deadline", Kind::Duration),
    ("leader-elect-retry-period", Kind::Duration),
    ("max-concurrent-actions", Kind::Positive),
    ("max-throttling-retry-times", Kind::Positive),
    ("node-event-aggregation-wait-seconds", Kind::Whole),
    ("node-monitor-period", Kind::Duration),
    ("node-reconcile-batch-size", Kind::Whole),
    ("route-reconcile-batch-size", Kind::Whole),
    ("route-reconciliation-period", Kind::Duration),
    ("sg-batch-size", Kind::Whole),
    ("skip-disable-source-dest-check", Kind::Switch),
    ("sync-period", Kind::Duration),
    ("use-service-account-credentials", Kind::Switch),
    ("v", Kind::Whole),
];

impl Kind {
    /// For a table.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Switch => "truth value",
            Self::Duration => "duration",
            Self::Whole => "whole number",
            Self::Positive => "whole number above zero",
            Self::Number => "number",
        }
    }
}
