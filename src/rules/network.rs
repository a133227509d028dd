//! VPCs and route tables.

use std::collections::BTreeSet;

use super::Rule;
use super::aws::Context;
use crate::aws::view::{Distribution, RegionView};
use crate::aws::{Route, RouteTable, Vpc};
use crate::inventory::Read;
use crate::nodes;
use crate::resource::ResourceKind;

mod instance_source_dest_check;
mod route_table_tag_count;
mod vpc_cluster_tag_missing;
mod vpc_dhcp_custom_domain;
mod vpc_dns_attributes_disabled;
mod vpc_owned_by_one_hosts_others;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/network.rs"));

const VPC: &[ResourceKind] = &[ResourceKind::Vpc];

/// Prefix of the tags of Cluster API Provider AWS on its network, in place of the Kubernetes one.
const CAPA_PREFIX: &str = "sigs.k8s.io/cluster-api-provider-aws/cluster/";

const INSTANCES: Read = Read::DescribeInstances;

const VPCS: Read = Read::DescribeVpcs;

fn member_vpcs<'a>(region: &RegionView<'a>) -> Vec<&'a Vpc> {
    region.member_vpcs().into_iter().filter_map(|id| region.vpc(id)).collect()
}

/// True if Nodes are found by something other than their private DNS name: by providerID or by an instance id as name.
/// EKS sets both, and kOps names nodes by instance id since 1.23.
fn names_do_not_matter(context: &Context<'_>, region: &RegionView<'_>) -> bool {
    match context.view.nodes {
        Some(nodes) => {
            nodes.iter().all(|node| !node.provider_id.is_empty() || nodes::instance_id_in_name(&node.name).is_some())
        }
        None => {
            matches!(region.distribution, Distribution::Kops | Distribution::Eks)
                || region.members.iter().all(|member| {
                    member.instance.private_dns_name.as_deref().is_some_and(|name| name.starts_with("i-"))
                })
        }
    }
}

/// Routes that lead to members, by table: the sign of cloud routes.
fn routes_to_members<'a>(region: &RegionView<'a>) -> Vec<(&'a RouteTable, &'a Route, &'a str)> {
    let members: BTreeSet<&str> = region.members.iter().map(|member| member.instance.id.as_str()).collect();
    let tables = region.region.route_tables.iter();
    tables
        .flat_map(|table| table.routes.iter().map(move |route| (table, route)))
        // A default route to an instance is a NAT instance, not a pod network.
        .filter(|(_, route)| !matches!(route.destination.as_str(), "0.0.0.0/0" | "::/0"))
        .filter_map(|(table, route)| route.instance_id.as_deref().map(|id| (table, route, id)))
        .filter(|(.., id)| members.contains(id))
        .collect()
}
