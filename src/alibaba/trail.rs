//! The cloud controller of a cluster in the audit trail: its principal and version, as its calls show them.
//!
//! The controller names itself in the user agent of its calls, since v2.1.0: `ack.ccm/VERSION` and `ClusterId/ID`, in
//! any order. Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/clientMgr.go#NewClientMgr`;
//! aliyun/alibaba-cloud-sdk-go `sdk/client.go#getSendUserAgent`. Calls that are missing from the trail prove nothing.

use jiff::{SignedDuration, Timestamp};

use super::inventory::{ControllerCalls, Inventory, PrincipalKind};
use super::principal_arn;
use crate::controller::ControllerVersion;
use crate::inventory::Provider;

/// Time before the last call of a cluster within which its other calls are of the same controllers.
const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// Version and cluster id in the user agent of a call; `None` if it is not the cloud controller's.
#[cfg(any(feature = "alibaba", test))]
#[must_use]
pub(crate) fn controller_in(user_agent: &str) -> Option<(Option<String>, Option<String>)> {
    let value = |name: &str| {
        let found = user_agent.split_ascii_whitespace().find_map(|word| word.strip_prefix(name));
        found.map(|value| Some(value.to_owned()).filter(|value| !value.is_empty()))
    };
    Some((value("ack.ccm/")?, value("ClusterId/").flatten()))
}

/// A caller as the trail names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallerName {
    /// A role or a user, by ARN. The name of a role may be in lower case.
    Principal(String),
    /// The account itself.
    Root(String),
}

impl ControllerCalls {
    /// The caller; `None` for an identity of another type, or one without a name.
    pub(crate) fn caller(&self) -> Option<CallerName> {
        let is_named = !self.user_name.is_empty() && self.user_name.len() <= 64;
        if !is_named || !Provider::Alibaba.is_account_id(&self.account_id) {
            return None;
        }
        let kind = match self.identity_type.as_str() {
            "assumed-role" => PrincipalKind::Role,
            "ram-user" => PrincipalKind::User,
            "root-account" => return Some(CallerName::Root(self.account_id.clone())),
            _ => return None,
        };
        Some(CallerName::Principal(principal_arn(&self.account_id, kind, &self.user_name)))
    }
}

/// The cloud controller of a cluster, as far as the trail shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenController {
    /// Its callers; several if it changed within an hour, or if clusters share an id.
    pub(crate) callers: Vec<CallerName>,
    /// Version of its last call.
    pub(crate) version: Option<ControllerVersion>,
    /// Time of that call.
    pub(crate) last_at: Option<String>,
}

/// Finds the calls with one of these cluster ids. The default id, which every controller without configuration uses,
/// identifies no cluster.
#[must_use]
pub(crate) fn seen_controller(inventory: &Inventory, cluster_ids: &[&str]) -> SeenController {
    let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
    let is_its = |calls: &&ControllerCalls| {
        let id = calls.cluster_id.as_deref();
        id.is_some_and(|id| id != super::DEFAULT_CLUSTER_ID && cluster_ids.contains(&id))
    };
    let mut calls: Vec<(Timestamp, &ControllerCalls)> = regions
        .flat_map(|region| region.controller_calls.iter().flatten())
        .filter(is_its)
        // A call that names nobody must not hide one that does.
        .filter(|calls| calls.caller().is_some())
        .filter_map(|calls| Some((calls.last_at.parse().ok()?, calls)))
        .collect();
    calls.sort_by(|one, other| other.cmp(one));
    let Some((last, latest)) = calls.first().copied() else { return SeenController::default() };
    let recent = calls.iter().filter(|(at, _)| last.duration_since(*at) <= RECENT);
    let mut callers: Vec<CallerName> = recent.filter_map(|(_, calls)| calls.caller()).collect();
    callers.sort();
    callers.dedup();
    let version = latest.version.as_deref().and_then(|version| version.parse().ok());
    SeenController { callers, version, last_at: Some(latest.last_at.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alibaba::Cluster;

    fn calls(cluster_id: &str, version: &str, identity_type: &str, user_name: &str, last_at: &str) -> ControllerCalls {
        ControllerCalls {
            cluster_id: Some(cluster_id.to_owned()),
            version: Some(version.to_owned()),
            identity_type: identity_type.to_owned(),
            account_id: "1234567890123456".to_owned(),
            user_name: user_name.to_owned(),
            last_at: last_at.to_owned(),
        }
    }

    #[test]
    fn user_agents_are_read_in_any_order() {
        let known = |version: &str, id: &str| Some((Some(version.to_owned()), Some(id.to_owned())));
        for (text, expected) in [
            (
                "AlibabaCloud (linux; amd64) Golang/1.25.1 Core/1.63.22 ack.ccm/v2.14.0 ClusterId/c1",
                known("v2.14.0", "c1"),
            ),
            (
                "AlibabaCloud (linux; amd64) Golang/1.25.1 Core/1.63.22 ClusterId/c1 ack.ccm/v2.14.0",
                known("v2.14.0", "c1"),
            ),
            ("AlibabaCloud (linux; amd64) Core/0.01 TeaDSL/2  ack.ccm/v2.9.1 ClusterId/c1", known("v2.9.1", "c1")),
            ("ack.ccm/ ClusterId/c1", Some((None, Some("c1".to_owned())))),
            ("AlibabaCloud Core/0.0.1 Extra/Kubernetes.Alicloud", None),
            ("Extra/ack.ccm/v1", None),
            ("", None),
        ] {
            assert_eq!(controller_in(text), expected, "{text}");
        }
    }

    #[test]
    fn the_last_calls_of_the_cluster_count() {
        let mut cluster = Cluster::new();
        let seen = |cluster: &Cluster, ids: &[&str]| seen_controller(&cluster.inventory, ids);
        assert_eq!(seen(&cluster, &["prod"]), SeenController::default());
        cluster.region().controller_calls = Some(vec![
            calls("prod", "v2.9.1", "ram-user", "old", "2026-11-01T10:00:00Z"),
            calls("prod", "v2.10.0", "assumed-role", "k8s-master", "2026-11-02T10:00:00Z"),
            calls("prod", "v2.9.1", "root-account", "root", "2026-11-02T09:30:00Z"),
            calls("staging", "v2.14.0", "ram-user", "other", "2026-11-03T10:00:00Z"),
            calls("clusterid", "v2.14.0", "ram-user", "default", "2026-11-03T10:00:00Z"),
            calls("prod", "v2.14.0", "ram-user", "broken", "yesterday"),
            calls("prod", "v2.14.0", "cloudsso-user", "somebody", "2026-11-03T10:00:00Z"),
            calls("prod", "v2.14.0", "assumed-role", "", "2026-11-03T10:00:00Z"),
            ControllerCalls {
                account_id: String::new(),
                ..calls("prod", "v2.14.0", "ram-user", "nowhere", "2026-11-03T10:00:00Z")
            },
        ]);
        let found = seen(&cluster, &["prod"]);
        let role = CallerName::Principal("acs:ram::1234567890123456:role/k8s-master".to_owned());
        assert_eq!(found.callers, [role, CallerName::Root("1234567890123456".to_owned())]);
        assert_eq!(found.version, "2.10.0".parse().ok());
        // An id that every unconfigured controller sends is no evidence.
        assert_eq!(seen(&cluster, &["clusterid"]), SeenController::default());
    }
}
