//! VPCs with their parts, and load balancers.

use serde::{Deserialize, Serialize};

use super::SecurityGroupRule;
use crate::tags::Tag;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vpc {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// A vSwitch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VSwitch {
    /// `vsw-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub vpc_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
    /// IPv4 range; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr_block: Option<String>,
    /// Addresses that are left in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_addresses: Option<i64>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// `vtb-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub vpc_id: String,
    /// `System` or `Custom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_type: Option<String>,
    /// vSwitches that use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vswitch_ids: Vec<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroup {
    /// `sg-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// VPC; absent in the classic network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// True if a service of Alibaba Cloud manages it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_service_managed: bool,
    /// `normal` (basic) or `enterprise` (advanced); absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_type: Option<String>,
    /// Inbound rules; absent where they were not read: only those of network load balancers of Services are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<SecurityGroupRule>>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// An elastic network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkInterface {
    /// `eni-…`.
    pub id: String,
    /// `Primary` or `Secondary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_type: Option<String>,
    /// `InUse`, `Available`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Instance that it is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// vSwitch; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vswitch_id: Option<String>,
    /// Security groups; empty in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// Product of a load balancer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadBalancerKind {
    /// Classic Load Balancer.
    #[default]
    Clb,
    /// Network Load Balancer.
    Nlb,
}

impl LoadBalancerKind {
    /// The word used in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clb => "clb",
            Self::Nlb => "nlb",
        }
    }

    /// The product, for a sentence.
    #[must_use]
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Clb => "classic load balancer",
            Self::Nlb => "network load balancer",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadBalancer {
    /// `lb-…` or `nlb-…`.
    pub id: String,
    /// Its product.
    pub kind: LoadBalancerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// VPC; absent for internet-facing load balancers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Address of a classic load balancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Domain name of a network load balancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_name: Option<String>,
    /// `internet` or `intranet`; network load balancers write them with a capital letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_type: Option<String>,
    /// Security groups of a network load balancer; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<String>>,
    /// Primary zone of a classic load balancer; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_zone: Option<String>,
    /// Secondary zone of a classic load balancer; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary_zone: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// The zones in which load balancers can be bought, by product. A list is absent if its read failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadBalancerZones {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classic: Option<Vec<ClassicZones>>,
    /// Zones of network load balancers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
    /// Zones of application load balancers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Vec<String>>,
}

impl LoadBalancerZones {
    /// Sorts everything and drops repeated entries.
    pub(super) fn canonicalise(&mut self) {
        let Self { classic, network, application } = self;
        for zones in [network, application].into_iter().flatten() {
            zones.sort();
            zones.dedup();
        }
        if let Some(zones) = classic {
            zones.sort();
            zones.dedup();
        }
    }
}

/// Two zones in which a classic load balancer with one kind of address can be bought.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassicZones {
    pub primary: String,
    pub secondary: String,
    /// `classic_internet`, `vpc` (a private address in a VPC) or `classic_intranet` (a private address of the classic
    /// network).
    pub address_type: String,
    /// `ipv4` or `ipv6`.
    pub ip_version: String,
}

/// A load balancer of Application Load Balancer: a controller makes it for Ingresses, never for a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationLoadBalancer {
    /// `alb-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_name: Option<String>,
    /// `Internet` or `Intranet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_type: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// An Elastic IP address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElasticIp {
    /// `eip-…`.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `Available` while nothing is associated with it, `InUse`, …
    pub status: String,
    /// Resource that it is associated with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}
