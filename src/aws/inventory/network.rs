//! Networks of instances, and resources attached to them.

use serde::{Deserialize, Serialize};

use crate::tags::Tag;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subnet {
    pub id: String,
    pub vpc_id: String,
    /// Zone name.
    pub availability_zone: String,
    /// Account that owns it; another one if the subnet is shared through AWS RAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Free IPv4 addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_ip_address_count: Option<i32>,
    /// IPv4 range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr_block: Option<String>,
    /// Associated IPv6 ranges; absent if they were not read, as in older inventories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_cidr_blocks: Option<Vec<String>>,
    /// Outpost it lives on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outpost_arn: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vpc {
    pub id: String,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Associated IPv4 ranges; absent if they were not read, as in older inventories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr_blocks: Option<Vec<String>>,
    /// Its DHCP option set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhcp_options_id: Option<String>,
    /// `enableDnsSupport`; absent if it was not read (with a gap if it should have been).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_dns_support: Option<bool>,
    /// `enableDnsHostnames`; absent when it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_dns_hostnames: Option<bool>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroup {
    /// `sg-…`.
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// VPC, absent for EC2-Classic leftovers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ingress: Vec<IngressPermission>,
    /// Ids of the groups that its outbound rules name, sorted: they cannot be deleted. Its own id is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress_groups: Vec<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

impl SecurityGroup {
    /// The ids of the groups that outbound rules name, each once and without that of the group itself.
    pub(crate) fn named_outbound(own: &str, named: impl Iterator<Item = String>) -> Vec<String> {
        let ids: std::collections::BTreeSet<String> = named.filter(|id| id != own).collect();
        ids.into_iter().collect()
    }
}

/// One ingress permission: each source of it is one rule against the quota.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressPermission {
    /// `tcp`, `udp`, `icmp`, `-1`, or a protocol number.
    pub protocol: String,
    /// First port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_port: Option<i32>,
    /// Last port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_port: Option<i32>,
    /// IPv4 ranges, IPv6 ranges and prefix lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RuleSource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<RuleSource>,
}

/// A prefix list, as far as security groups depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixList {
    pub name: String,
    /// Number of rules that it counts as: its maximum number of entries or, if AWS manages it, its weight; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// True for IPv6 ranges.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ipv6: bool,
}

/// Weights of the prefix lists of AWS, by the ends of their names. `DescribeManagedPrefixLists` does not state them.
/// Source: Amazon VPC User Guide, "AWS-managed prefix list weight".
const WEIGHTS: [(&str, u64); 8] = [
    (".cloudfront.origin-facing", 55),
    (".dynamodb", 1),
    (".ec2-instance-connect", 2),
    (".groundstation", 5),
    (".route53-healthchecks", 25),
    (".s3", 1),
    (".s3express", 6),
    (".vpc-lattice", 10),
];

impl PrefixList {
    /// A list of an answer of EC2; a list of AWS has no maximum.
    pub(crate) fn described(name: String, maximum: Option<i64>, family: Option<&str>, owner: Option<&str>) -> Self {
        let is_of_aws = owner == Some("AWS");
        let known = WEIGHTS.iter().find(|(end, _)| is_of_aws && name.ends_with(end)).map(|(_, weight)| *weight);
        let maximum = maximum.and_then(|maximum| u64::try_from(maximum).ok()).filter(|maximum| *maximum > 0);
        Self { weight: known.or(maximum), is_ipv6: family == Some("IPv6"), name }
    }
}

/// A source of an ingress permission, with the description of that rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSource {
    /// CIDR, prefix list id or group id.
    pub source: String,
    /// Account of a source group, unless it is the account of the group that has the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// `rtb-…`.
    pub id: String,
    pub vpc_id: String,
    /// Account that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// True for the main table of its VPC.
    pub main: bool,
    /// Subnets associated explicitly; EC2 never lists the implicit ones of a main table.
    pub subnet_ids: Vec<String>,
    pub routes: Vec<Route>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination CIDR or prefix list.
    pub destination: String,
    /// Target gateway (`igw-…`, `vgw-…`, `local`), if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_id: Option<String>,
    /// Target instance, if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Target network interface, if the target is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_interface_id: Option<String>,
    /// `active` or `blackhole`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A DHCP option set, reduced to the options that affect node names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DhcpOptions {
    /// `dopt-…`.
    pub id: String,
    /// Values of `domain-name`; empty when the option is not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domain_name: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkInterface {
    /// `eni-…`.
    pub id: String,
    /// `available`, `in-use`, …
    pub status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// The account that owns it, if the answer contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Instance it is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Ids of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    /// The service that manages it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Tags, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

/// A zone of a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AvailabilityZone {
    /// Zone name, such as `us-east-1a`.
    pub name: String,
    /// `availability-zone`, `local-zone` or `wavelength-zone`.
    pub zone_type: String,
}

impl RouteTable {
    /// True if it leads to an internet gateway: a gateway id that starts with `igw`, whatever its destination and
    /// state.
    /// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#isSubnetPublic`.
    #[must_use]
    pub(crate) fn is_public(&self) -> bool {
        self.routes.iter().any(|route| route.gateway_id.as_deref().is_some_and(|gateway| gateway.starts_with("igw")))
    }

    /// True if the default route leads to the endpoint of a firewall or of a Gateway Load Balancer, behind which an internet
    /// gateway may be. A gateway endpoint, which has a `vpce-…` too, has the destination of a prefix list.
    /// Source: AWS Network Firewall Developer Guide, "Route table configurations for AWS Network Firewall".
    #[must_use]
    pub(crate) fn leads_through_endpoint(&self) -> bool {
        let is_default = |route: &Route| matches!(route.destination.as_str(), "0.0.0.0/0" | "::/0");
        let has_endpoint =
            |route: &Route| route.gateway_id.as_deref().is_some_and(|gateway| gateway.starts_with("vpce-"));
        self.routes.iter().any(|route| is_default(route) && has_endpoint(route))
    }
}
