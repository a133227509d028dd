//! The cluster id and the tags that carry it.

use std::collections::BTreeSet;

use super::{Rule, safety};
use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::resource::ResourceKind;

mod cluster_id_unexpected;
mod cluster_tag_empty_id;
mod cluster_tag_near_miss;
mod cluster_tag_value_invalid;
mod controlplane_cluster_id_disagreement;
mod instance_cluster_tag_conflict;
mod instance_cluster_tag_missing;
mod instance_legacy_tag_mismatch;
mod instance_legacy_tag_only;
mod lbc_cluster_name_mismatch;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/instance_tags.rs"));

const ANY: &[ResourceKind] = &[
    ResourceKind::Instance,
    ResourceKind::Subnet,
    ResourceKind::Vpc,
    ResourceKind::SecurityGroup,
    ResourceKind::RouteTable,
    ResourceKind::Volume,
    ResourceKind::NetworkInterface,
];

/// True if the tags of a resource are readable through the metadata service.
fn tags_are_readable(resource: Tagged<'_>) -> bool {
    matches!(resource, Tagged::Instance(instance) if safety::aws::forbids_slash(instance))
}

/// Predicate for the resources of a cluster: members, and parts of the network in which they run.
fn in_reach(region: &RegionView<'_>) -> impl Fn(Tagged<'_>) -> bool {
    let members: std::collections::HashSet<String> = region.members.iter().map(|m| m.instance.id.clone()).collect();
    let vpcs: BTreeSet<String> = region.member_vpcs().into_iter().map(str::to_owned).collect();
    move |resource| match resource {
        Tagged::Instance(instance) => members.contains(&instance.id),
        Tagged::Subnet(subnet) => vpcs.contains(&subnet.vpc_id),
        Tagged::Vpc(vpc) => vpcs.contains(&vpc.id),
        Tagged::SecurityGroup(group) => group.vpc_id.as_ref().is_some_and(|vpc| vpcs.contains(vpc)),
        Tagged::RouteTable(table) => vpcs.contains(&table.vpc_id),
        Tagged::Volume(_) | Tagged::NetworkInterface(_) => false,
    }
}

/// True if the cloud controller created the group for a load balancer.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#buildELBSecurityGroupList`, `aws_loadbalancer.go`.
pub(super) fn is_load_balancer_group(name: &str, description: &str) -> bool {
    name.starts_with("k8s-elb-")
        || description.starts_with("Security group for Kubernetes ELB")
        || description.starts_with("[k8s] Managed SecurityGroup for LoadBalancer")
}
