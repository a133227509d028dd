//! Flags of the AWS cloud controller, for each of its minor versions. The flags depend on the libraries that it is
//! built with, whose minor versions match its own.
//! Sources, each at its tags from 1.20 on: kubernetes/cloud-provider `options`, kubernetes/controller-manager `options`
//! and `pkg/leadermigration/options`, kubernetes/component-base `logs`, `metrics`, `config/options`, `featuregate`,
//! `compatibility` and `version/verflag`, kubernetes/apiserver `pkg/server/options`, kubernetes/cloud-provider-aws
//! `pkg/controllers/options`.

/// Minor versions of 1 that have a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// First version; `None` for 1.20 or before.
    pub since: Option<u32>,
    /// First version that no longer has it.
    pub until: Option<u32>,
}

/// Oldest minor version whose flags are known.
pub(crate) const OLDEST: u32 = 20;

/// Versions that have a flag; `None` if no version has it. Dashes and underscores are equivalent.
/// Source: kubernetes/component-base `cli/flag/flags.go#WordSepNormalizeFunc`.
#[must_use]
pub(crate) fn known(name: &str) -> Option<Known> {
    let name = name.replace('_', "-");
    if let Some((_, since)) = LATER.iter().find(|(later, _)| *later == name) {
        return Some(Known { since: Some(*since), until: None });
    }
    if let Some((_, until)) = GONE.iter().find(|(gone, _)| *gone == name) {
        return Some(Known { since: None, until: Some(*until) });
    }
    ALWAYS.contains(&name.as_str()).then_some(Known { since: None, until: None })
}

/// Flag that is closest to a name, if one is close enough.
#[must_use]
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = ALWAYS.iter().copied().chain(LATER.iter().map(|(name, _)| *name));
    let near = |known: &&str| strsim::damerau_levenshtein(name, known);
    names.min_by_key(near).filter(|known| near(known) <= 3 && near(known) * 3 < known.len())
}

/// Added flags, with the first version that has them.
const LATER: &[(&str, u32)] = &[
    ("allow-metric-labels", 21),
    ("allow-metric-labels-manifest", 29),
    ("concurrent-node-status-updates", 36),
    ("concurrent-node-syncs", 27),
    ("disable-http2-serving", 31),
    ("disabled-metrics", 21),
    ("emulated-version", 32),
    ("enable-leader-migration", 21),
    ("leader-migration-config", 21),
    ("log-json-info-buffer-size", 23),
    ("log-json-split-stream", 23),
    ("log-text-info-buffer-size", 30),
    ("log-text-split-stream", 30),
    ("min-compatibility-version", 35),
    ("permit-address-sharing", 21),
    ("requestheader-uid-headers", 32),
    ("tagging-controller-concurrent-node-syncs", 32),
    ("tagging-controller-enable-batching", 32),
    ("tls-curve-preferences", 36),
    ("webhook-bind-address", 27),
    ("webhook-cert-dir", 27),
    ("webhook-disable-http2-serving", 36),
    ("webhook-secure-port", 27),
    ("webhook-tls-cert-file", 27),
    ("webhook-tls-cipher-suites", 36),
    ("webhook-tls-curve-preferences", 36),
    ("webhook-tls-min-version", 36),
    ("webhook-tls-private-key-file", 27),
    ("webhook-tls-sni-cert-key", 36),
    ("webhooks", 27),
];

/// Removed flags, with the first version that lacks them: serving without TLS, and klog flags other than `--v` and
/// `--vmodule`.
/// Sources: kubernetes/cloud-provider `options/options.go`, between 0.23 and 0.24; kubernetes/component-base
/// `logs/klogflags/klogflags.go`.
const GONE: &[(&str, u32)] = &[
    ("add-dir-header", 26),
    ("address", 24),
    ("alsologtostderr", 26),
    ("experimental-logging-sanitization", 24),
    ("insecure-bind-address", 24),
    ("insecure-port", 24),
    ("log-backtrace-at", 26),
    ("log-dir", 26),
    ("log-file", 26),
    ("log-file-max-size", 26),
    ("logtostderr", 26),
    ("one-output", 26),
    ("port", 24),
    ("skip-headers", 26),
    ("skip-log-headers", 26),
    ("stderrthreshold", 26),
];

/// Flags of every version.
const ALWAYS: &[&str] = &[
    "allocate-node-cidrs",
    "allow-untagged-cloud",
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "bind-address",
    "cert-dir",
    "cidr-allocator-type",
    "client-ca-file",
    "cloud-config",
    "cloud-provider",
    "cloud-provider-gce-l7lb-src-cidrs",
    "cloud-provider-gce-lb-src-cidrs",
    "cluster-cidr",
    "cluster-name",
    "concurrent-service-syncs",
    "configure-cloud-routes",
    "contention-profiling",
    "controller-start-interval",
    "controllers",
    "external-cloud-volume-plugin",
    "feature-gates",
    "help",
    "http2-max-streams-per-connection",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "log-flush-frequency",
    "logging-format",
    "master",
    "min-resync-period",
    "node-monitor-period",
    "node-status-update-frequency",
    "node-sync-period",
    "permit-port-sharing",
    "profiling",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
    "resources",
    "route-reconciliation-period",
    "secure-port",
    "show-hidden-metrics-for-version",
    "tagging-controller-burst-limit",
    "tagging-controller-rate-limit",
    "tags",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "use-service-account-credentials",
    "v",
    "version",
    "vmodule",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_known_by_its_versions() {
        let of = |name| known(name).map(|known| (known.since, known.until));
        assert_eq!(of("cloud-provider"), Some((None, None)));
        assert_eq!(of("cloud_provider"), Some((None, None)));
        assert_eq!(of("logtostderr"), Some((None, Some(26))));
        assert_eq!(of("port"), Some((None, Some(24))));
        assert_eq!(of("concurrent-node-syncs"), Some((Some(27), None)));
        assert_eq!(of("cluster-signing-cert-file"), None);
    }

    #[test]
    fn the_nearest_flag_is_near() {
        assert_eq!(nearest("configure-cloud-route"), Some("configure-cloud-routes"));
        assert_eq!(nearest("cloud-providr"), Some("cloud-provider"));
        assert_eq!(nearest("service-cluster-ip-range"), None);
        assert_eq!(nearest("x"), None);
    }

    #[test]
    fn a_flag_stands_in_one_list() {
        let mut all: Vec<&str> = ALWAYS.to_vec();
        all.extend(LATER.iter().chain(GONE).map(|(name, _)| *name));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
