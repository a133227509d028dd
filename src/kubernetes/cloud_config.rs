//! Configurations of the AWS cloud controller, and the variables that each of its versions reads.
//! Sources, each at its tags from 1.20 on: kubernetes/cloud-provider-aws
//! `pkg/providers/v1/config/config.go#CloudConfig` (`aws.go` before 1.30) and
//! `pkg/providers/v1/aws.go#readAWSCloudConfig`.

use std::sync::Arc;

use crate::controller::ControllerVersion;
use crate::nodes;

use super::gcfg::{self, Section, SyntaxError};
use super::source::Source;

/// A configuration of the AWS cloud controller (`--cloud-config`).
#[derive(Debug, Clone)]
pub struct CloudConfig {
    /// Name of the holder: `ConfigMap kube-system/cloud-config`, or a file.
    pub name: String,
    /// Text of the configuration.
    pub source: Arc<Source>,
    pub sections: Result<Vec<Section>, SyntaxError>,
}

/// Type of the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Text,
    /// A regular expression.
    Pattern,
    Switch,
    /// A 32-bit number.
    Number,
    /// One of these texts, or empty.
    OneOf(&'static [&'static str]),
    /// Any of these texts, one a line.
    ManyOf(&'static [&'static str]),
}

/// A variable of at least one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// Name as in the source; case-insensitive.
    pub name: &'static str,
    pub holds: ValueType,
    /// First patches of the minor versions that have it, as [`has`] expects them; `None` for 1.20 or before.
    since: Option<Firsts>,
    /// First patches of the minor versions that no longer have it.
    until: Option<Firsts>,
}

/// First patch of each minor version with a feature. Minor versions after the last one have it from their first patch.
type Firsts = &'static [(u32, u32)];

/// True if a version has a feature that came with these patches.
fn has(version: ControllerVersion, firsts: Firsts) -> bool {
    let is_past = |(minor, _): &(u32, u32)| version >= ControllerVersion::new(1, minor + 1, 0);
    let is_in = |(minor, patch): &(u32, u32)| {
        version >= ControllerVersion::new(1, *minor, *patch) && version < ControllerVersion::new(1, minor + 1, 0)
    };
    firsts.last().is_some_and(is_past) || firsts.iter().any(is_in)
}

/// Versions that ignore unknown variables; earlier ones exit.
const READS_OVER: Firsts = &[(23, 18), (24, 16), (25, 12), (26, 7), (27, 3), (28, 2)];

const fn always(name: &'static str, holds: ValueType) -> Known {
    Known { name, holds, since: None, until: None }
}

const fn later(name: &'static str, holds: ValueType, since: Firsts) -> Known {
    Known { name, holds, since: Some(since), until: None }
}

/// Variables of `[Global]`.
const GLOBAL: [Known; 18] = [
    always("Zone", ValueType::Text),
    later("Region", ValueType::Text, &[(27, 1)]),
    always("VPC", ValueType::Text),
    always("SubnetID", ValueType::Text),
    always("RouteTableID", ValueType::Text),
    always("RoleARN", ValueType::Text),
    later("SourceARN", ValueType::Text, READS_OVER),
    always("KubernetesClusterTag", ValueType::Text),
    always("KubernetesClusterID", ValueType::Text),
    always("DisableSecurityGroupIngress", ValueType::Switch),
    always("ElbSecurityGroup", ValueType::Text),
    Known { name: "DisableStrictZoneCheck", holds: ValueType::Switch, since: None, until: Some(&[(27, 1)]) },
    later("NodeIPFamilies", ValueType::ManyOf(&["ipv4", "ipv6"]), &[(22, 0)]),
    later("ClusterServiceLoadBalancerHealthProbeMode", ValueType::OneOf(&["Shared", "ServiceNodePort"]), &[(33, 0)]),
    later("ClusterServiceSharedLoadBalancerHealthProbePort", ValueType::Number, &[(33, 0)]),
    later("ClusterServiceSharedLoadBalancerHealthProbePath", ValueType::Text, &[(33, 0)]),
    later("SupportedTopologyInstanceTypePattern", ValueType::Pattern, &[(30, 8), (31, 6), (32, 2)]),
    later("NLBSecurityGroupMode", ValueType::OneOf(&["Managed"]), &[(35, 0)]),
];

/// Variables of `[ServiceOverride "…"]`.
const OVERRIDE: [Known; 6] = [
    always("Service", ValueType::Text),
    always("Region", ValueType::Text),
    always("URL", ValueType::Text),
    always("SigningRegion", ValueType::Text),
    always("SigningMethod", ValueType::Text),
    always("SigningName", ValueType::Text),
];

/// Variables that every override must set.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/config/config.go#ValidateOverrides`.
pub(crate) const REQUIRED: [&str; 4] = ["Service", "Region", "URL", "SigningRegion"];

/// Variables that controllers of other clouds also have in sections of the same names.
const OF_OTHERS: [&str; 3] = ["Zone", "Region", "SubnetID"];

/// Variables that files of other programs also contain, such as shell environments.
const SHORT: [&str; 4] = ["VPC", "RouteTableID", "RoleARN", "SourceARN"];

/// True if a section is a service override; `None` if no version has the section.
#[must_use]
pub(crate) fn is_override(section: &Section) -> Option<bool> {
    if section.name.eq_ignore_ascii_case("ServiceOverride") {
        return Some(true);
    }
    (section.name.eq_ignore_ascii_case("Global") && section.subsection.is_empty()).then_some(false)
}

/// Variables that at least one version has in such a section.
#[must_use]
pub(crate) fn variables(is_override: bool) -> &'static [Known] {
    if is_override { &OVERRIDE } else { &GLOBAL }
}

impl Known {
    /// True if a version has the variable.
    #[must_use]
    pub(crate) fn is_available_in(&self, version: ControllerVersion) -> bool {
        self.since.is_none_or(|since| has(version, since)) && !self.until.is_some_and(|until| has(version, until))
    }

    /// Versions that have the variable, for display; empty if all do.
    #[must_use]
    pub(crate) fn versions(&self) -> String {
        let first = |firsts: Firsts| firsts.first().map(|(minor, patch)| format!("1.{minor}.{patch}"));
        match (self.since.and_then(first), self.until.and_then(first)) {
            (Some(since), _) => format!("from {since} on"),
            (None, Some(until)) => format!("before {until}"),
            (None, None) => String::new(),
        }
    }
}

/// True if a version ignores unknown variables. Earlier versions exit.
#[must_use]
pub(crate) fn reads_over(version: ControllerVersion) -> bool {
    has(version, READS_OVER)
}

/// Minimum similarity, at most 1, for a name to count as a misspelt variable.
const NEARLY: f64 = 0.9;

impl CloudConfig {
    /// True if a text is such a configuration: it begins with a section or a variable, and has something that only AWS
    /// has. Without a section of that name, this must be a variable that no other program has. Templates are ignored.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
        let section = |line: &str| line.strip_prefix('[').map(|rest| rest.trim_start().to_ascii_lowercase());
        let is_override = |line: &str| section(line).is_some_and(|name| name.starts_with("serviceoverride"));
        let is_global = |line: &str| section(line).is_some_and(|name| name.starts_with("global"));
        let variable = |line: &str| line.split_once('=').map_or(line, |(name, _)| name).trim_end().to_owned();
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-');
        let is_one_of = |name: &str, names: &[&str]| names.iter().any(|one| one.eq_ignore_ascii_case(name));
        let Some(first) = lines().next() else { return false };
        let begins = section(first).is_some_and(|name| name.starts_with(char::is_alphabetic) && name.contains(']'))
            || first.contains('=') && is_name(&variable(first));
        if !begins || text.contains("{{") {
            return false;
        }
        let all: Vec<&str> = variables(false).iter().map(|known| known.name).collect();
        let own: Vec<&str> =
            variables(false).iter().map(|known| known.name).filter(|known| !OF_OTHERS.contains(known)).collect();
        let unmistakable: Vec<&str> = own.iter().copied().filter(|name| !SHORT.contains(name)).collect();
        let is_first = is_global(first) || is_override(first);
        let value = |line: &str| line.split_once('=').map(|(_, value)| value.trim().trim_matches('"').to_owned());
        lines().any(|line| {
            let name = variable(line);
            // Zones of other clouds have another format. A rule reports misspelt variables.
            let of_aws = || lines().filter(|line| line.contains('=')).all(|line| is_one_of(&variable(line), &all));
            let is_region = || {
                name.eq_ignore_ascii_case("Region")
                    && value(line).is_some_and(|region| nodes::is_zone(&format!("{region}a")))
            };
            let is_zone = || name.eq_ignore_ascii_case("Zone") && value(line).is_some_and(|zone| nodes::is_zone(&zone));
            is_override(line)
                || is_one_of(&name, if is_first { &own } else { &unmistakable })
                || is_first
                    && (is_zone()
                        || is_region() && of_aws()
                        || crate::text::most_alike(&name, unmistakable.iter().copied(), NEARLY).is_some())
        })
    }

    /// Reads the text of a configuration.
    #[must_use]
    pub fn read(name: String, source: Arc<Source>) -> Self {
        let sections = gcfg::parse(source.text());
        Self { name, source, sections }
    }

    /// Value of a variable of `[Global]`, if not empty: the last occurrence counts.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&str> {
        let sections = self.sections.as_ref().ok()?.iter().filter(|section| is_override(section) == Some(false));
        let set = sections.flat_map(|section| &section.variables).filter(|one| one.name.eq_ignore_ascii_case(name));
        set.filter_map(|one| one.value.as_deref()).next_back().filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> &'static Known {
        variables(false).iter().find(|known| known.name == name).unwrap()
    }

    #[test]
    fn knows_variables_by_patch_release() {
        let of = |name: &str, version: &str| known(name).is_available_in(version.parse().unwrap());
        for (name, version, expected) in [
            ("Zone", "1.20.0", true),
            ("Region", "1.26.9", false),
            ("Region", "1.27.0", false),
            ("Region", "1.27.1", true),
            ("Region", "1.28.0", true),
            ("SourceARN", "1.23.17", false),
            ("SourceARN", "1.23.18", true),
            ("SourceARN", "1.24.15", false),
            ("SourceARN", "1.24.16", true),
            ("SourceARN", "1.28.1", false),
            ("SourceARN", "1.28", true),
            ("SourceARN", "1.29.0", true),
            ("DisableStrictZoneCheck", "1.27.0", true),
            ("DisableStrictZoneCheck", "1.27.1", false),
            ("DisableStrictZoneCheck", "1.36.0", false),
            ("NodeIPFamilies", "1.21.5", false),
            ("NodeIPFamilies", "1.22.0", true),
            ("SupportedTopologyInstanceTypePattern", "1.30.7", false),
            ("SupportedTopologyInstanceTypePattern", "1.30.8", true),
            ("SupportedTopologyInstanceTypePattern", "1.32.1", false),
            ("SupportedTopologyInstanceTypePattern", "1.33.0", true),
            ("ClusterServiceLoadBalancerHealthProbeMode", "1.32.9", false),
            ("ClusterServiceLoadBalancerHealthProbeMode", "1.33.0", true),
            ("NLBSecurityGroupMode", "1.34.9", false),
            ("NLBSecurityGroupMode", "1.35.0", true),
        ] {
            assert_eq!(of(name, version), expected, "{name} {version}");
        }
        for (version, expected) in
            [("1.22.9", false), ("1.27.2", false), ("1.27.3", true), ("1.28.1", false), ("1.29.0", true)]
        {
            assert_eq!(reads_over(version.parse().unwrap()), expected, "{version}");
        }
    }

    #[test]
    fn ignores_configurations_for_other_clouds() {
        for (text, expected) in [
            ("[Global]\nKubernetesClusterID = x\n", true),
            ("# x\n\n[global]\nvpc=vpc-1\n", true),
            ("[ServiceOverride \"1\"]\nService=ec2\n", true),
            ("[Global]\nauth-url=https://x\nregion=x\n[LoadBalancer]\nsubnet-id=x\n", false),
            ("[Global]\nproject-id = x\n", false),
            ("[Global]\nZone=us-east-1a\n", true),
            ("[Global]\nzone = europe-west1-b\n", false),
            ("[Global]\nRegion=us-east-1\n", true),
            ("[Global]\nregion=us-east-1\nauth-url=https://x\n", false),
            ("[Global]\nregion=RegionOne\n", false),
            ("[Global]\nKubernetesClusterld=x\n", true),
            ("a: [Global]\n", false),
            ("[plugins]\nVPC=x\n", false),
            ("\u{feff}[Global]\nVPC=x\n", true),
            ("[Globl]\nKubernetesClusterID=x\n", true),
            ("[LoadBalancer]\nx=y\n[Global]\nKubernetesClusterID=x\n", true),
            ("KubernetesClusterID = x\n", true),
            ("VPC=x\nRoleARN=y\n", false),
            ("export X=1\nKubernetesClusterID=x\n", false),
            ("a: |\n  [Global]\n  KubernetesClusterID = x\n", false),
            ("[1, 2]\n", false),
            ("[{\"a\": \"KubernetesClusterID\"}]\n", false),
            ("[Global]\nVPC=x\n{{- if .Values.x }}\n", false),
            ("", false),
        ] {
            assert_eq!(CloudConfig::is_one(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_variable_has_one_entry() {
        let mut names: Vec<&str> = variables(false).iter().map(|known| known.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GLOBAL.len());
        assert!(REQUIRED.iter().all(|name| variables(true).iter().any(|known| known.name == *name)));
    }
}
