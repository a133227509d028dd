//! The VPCs of a cluster in AWS, as data for a map.

use std::collections::{BTreeMap, BTreeSet};

use crate::membership::RoleSet;
use crate::tags::ClusterTag;
use crate::topology::{LoadBalancerPart, NodeGroup, Part, ScalingGroupPart, SubnetPart, VpcTopology};

use super::inventory::{LoadBalancer, RouteTable};
use super::load_balancers::Names;
use super::scaling_groups::groups_of_cluster;
use super::view::{ClusterView, Member, RegionView};

/// The VPCs with nodes of the cluster, by account, region and id.
#[must_use]
pub(crate) fn topology(view: &ClusterView<'_>) -> Vec<VpcTopology> {
    let mut all = Vec::new();
    for region in &view.regions {
        all.extend(region.member_vpcs().into_iter().map(|vpc| aws_vpc(view, region, vpc)));
    }
    all.sort_by(|a, b| (&a.account_id, &a.region, &a.vpc.id).cmp(&(&b.account_id, &b.region, &b.vpc.id)));
    all
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
            is_public: region.route_table(subnet).map(RouteTable::is_public),
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
        .map(|((subnet_id, roles, tag, groups), instances)| NodeGroup::new(roles, subnet_id, tag, groups, instances))
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
        load_balancers: load_balancers(region, vpc_id, cluster_id),
        scaling_groups: scaling_groups(region, vpc_id, cluster_id),
    }
}

/// Load balancers of the cluster in a VPC: those with its tag, and those that the AWS Load Balancer Controller tagged with its id
/// as the name of the cluster.
fn load_balancers(region: &RegionView<'_>, vpc_id: &str, cluster_id: &str) -> Vec<LoadBalancerPart> {
    let names = Names { cluster_id, cluster_name: cluster_id };
    let part = |one: &LoadBalancer| {
        let tags = one.tags.as_deref()?;
        let claims = names.claims(tags);
        let of_cluster = ClusterTag::from_tags(tags, cluster_id);
        let is_shown = !matches!(of_cluster, ClusterTag::Missing | ClusterTag::Foreign) || !claims.is_empty();
        let tag = if claims.is_empty() { of_cluster } else { ClusterTag::Owned };
        is_shown.then(|| LoadBalancerPart {
            part: Part { id: one.name.clone(), name: None, tag: Some(tag) },
            kind: one.kind.name().to_owned(),
            scheme: one.scheme.clone(),
            made_for: claims.first().map(|claim| claim.made_for.describe()),
            subnets: one.subnets.clone(),
            security_groups: one.security_groups.clone(),
        })
    };
    let all = region.region.load_balancing.iter().flat_map(|balancing| &balancing.load_balancers);
    let mut found: Vec<LoadBalancerPart> =
        all.filter(|one| one.vpc_id.as_deref() == Some(vpc_id)).filter_map(part).collect();
    found.sort_by(|a, b| (&a.part.id, &a.kind).cmp(&(&b.part.id, &b.kind)));
    found
}

/// Auto Scaling groups of the cluster with a subnet in a VPC.
fn scaling_groups(region: &RegionView<'_>, vpc_id: &str, cluster_id: &str) -> Vec<ScalingGroupPart> {
    let subnets = region.region.subnets.iter().filter(|subnet| subnet.vpc_id == vpc_id);
    let here: BTreeSet<&str> = subnets.map(|subnet| subnet.id.as_str()).collect();
    let all = groups_of_cluster(region, cluster_id).unwrap_or_default();
    let in_vpc = all.iter().filter(|one| one.launch.subnets.iter().any(|id| here.contains(id.as_str())));
    let mut found: Vec<ScalingGroupPart> = in_vpc
        .map(|one| {
            let tag = Some(ClusterTag::from_tags(&one.group.tags, cluster_id));
            ScalingGroupPart {
                part: Part { id: one.group.name.clone(), name: None, tag },
                instances: one.group.instances.len(),
                min_size: one.group.min_size,
                max_size: one.group.max_size,
                subnets: one.launch.subnets.clone(),
            }
        })
        .collect();
    found.sort_by(|a, b| a.part.id.cmp(&b.part.id));
    found
}
