//! Configurations of the AWS cloud controller, and which of its versions reads what in them.
//! Sources, each at its tags from 1.20 on: kubernetes/cloud-provider-aws `pkg/providers/v1/config/config.go#CloudConfig` (`aws.go` before
//! 1.30) and `pkg/providers/v1/aws.go#readAWSCloudConfig`.

use std::sync::Arc;

use crate::controller::ControllerVersion;
use crate::nodes;

use super::gcfg::{self, Section, SyntaxError};
use super::source::Source;

/// A configuration of the AWS cloud controller (`--cloud-config`).
#[derive(Debug, Clone)]
pub struct CloudConfig {
    /// What holds it: `ConfigMap kube-system/cloud-config`, or a file.
    pub name: String,
    /// Its text.
    pub source: Arc<Source>,
    /// Its sections, or why it has none.
    pub sections: Result<Vec<Section>, SyntaxError>,
}

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Any text.
    Text,
    /// A regular expression.
    Pattern,
    /// A switch.
    Switch,
    /// A number of 32 bits.
    Number,
    /// One of some texts, or none.
    OneOf(&'static [&'static str]),
    /// Some of these texts, one a line.
    ManyOf(&'static [&'static str]),
}

/// A variable that some version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// As the source writes it; case does not matter.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// The first patches of the minor versions that have it, as [`has`] takes them; `None` where that is 1.20 or before.
    since: Option<Firsts>,
    /// The same of those that do not have it any more.
    until: Option<Firsts>,
}

/// The first patch of each minor version that has something. Minor versions behind the last one have it from their first patch.
type Firsts = &'static [(u32, u32)];

/// Whether a version has what came with some patches.
fn has(version: ControllerVersion, firsts: Firsts) -> bool {
    let is_past = |(minor, _): &(u32, u32)| version >= ControllerVersion::new(1, minor + 1, 0);
    let is_in = |(minor, patch): &(u32, u32)| {
        version >= ControllerVersion::new(1, *minor, *patch) && version < ControllerVersion::new(1, minor + 1, 0)
    };
    firsts.last().is_some_and(is_past) || firsts.iter().any(is_in)
}

/// Versions that read over what they do not know; those before end.
const READS_OVER: Firsts = &[(23, 18), (24, 16), (25, 12), (26, 7), (27, 3), (28, 2)];

const fn always(name: &'static str, holds: Holds) -> Known {
    Known { name, holds, since: None, until: None }
}

const fn later(name: &'static str, holds: Holds, since: Firsts) -> Known {
    Known { name, holds, since: Some(since), until: None }
}

/// Variables of `[Global]`.
const GLOBAL: [Known; 18] = [
    always("Zone", Holds::Text),
    later("Region", Holds::Text, &[(27, 1)]),
    always("VPC", Holds::Text),
    always("SubnetID", Holds::Text),
    always("RouteTableID", Holds::Text),
    always("RoleARN", Holds::Text),
    later("SourceARN", Holds::Text, READS_OVER),
    always("KubernetesClusterTag", Holds::Text),
    always("KubernetesClusterID", Holds::Text),
    always("DisableSecurityGroupIngress", Holds::Switch),
    always("ElbSecurityGroup", Holds::Text),
    Known { name: "DisableStrictZoneCheck", holds: Holds::Switch, since: None, until: Some(&[(27, 1)]) },
    later("NodeIPFamilies", Holds::ManyOf(&["ipv4", "ipv6"]), &[(22, 0)]),
    later("ClusterServiceLoadBalancerHealthProbeMode", Holds::OneOf(&["Shared", "ServiceNodePort"]), &[(33, 0)]),
    later("ClusterServiceSharedLoadBalancerHealthProbePort", Holds::Number, &[(33, 0)]),
    later("ClusterServiceSharedLoadBalancerHealthProbePath", Holds::Text, &[(33, 0)]),
    later("SupportedTopologyInstanceTypePattern", Holds::Pattern, &[(30, 8), (31, 6), (32, 2)]),
    later("NLBSecurityGroupMode", Holds::OneOf(&["Managed"]), &[(35, 0)]),
];

/// Variables of `[ServiceOverride "…"]`.
const OVERRIDE: [Known; 6] = [
    always("Service", Holds::Text),
    always("Region", Holds::Text),
    always("URL", Holds::Text),
    always("SigningRegion", Holds::Text),
    always("SigningMethod", Holds::Text),
    always("SigningName", Holds::Text),
];

/// Variables that every override has to have.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/config/config.go#ValidateOverrides`.
pub const REQUIRED: [&str; 4] = ["Service", "Region", "URL", "SigningRegion"];

/// Keys of `Global` in the configuration of Alibaba Cloud's controller, which is JSON.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/cloud_config.go`.
pub const OF_ALIBABA: [&str; 20] = [
    "accessKeyID",
    "accessKeySecret",
    "clusterID",
    "disablePublicSLB",
    "featureGates",
    "kubernetesClusterTag",
    "nodeAddrSyncPeriod",
    "nodeMaxConcurrentReconciles",
    "nodeMonitorPeriod",
    "privateZoneId",
    "privateZoneRecordTTL",
    "region",
    "resourceGroupID",
    "routeMaxConcurrentReconciles",
    "routeTableIDs",
    "serviceBackendType",
    "serviceMaxConcurrentReconciles",
    "uid",
    "vpcid",
    "vswitchid",
];

/// Variables that controllers of other clouds have in sections of the same names as well.
const OF_OTHERS: [&str; 3] = ["Zone", "Region", "SubnetID"];

/// Those that stand in files of other programs as well, such as environments of shells.
const SHORT: [&str; 4] = ["VPC", "RouteTableID", "RoleARN", "SourceARN"];

/// Whether a section is that of overrides; `None` for one that no version has.
#[must_use]
pub fn is_override(section: &Section) -> Option<bool> {
    if section.name.eq_ignore_ascii_case("ServiceOverride") {
        return Some(true);
    }
    (section.name.eq_ignore_ascii_case("Global") && section.subsection.is_empty()).then_some(false)
}

/// The variables that some version has in such a section.
#[must_use]
pub fn variables(is_override: bool) -> &'static [Known] {
    if is_override { &OVERRIDE } else { &GLOBAL }
}

impl Known {
    /// Whether a version has it.
    #[must_use]
    pub fn is_of(&self, version: ControllerVersion) -> bool {
        self.since.is_none_or(|since| has(version, since)) && !self.until.is_some_and(|until| has(version, until))
    }

    /// The versions that have it, in words; empty where all do.
    #[must_use]
    pub fn versions(&self) -> String {
        let first = |firsts: Firsts| firsts.first().map(|(minor, patch)| format!("1.{minor}.{patch}"));
        match (self.since.and_then(first), self.until.and_then(first)) {
            (Some(since), _) => format!("from {since} on"),
            (None, Some(until)) => format!("before {until}"),
            (None, None) => String::new(),
        }
    }
}

/// Whether a version reads over what it does not know. Versions before that end.
#[must_use]
pub fn reads_over(version: ControllerVersion) -> bool {
    has(version, READS_OVER)
}

/// The similarity, of 1, from which on a name is taken as a misspelt variable.
const NEARLY: f64 = 0.9;

impl CloudConfig {
    /// Whether a text is such a configuration: it begins with a section or a variable, and has something that only AWS has. Without a
    /// section of such a name that has to be a variable that nobody else has. What a template writes is not looked at.
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
            // Zones of other clouds have another form. What is nearly the name of a variable is for a rule to say.
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

    /// Reads a text that is one.
    #[must_use]
    pub fn read(name: String, source: Arc<Source>) -> Self {
        let sections = gcfg::parse(source.text());
        Self { name, source, sections }
    }

    /// What a variable of `[Global]` is set to, if that is something: of several the last one counts.
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
    fn variables_came_with_patches_of_several_minors() {
        let of = |name: &str, version: &str| known(name).is_of(version.parse().unwrap());
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
    fn configurations_of_other_clouds_are_none() {
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
