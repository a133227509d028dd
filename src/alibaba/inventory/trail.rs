//! Calls of cloud controllers in the audit trail.

use serde::{Deserialize, Serialize};

/// Calls of cloud controllers with one cluster id, version and identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerCalls {
    /// Cluster id of their user agent; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Version of their user agent, such as `v2.14.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Type of the identity: `assumed-role`, `ram-user`, `root-account`, …
    pub identity_type: String,
    /// Account of the identity.
    pub account_id: String,
    /// Name of the user, or of the role without its session; the trail writes role names in lower case.
    pub user_name: String,
    /// Time of the last call, RFC 3339 in UTC.
    pub last_at: String,
}
