//! The VPCs of a cluster in Alibaba Cloud, as data for a map.

use std::collections::{BTreeMap, BTreeSet};

use crate::membership::RoleSet;
use crate::tags::ClusterTag;
use crate::topology::{NodeGroup, Part, SubnetPart, VpcTopology};

use super::CLUSTER_TAG;
use super::view::{ClusterView, RegionView};

/// The VPCs in Alibaba Cloud, with vSwitches as subnets and the tag `ack.aliyun.com`.
#[must_use]
pub(crate) fn topology(view: &ClusterView<'_>) -> Vec<VpcTopology> {
    let mut all = Vec::new();
    for region in &view.regions {
        all.extend(region.member_vpcs().into_iter().map(|vpc| vpc_topology(view.cluster_id, region, vpc)));
    }
    all.sort_by(|a, b| (&a.account_id, &a.region, &a.vpc.id).cmp(&(&b.account_id, &b.region, &b.vpc.id)));
    all
}

fn vpc_topology(cluster_id: &str, region: &RegionView<'_>, vpc_id: &str) -> VpcTopology {
    let tag = |tags: &[crate::tags::Tag]| match crate::tags::value(tags, CLUSTER_TAG) {
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
            .map(|((subnet_id, roles, tag, groups), instances)| {
                NodeGroup::new(roles, subnet_id, tag, groups, instances)
            })
            .collect(),
        load_balancers: Vec::new(),
        scaling_groups: Vec::new(),
    }
}
