//! ECS instances and disks.

use serde::{Deserialize, Serialize};

use crate::inventory::Storage;
use crate::tags::Tag;

/// An ECS instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `i-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `Running`, `Stopped`, …
    pub status: String,
    /// Zone, such as `cn-hangzhou-h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
    /// `vpc` or `classic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vswitch_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private_addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Name of its RAM role; absent if it has none, or if that was not read (a gap of `ecs:DescribeInstanceRamRole`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_role: Option<String>,
    /// Token setting of the metadata service: `optional` or `required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_tokens: Option<String>,
    /// State of the metadata service: `enabled` or `disabled`; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_endpoint: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

impl Instance {
    /// True if it is running or starting.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.status.as_str(), "Running" | "Starting" | "Pending")
    }

    /// True if it is in the classic network, which no cloud controller supports.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `docs/getting-started.md`.
    #[must_use]
    pub fn is_classic(&self) -> bool {
        self.network_type.as_deref() == Some("classic")
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// `d-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `In_use`, `Available`, …
    pub status: String,
    /// Instance that it is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Its size and category; absent for a disk in use, and in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}
