//! Calls of the controllers of the Alibaba Cloud provider: `policies/alibaba-controller-calls.json`, extracted from
//! their source code.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ControllerVersion;

/// A controller of kubernetes/cloud-provider-alibaba-cloud. The first four run by default.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/config/controller_config.go`, `--controllers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlibabaController {
    /// Initialises Nodes and keeps their addresses.
    Node,
    /// Routes to the networks of Pods.
    Route,
    /// Classic load balancers.
    Service,
    /// Network load balancers.
    Nlb,
    /// Application load balancers; off by default.
    Ingress,
    /// Records of private zones; off by default.
    Pvtz,
}

impl AlibabaController {
    /// Controllers that run by default.
    pub const DEFAULT: &[Self] = &[Self::Node, Self::Route, Self::Service, Self::Nlb];

    /// Every controller.
    pub const ALL: &[Self] = &[Self::Node, Self::Route, Self::Service, Self::Nlb, Self::Ingress, Self::Pvtz];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Route => "route",
            Self::Service => "service",
            Self::Nlb => "nlb",
            Self::Ingress => "ingress",
            Self::Pvtz => "pvtz",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlibabaCall {
    pub controller: AlibabaController,
    /// RAM action.
    pub action: String,
    /// First public version that makes the call.
    since: String,
    /// First version that no longer makes it.
    #[serde(default)]
    until: Option<String>,
    /// True if every cluster that runs the controller needs it.
    pub required: bool,
    /// Condition under which it is made.
    pub when: String,
    /// Place in the source code.
    pub source: String,
}

impl AlibabaCall {
    /// The first public version that makes the call; 1.9.3 is the oldest public version.
    #[must_use]
    pub fn since(&self) -> Option<ControllerVersion> {
        self.since.parse().ok()
    }

    /// The first version that no longer makes the call.
    fn until(&self) -> Option<ControllerVersion> {
        self.until.as_ref()?.parse().ok()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[expect(dead_code, reason = "for readers of the file")]
    description: String,
    #[expect(dead_code, reason = "for readers of the file")]
    newest: String,
    calls: Vec<AlibabaCall>,
}

static CALLS: LazyLock<Vec<AlibabaCall>> = LazyLock::new(|| {
    let text = include_str!("../../policies/alibaba-controller-calls.json");
    // A test reads the embedded file.
    serde_json::from_str::<File>(text).map(|file| file.calls).unwrap_or_default()
});

/// A version that no release of Alibaba Cloud's controller manager has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cloud controller manager of Alibaba Cloud has no version {0}")]
pub(crate) struct UnknownVersion(ControllerVersion);

/// Checks that a release of Alibaba Cloud's controller manager has this version: AWS versions follow Kubernetes
/// versions instead.
/// Source: the tags of kubernetes/cloud-provider-alibaba-cloud, v1.9.3 to v2.14.0.
///
/// # Errors
/// If no release has it.
pub(crate) fn check_version(version: ControllerVersion) -> Result<(), UnknownVersion> {
    let (oldest, second, third) =
        (ControllerVersion::new(1, 9, 0), ControllerVersion::new(2, 0, 0), ControllerVersion::new(3, 0, 0));
    let is_one = (oldest..ControllerVersion::new(1, 10, 0)).contains(&version) || (second..third).contains(&version);
    if is_one {
        return Ok(());
    }
    Err(UnknownVersion(version))
}

/// The calls of a controller in a version; `None` means the newest known version.
pub(crate) fn calls(
    controller: AlibabaController,
    version: Option<ControllerVersion>,
) -> impl Iterator<Item = &'static AlibabaCall> {
    let is_made = move |call: &&AlibabaCall| {
        call.controller == controller
            && match version {
                None => call.until.is_none(),
                Some(version) => {
                    call.since().is_none_or(|since| since <= version)
                        && call.until().is_none_or(|until| version < until)
                }
            }
    };
    CALLS.iter().filter(is_made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_read_and_has_a_version_and_a_source() {
        assert_eq!(CALLS.len(), 143);
        for call in CALLS.iter() {
            assert!(call.since().is_some() && call.source.contains('#') && !call.when.is_empty(), "{call:?}");
        }
        let number = |controller, version: &str| calls(controller, Some(version.parse().unwrap())).count();
        let node = |version: &str| {
            let made = calls(AlibabaController::Node, Some(version.parse().unwrap()));
            made.filter(|call| call.action == "vpc:DescribeVpcs").count()
        };
        assert_eq!((node("1.9.3"), node("2.1.0")), (1, 0), "a call of version 1 alone");
        assert_eq!((number(AlibabaController::Nlb, "2.4"), calls(AlibabaController::Nlb, None).count()), (0, 44));
        assert_eq!((number(AlibabaController::Route, "2.11.1"), number(AlibabaController::Route, "2.11.2")), (4, 6));
    }
}
