//! The cluster in its network, as data for a map: the VPCs of the nodes, their subnets and security groups, and the
//! nodes, with equal ones as a group.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::alibaba;
use crate::finding::{Finding, Severity};
use crate::rules::is_public;
use crate::tags::ClusterTag;
use crate::view::{ClusterView, Member, RegionView, RoleSet};

/// Number of nodes of a group that are named; the others are only counted.
const NAMED: usize = 20;

/// A VPC with nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VpcTopology {
    /// Account that was read.
    pub account_id: String,
    /// Region.
    pub region: String,
    /// The VPC; only its id if the list of VPCs was not read.
    pub vpc: Part,
    /// Its subnets, by availability zone and id.
    pub subnets: Vec<SubnetPart>,
    /// The security groups of the nodes, and those tagged for the cluster, by id.
    pub security_groups: Vec<Part>,
    /// The nodes, by subnet, roles, tag and security groups.
    pub nodes: Vec<NodeGroup>,
}

/// A resource of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Id.
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
    /// Its availability zone.
    pub availability_zone: String,
    /// True if its route table leads to an internet gateway; absent if no table was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_public: Option<bool>,
}

/// Nodes with equal properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// Their roles, in words.
    pub roles: String,
    /// The subnet of the nodes.
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

/// Counts the nodes with findings, and sorts them first. Before this call a group names all of its nodes.
pub fn mark<'f>(topology: &mut [VpcTopology], findings: impl Iterator<Item = &'f Finding>) {
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

/// The VPCs with nodes of the cluster, by account, region and id.
#[must_use]
pub fn topology(view: &ClusterView<'_>) -> Vec<VpcTopology> {
    let mut all = Vec::new();
    for region in &view.regions {
        all.extend(region.member_vpcs().into_iter().map(|vpc| aws_vpc(view, region, vpc)));
    }
    all.sort_by(|a, b| (&a.account_id, &a.region, &a.vpc.id).cmp(&(&b.account_id, &b.region, &b.vpc.id)));
    all
}

/// The VPCs in Alibaba Cloud, with vSwitches as subnets and the tag `ack.aliyun.com`.
#[must_use]
pub fn alibaba_topology(view: &alibaba::ClusterView<'_>) -> Vec<VpcTopology> {
    let mut all = Vec::new();
    for region in &view.regions {
        all.extend(region.member_vpcs().into_iter().map(|vpc| alibaba_vpc(view.cluster_id, region, vpc)));
    }
    all.sort_by(|a, b| (&a.account_id, &a.region, &a.vpc.id).cmp(&(&b.account_id, &b.region, &b.vpc.id)));
    all
}

fn alibaba_vpc(cluster_id: &str, region: &alibaba::RegionView<'_>, vpc_id: &str) -> VpcTopology {
    let tag = |tags: &[crate::tags::Tag]| match crate::tags::value(tags, alibaba::CLUSTER_TAG) {
        Some(id) if id == cluster_id => ClusterTag::Owned,
        Some(_) => ClusterTag::Foreign,
        None => ClusterTag::Missing,
    };
    let mut nodes: BTreeMap<(Option<&str>, RoleSet, ClusterTag, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for member in region.members.iter().filter(|member| member.instance.vpc_id.as_deref() == Some(vpc_id)) {
        let instance = member.instance;
        let groups: Vec<&str> = instance.security_groups.iter().map(String::as_str).collect();
        let key = (instance.vswitch_id.as_deref(), member.roles.roles, tag(&instance.tags), groups);
        nodes.entry(key).or_default().push(&instance.id);
    }
    let used: BTreeSet<&str> = nodes.keys().flat_map(|(_, _, _, groups)| groups.iter().copied()).collect();
    let part = |id: &str, name: Option<&str>| Part { id: id.to_owned(), name: name.map(str::to_owned), tag: None };
    let mut subnets: Vec<SubnetPart> = region
        .region
        .vswitches
        .iter()
        .filter(|one| one.vpc_id == vpc_id)
        .map(|one| SubnetPart {
            part: part(&one.id, one.name.as_deref()),
            availability_zone: one.zone_id.clone().unwrap_or_default(),
            is_public: None,
        })
        .collect();
    subnets.sort_by(|a, b| (&a.availability_zone, &a.part.id).cmp(&(&b.availability_zone, &b.part.id)));
    let groups = region.region.security_groups.iter().filter(|group| used.contains(group.id.as_str()));
    let vpc = region.region.vpcs.iter().find(|vpc| vpc.id == vpc_id);
    VpcTopology {
        account_id: region.account.account_id.clone(),
        region: region.region.name.clone(),
        vpc: part(vpc_id, vpc.and_then(|vpc| vpc.name.as_deref())),
        subnets,
        security_groups: groups.map(|group| part(&group.id, group.name.as_deref())).collect(),
        nodes: nodes
            .into_iter()
            .map(|((subnet_id, roles, tag, groups), instances)| NodeGroup {
                roles: roles.describe(),
                subnet_id: subnet_id.map(str::to_owned),
                tag,
                security_groups: groups.into_iter().map(str::to_owned).collect(),
                count: instances.len(),
                findings: BTreeMap::new(),
                instances: instances.into_iter().map(str::to_owned).collect(),
            })
            .collect(),
    }
}

fn aws_vpc(view: &ClusterView<'_>, region: &RegionView<'_>, vpc_id: &str) -> VpcTopology {
    let cluster_id = view.cluster_id;
    let name = |tags| crate::tags::value(tags, "Name").filter(|name| !name.is_empty()).map(str::to_owned);
    let mut nodes: BTreeMap<(Option<&str>, RoleSet, ClusterTag, Vec<&str>), Vec<&str>> = BTreeMap::new();
    let members = region.members.iter().filter(|member| member.instance.vpc_id.as_deref() == Some(vpc_id));
    for member in members {
        let Member { instance, roles, .. } = member;
        let mut groups: Vec<&str> = instance.security_groups.iter().map(String::as_str).collect();
        groups.sort_unstable();
        groups.dedup();
        let tag = ClusterTag::from_tags(&instance.tags, cluster_id);
        let key = (instance.subnet_id.as_deref(), roles.roles, tag, groups);
        nodes.entry(key).or_default().push(&instance.id);
    }
    let used: BTreeSet<&str> = nodes.keys().flat_map(|(_, _, _, groups)| groups.iter().copied()).collect();
    let mut subnets: Vec<SubnetPart> = region
        .region
        .subnets
        .iter()
        .filter(|subnet| subnet.vpc_id == vpc_id)
        .map(|subnet| SubnetPart {
            part: Part {
                id: subnet.id.clone(),
                name: name(&subnet.tags),
                tag: Some(ClusterTag::from_tags(&subnet.tags, cluster_id)),
            },
            availability_zone: subnet.availability_zone.clone(),
            is_public: region.route_table(subnet).map(is_public),
        })
        .collect();
    subnets.sort_by(|a, b| (&a.availability_zone, &a.part.id).cmp(&(&b.availability_zone, &b.part.id)));
    let groups = region.region.security_groups.iter().filter(|group| group.vpc_id.as_deref() == Some(vpc_id));
    let mut security_groups: BTreeMap<&str, Part> = groups
        .map(|group| (group, ClusterTag::from_tags(&group.tags, cluster_id)))
        .filter(|(group, tag)| {
            used.contains(group.id.as_str())
                || matches!(tag, ClusterTag::Owned | ClusterTag::Shared | ClusterTag::OtherValue | ClusterTag::NearMiss)
        })
        .map(|(group, tag)| {
            let part = Part { id: group.id.clone(), name: Some(group.name.clone()), tag: Some(tag) };
            (group.id.as_str(), part)
        })
        .collect();
    for id in &used {
        security_groups.entry(id).or_insert_with(|| Part { id: (*id).to_owned(), name: None, tag: None });
    }
    let mut groups: Vec<NodeGroup> = nodes
        .into_iter()
        .map(|((subnet_id, roles, tag, groups), instances)| NodeGroup {
            roles: roles.describe(),
            subnet_id: subnet_id.map(str::to_owned),
            tag,
            security_groups: groups.into_iter().map(str::to_owned).collect(),
            count: instances.len(),
            findings: BTreeMap::new(),
            instances: instances.into_iter().map(str::to_owned).collect(),
        })
        .collect();
    groups.sort_by(|a, b| {
        (&a.subnet_id, &a.roles, a.tag, &a.security_groups).cmp(&(&b.subnet_id, &b.roles, b.tag, &b.security_groups))
    });
    let vpc = region.vpc(vpc_id);
    VpcTopology {
        account_id: region.account.account_id.clone(),
        region: region.region.name.clone(),
        vpc: Part {
            id: vpc_id.to_owned(),
            name: vpc.and_then(|vpc| name(&vpc.tags)),
            tag: vpc.map(|vpc| ClusterTag::from_tags(&vpc.tags, cluster_id)),
        },
        subnets,
        security_groups: security_groups.into_values().collect(),
        nodes: groups,
    }
}
