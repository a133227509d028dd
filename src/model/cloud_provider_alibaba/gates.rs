//! Feature gates of the cloud configuration.

use crate::controller::ControllerVersion;
use crate::model::annotations::parse_bool;

/// Feature gate with which an annotation chooses the kind of load balancer.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/feature_gates.go#LoadBalancerTypeAnnotation`.
pub(super) const TYPE_GATE: &str = "LoadBalancerTypeAnnotation";

const fn two(minor: u32, patch: u32) -> ControllerVersion {
    ControllerVersion::new(2, minor, patch)
}

/// Gates, each with the first version that has it.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/feature_gates.go#CloudProviderFeatureGates`, before it
/// `pkg/controller/helper/feature_gates.go`, by tag from v2.1.0 to v2.14.0.
pub(crate) const GATES: [(&str, ControllerVersion); 4] = [
    ("EndpointSlice", two(1, 0)),
    ("FilterServiceOnNodeChange", two(9, 1)),
    ("IPv6DualStack", two(1, 0)),
    (TYPE_GATE, two(10, 0)),
];

/// Gates of the library.
const OF_LIBRARY: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Reason why the controller exits at an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateDefect {
    NoValue,
    /// The value is not a truth value.
    NotBool,
    /// A later version has the gate.
    NotYet(ControllerVersion),
    /// No version has the gate.
    Unknown,
}

/// The gates of a list, with their values; `None` for a value that is not a truth value.
pub(super) fn gates(list: &str) -> impl Iterator<Item = (&str, Option<bool>)> {
    list.split(',').filter(|entry| !entry.is_empty()).map(|entry| {
        let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
        (name.trim(), parse_bool(value.trim()))
    })
}

/// Entries at which the controller exits, in order. Without a version, gates of any version are accepted.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/feature_gates.go#BindFeatureGates`.
pub(crate) fn gate_defects(list: &str, version: Option<ControllerVersion>) -> Vec<(&str, GateDefect)> {
    let entries = list.split(',').filter(|entry| !entry.is_empty()).zip(gates(list));
    let found = entries.filter_map(|(entry, (name, value))| {
        let known = GATES.iter().find(|(known, _)| *known == name);
        let defect = match (value, known) {
            _ if !entry.contains('=') => GateDefect::NoValue,
            (None, _) => GateDefect::NotBool,
            (Some(_), Some((_, first))) if version.is_some_and(|version| version < *first) => {
                GateDefect::NotYet(*first)
            }
            (Some(_), None) if !OF_LIBRARY.contains(&name) => GateDefect::Unknown,
            (Some(_), _) => return None,
        };
        Some((name, defect))
    });
    found.collect()
}
