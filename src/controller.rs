//! Calls of the cloud controller, per version: `policies/controller-calls.json`, extracted from its source code.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::membership::NodeRole;

pub(crate) mod alibaba;
pub(crate) mod alibaba_companion;
pub(crate) mod alibaba_flags;
pub(crate) mod call_tags;
mod cluster_api;
pub(crate) mod companion;
pub(crate) mod companion_requests;
pub(crate) mod needed_action;

/// A version of the cloud controller manager. `1.31` means the newest patch of that minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControllerVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl ControllerVersion {
    /// Creates a version from its parts.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

/// True if a version lies in a span: from its first version on, and before the first that is no longer in it. A version
/// that is not known may be older, or newer, than either.
pub(crate) fn is_in_span(
    version: Option<ControllerVersion>,
    since: Option<ControllerVersion>,
    until: Option<ControllerVersion>,
) -> bool {
    since.is_none_or(|since| version.is_some_and(|version| version >= since))
        && until.is_none_or(|until| version.is_some_and(|version| version < until))
}

/// `NAME VERSION`, or the name alone.
pub(crate) fn label(name: &str, version: Option<ControllerVersion>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

impl ControllerVersion {
    /// True if it is newer than another; a version without a patch is not newer than a patch of the same minor version.
    pub(crate) fn is_beyond(self, other: Self) -> bool {
        let is_whole = self.patch != u32::MAX;
        self > other && (is_whole || (self.major, self.minor) > (other.major, other.minor))
    }

    /// True if two versions are the same, or one states no patch.
    #[must_use]
    pub fn may_be(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
            && (self.patch == other.patch || self.patch == u32::MAX || other.patch == u32::MAX)
    }

    /// The minor version of a 1.x version, as Kubernetes numbers them; `None` for another major version.
    #[must_use]
    pub const fn minor(self) -> Option<u32> {
        if self.major == 1 { Some(self.minor) } else { None }
    }
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a controller version such as `1.31` or `v1.31.2`")]
pub struct InvalidVersion(String);

impl FromStr for ControllerVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let refused = || InvalidVersion(text.to_owned());
        let core = text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
        let mut parts = core.split('.').map(|part| part.parse::<u32>().map_err(|_| refused()));
        let mut next = || parts.next().transpose();
        let (major, minor, patch) = (next()?, next()?, next()?);
        // Alibaba Cloud counts the builds of version 1 in a fourth number: `v1.9.3.376-g5c84e19-aliyun`.
        let _build = if patch.is_some() && text.contains("-g") { next()? } else { None };
        match (major, minor) {
            (Some(major), Some(minor)) if next()?.is_none() => {
                Ok(Self { major, minor, patch: patch.unwrap_or(u32::MAX) })
            }
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for ControllerVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)?;
        if self.patch == u32::MAX { Ok(()) } else { write!(formatter, ".{}", self.patch) }
    }
}

/// Condition under which an action is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Every cluster with LoadBalancer Services needs it.
    Always,
    /// Only with a feature.
    Feature,
    /// Once per account, for its first load balancer; nearly every account has one.
    Once,
    /// Called, but the controller tolerates a denial.
    Tolerated,
    /// Only with an undocumented feature that is off by default.
    OptIn,
    /// Called by the volume code next to the controller, not by the controller.
    Storage,
    /// Documented, but never called.
    Never,
}

/// One call of the controller or of a node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// IAM action.
    pub action: String,
    /// Node role whose policy needs it.
    pub node_role: CallRole,
    /// Condition under which it is needed.
    pub need: Need,
    /// The feature that it depends on, if any.
    #[serde(default)]
    pub feature: Option<String>,
    /// Controllers of the controller manager that make the call; empty if none of them does.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// Ranges of versions with a call site: first version, and the first one without it.
    called_by: Vec<(String, Option<String>)>,
    /// Impact if it is denied.
    pub breaks: String,
    /// Place in the source code that determines the call.
    pub source: String,
}

/// A controller of the controller manager that can be switched off by `--controllers`.
/// Source: kubernetes/cloud-provider `app/controllermanager.go`, kubernetes/cloud-provider-aws
/// `cmd/aws-cloud-controller-manager`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// `cloud-node-controller` and `cloud-node-lifecycle-controller`: without them nothing works.
    Node,
    /// `service-lb-controller`: off if the AWS Load Balancer Controller handles all Services.
    Service,
    /// `node-route-controller`: off with `--configure-cloud-routes=false`.
    Route,
    Tagging,
    /// The controller of network load balancers; Alibaba Cloud only.
    Nlb,
}

/// Node roles with separate policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallRole {
    /// Runs the controller.
    Controlplane,
    /// Everything else: etcd and workers.
    Worker,
}

impl CallRole {
    /// The name in policy names and baselines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Controlplane => "controlplane",
            Self::Worker => "worker",
        }
    }
}

impl From<NodeRole> for CallRole {
    fn from(role: NodeRole) -> Self {
        match role {
            NodeRole::Controlplane => Self::Controlplane,
            NodeRole::Etcd | NodeRole::Worker => Self::Worker,
        }
    }
}

impl Call {
    /// True if the given version makes this call; if the version is not known, the newest one.
    #[must_use]
    pub fn is_made_by(&self, version: Option<ControllerVersion>) -> bool {
        let Some(version) = version.or_else(|| newest().parse().ok()) else { return true };
        let reached = |text: &str| text.parse::<ControllerVersion>().is_ok_and(|bound| version >= bound);
        self.called_by.iter().any(|(from, until)| reached(from) && !until.as_deref().is_some_and(reached))
    }

    /// True if only controllers that are switched off make the call.
    #[must_use]
    pub fn is_switched_off(&self, without: &[Controller]) -> bool {
        !self.controllers.is_empty() && self.controllers.iter().all(|controller| without.contains(controller))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallsFile {
    #[serde(rename = "description")]
    _description: String,
    newest: String,
    calls: Vec<Call>,
}

static FILE: LazyLock<CallsFile> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is embedded and a test parses it")]
    serde_json::from_str(include_str!("../policies/controller-calls.json"))
        .expect("embedded controller-calls.json is valid")
});

/// Every known call.
#[must_use]
pub(crate) fn calls() -> &'static [Call] {
    &FILE.calls
}

/// Newest controller version whose source code was read.
#[must_use]
pub(crate) fn newest() -> &'static str {
    &FILE.newest
}

/// Looks up the call of an action for a node role.
#[must_use]
pub(crate) fn find(role: CallRole, action: &str) -> Option<&'static Call> {
    calls().iter().find(|call| call.node_role == role && call.action.eq_ignore_ascii_case(action))
}

/// Calls that the code of this version makes for a node role, features included; actions that are never called are
/// omitted.
pub(crate) fn effective(role: CallRole, version: Option<ControllerVersion>) -> impl Iterator<Item = &'static Call> {
    calls_for_role(role).filter(move |call| call.is_made_by(version))
}

/// Calls that the code of a version, or of the target version of an upgrade, makes for a node role.
pub(crate) fn effective_until(
    role: CallRole,
    version: Option<ControllerVersion>,
    target: Option<ControllerVersion>,
) -> impl Iterator<Item = &'static Call> {
    calls_for_role(role).filter(move |call| call.is_made_by(version) || target.is_some() && call.is_made_by(target))
}

/// Calls that the code of any version, unreleased ones included, makes for a node role.
pub(crate) fn calls_for_role(role: CallRole) -> impl Iterator<Item = &'static Call> {
    calls().iter().filter(move |call| call.node_role == role && !matches!(call.need, Need::Never | Need::Storage))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(version: &str) -> Vec<&'static str> {
        effective(CallRole::Controlplane, Some(version.parse().unwrap())).map(|call| call.action.as_str()).collect()
    }

    #[test]
    fn availability_zones_are_asked_for_from_1_26_1_on() {
        assert!(!actions("1.26.0").contains(&"ec2:DescribeAvailabilityZones"));
        assert!(actions("1.26.1").contains(&"ec2:DescribeAvailabilityZones"));
        assert!(actions("1.26").contains(&"ec2:DescribeAvailabilityZones"));
        assert!(actions("v1.25.3").contains(&"elasticloadbalancing:DeregisterTargets"));
    }

    /// Call sites by release tag, kubernetes/cloud-provider-aws v1.20.0 to v1.36.1.
    #[test]
    fn calls_match_the_release() {
        for (action, with, without) in [
            (
                "elasticloadbalancing:DescribeTargetGroupAttributes",
                &["1.32.6", "1.33.3", "1.34.0", "1.34.2", "1.35.0", "1.36.1"][..],
                &["1.29.9", "1.31.9", "1.32.5", "1.33.2", "1.34.1"][..],
            ),
            (
                "ec2:DescribeInstanceTopology",
                &["1.30.4", "1.31.2", "1.32.0"],
                &["1.30.0", "1.30.3", "1.31.0", "1.31.1", "1.29.9"],
            ),
            ("ec2:DeleteTags", &["1.20.0", "1.21.9", "1.22.1", "1.23.2"], &["1.22.0", "1.23.0", "1.23.1"]),
            ("ec2:DescribeNetworkInterfaces", &["1.20.2"], &["1.20.0", "1.20.1"]),
            ("elasticloadbalancing:SetSecurityGroups", &[], &["1.35.0", "1.36.1"]),
        ] {
            for version in with {
                assert!(actions(version).contains(&action), "{action} {version}");
            }
            for version in without {
                assert!(!actions(version).contains(&action), "{action} {version}");
            }
        }
    }

    #[test]
    fn a_controller_that_is_switched_off_needs_nothing() {
        let left: Vec<&str> = effective(CallRole::Controlplane, None)
            .filter(|call| !call.is_switched_off(&[Controller::Service, Controller::Route, Controller::Tagging]))
            .map(|call| call.action.as_str())
            .collect();
        let expected = [
            "ec2:DescribeInstances",
            "ec2:DescribeAvailabilityZones",
            "ec2:DescribeInstanceTopology",
            "ec2:DescribeNetworkInterfaces",
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn versions_are_read_strictly() {
        for text in ["1", "1.x", "", "1.2.3.4", "latest"] {
            assert!(text.parse::<ControllerVersion>().is_err(), "{text}");
        }
        assert_eq!("v1.31.2".parse::<ControllerVersion>().unwrap().to_string(), "1.31.2");
        assert_eq!("1.31".parse::<ControllerVersion>().unwrap().to_string(), "1.31");
        let build = "v1.9.3.376-g5c84e19-aliyun".parse::<ControllerVersion>();
        assert_eq!(build.unwrap().to_string(), "1.9.3");
    }
}
