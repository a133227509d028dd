//! The cluster in its network, as data for a map: the VPCs of the nodes, their subnets and security groups, and the
//! nodes, with equal ones as a group.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Severity};
use crate::membership::RoleSet;
use crate::tags::ClusterTag;

/// Number of nodes of a group that are named; the others are only counted.
const NAMED: usize = 20;

/// A VPC with nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VpcTopology {
    /// Account that was read.
    pub account_id: String,
    pub region: String,
    /// The VPC; only its id if the list of VPCs was not read.
    pub vpc: Part,
    /// Its subnets, by availability zone and id.
    pub subnets: Vec<SubnetPart>,
    /// The security groups of the nodes, and those tagged for the cluster, by id.
    pub security_groups: Vec<Part>,
    /// The nodes, by subnet, roles, tag and security groups.
    pub nodes: Vec<NodeGroup>,
    /// The load balancers of the cluster, by name; none if they were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<LoadBalancerPart>,
    /// The Auto Scaling groups of the cluster, by name; none if they were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling_groups: Vec<ScalingGroupPart>,
}

/// A resource of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub id: String,
    /// `Name` tag, or the name of a security group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Relation to the cluster by its tags; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<ClusterTag>,
}

/// A subnet of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubnetPart {
    /// Id, name and tag.
    #[serde(flatten)]
    pub part: Part,
    pub availability_zone: String,
    /// True if its route table leads to an internet gateway; absent if no table was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_public: Option<bool>,
}

/// A load balancer of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancerPart {
    /// Name, as id, and tag.
    #[serde(flatten)]
    pub part: Part,
    /// `classic`, `network`, `application` or `gateway`.
    pub kind: String,
    /// `internal` or `internet-facing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The object that it was created for, such as "Service `shop/web`".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_for: Option<String>,
    pub subnets: Vec<String>,
    pub security_groups: Vec<String>,
}

/// An Auto Scaling group of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalingGroupPart {
    /// Name, as id, and tag.
    #[serde(flatten)]
    pub part: Part,
    /// Number of instances.
    pub instances: usize,
    pub min_size: u32,
    pub max_size: u32,
    pub subnets: Vec<String>,
}

/// Nodes with equal properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// Their roles, in words.
    pub roles: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Relation to the cluster by their tags.
    pub tag: ClusterTag,
    /// Their security groups.
    pub security_groups: Vec<String>,
    /// Number of nodes.
    pub count: usize,
    /// Number of nodes with findings, by their worst severity; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub findings: BTreeMap<Severity, usize>,
    /// The first nodes: those with the worst findings, then by instance id.
    pub instances: Vec<String>,
}

impl NodeGroup {
    /// A group of nodes that are equal in these properties; names all of them until [`mark`] shortens the list.
    pub(crate) fn new(
        roles: RoleSet,
        subnet_id: Option<&str>,
        tag: ClusterTag,
        security_groups: Vec<&str>,
        instances: Vec<&str>,
    ) -> Self {
        Self {
            roles: roles.describe(),
            subnet_id: subnet_id.map(str::to_owned),
            tag,
            security_groups: security_groups.into_iter().map(str::to_owned).collect(),
            count: instances.len(),
            findings: BTreeMap::new(),
            instances: instances.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Counts the nodes with findings, and sorts them first. Before this call a group names all of its nodes.
pub(crate) fn mark<'f>(topology: &mut [VpcTopology], findings: impl Iterator<Item = &'f Finding>) {
    let mut worst: BTreeMap<&str, Severity> = BTreeMap::new();
    for finding in findings {
        for resource in std::iter::once(&finding.resource).chain(&finding.related) {
            let own = worst.entry(resource.id.as_str()).or_insert(finding.severity);
            *own = finding.severity.max(*own);
        }
    }
    for group in topology.iter_mut().flat_map(|vpc| &mut vpc.nodes) {
        for severity in group.instances.iter().filter_map(|id| worst.get(id.as_str())) {
            *group.findings.entry(*severity).or_default() += 1;
        }
        group.instances.sort_by(|a, b| (Reverse(worst.get(a.as_str())), a).cmp(&(Reverse(worst.get(b.as_str())), b)));
        group.instances.truncate(NAMED);
    }
}
