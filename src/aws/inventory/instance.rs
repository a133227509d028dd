//! Instances.

use serde::{Deserialize, Serialize};

use crate::tags::Tag;

/// Life cycle state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// Starting.
    Pending,
    Running,
    ShuttingDown,
    /// Terminated; EC2 still shows it for about an hour.
    Terminated,
    Stopping,
    Stopped,
}

impl InstanceState {
    /// True if the instance still exists for the audit: in every state but `shutting-down` and `terminated`.
    #[must_use]
    pub fn is_live(self) -> bool {
        !matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// An EC2 instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `i-…`.
    pub id: String,
    /// Life cycle state.
    pub state: InstanceState,
    /// VPC, absent for instances that are being terminated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Subnet of the primary network interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Zone name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Name that the cloud controller matches an IP-style node name with; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_dns_name: Option<String>,
    /// Primary private IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip_address: Option<String>,
    /// Public IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_ip_address: Option<String>,
    /// Time of its last launch, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_time: Option<String>,
    /// ARN of the instance profile, as the instance shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_profile_arn: Option<String>,
    /// Source/destination check of the primary interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_dest_check: Option<bool>,
    /// Instance metadata service options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_options: Option<MetadataOptions>,
    /// Ids of the groups at instance level, in the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Attached network interfaces as the instance shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_interfaces: Vec<AttachedInterface>,
    /// Ids of the EBS volumes of its block devices, without those that an AWS service attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volume_ids: Vec<String>,
    /// The service that manages the instance (`operator.principal`), when one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// Instance metadata service options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataOptions {
    /// `enabled` or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_endpoint: Option<String>,
    /// `required` (IMDSv2 only) or `optional`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_tokens: Option<String>,
    /// Maximum number of hops for the token response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_put_response_hop_limit: Option<i32>,
    /// `enabled` or `disabled`: controls whether tags can be read through the metadata service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_metadata_tags: Option<String>,
}

/// A network interface as an instance shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachedInterface {
    /// `eni-…`.
    pub id: String,
    /// Position on the instance; 0 is the primary interface.
    pub device_index: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Ids of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Its addresses; absent if they were not read, as in older inventories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<InterfaceAddresses>,
}

/// The private addresses of a network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceAddresses {
    /// IPv4, the primary one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ipv4: Vec<String>,
    /// IPv6, in the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ipv6: Vec<String>,
}

impl InterfaceAddresses {
    /// The addresses, or `None` if there are none: an answer without any was truncated.
    #[must_use]
    pub fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}
