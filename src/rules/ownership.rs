//! Owned versus shared across the account. Owned: the resource is deleted with its
//! cluster. Shared: several may use it and none deletes it. Source: cloud-provider-aws `pkg/providers/v1/tags.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use crate::aws::Tagged;
use crate::aws::view::RegionView;
use crate::finding::{Choice, Fix};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, SHARED};

mod instance_shared;
mod legacy_implies_owned;
mod resource_owned_and_shared;
mod resource_owned_by_two_clusters;
mod resource_owned_used_by_other_cluster;
mod resource_shared_single_user;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/ownership.rs"));

const NETWORK: &[ResourceKind] =
    &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::SecurityGroup, ResourceKind::RouteTable];

const INSTANCES: Read = Read::DescribeInstances;

const KOPS_OWNED: &str = "kubernetes/kops pkg/resources/aws/tags.go#HasOwnedTag";

const CAPA_GC: &str = "kubernetes-sigs/cluster-api-provider-aws pkg/cloud/services/gc/ec2.go";

fn network<'r>(region: &'r RegionView<'_>) -> impl Iterator<Item = Tagged<'r>> {
    region.tagged().filter(|resource| resource.is_network())
}

fn owners(resource: Tagged<'_>, value: &str) -> Vec<String> {
    tags::cluster_ids(resource.tags()).filter(|(_, found)| *found == value).map(|(id, _)| id.to_owned()).collect()
}

fn share(region: &RegionView<'_>, resource: Tagged<'_>, clusters: &[String]) -> Fix {
    let changes =
        clusters.iter().flat_map(|id| region.set_tag(resource.kind(), [resource.id()], &tags::cluster_key(id), SHARED));
    Fix::choose(
        "set the tags of all these clusters to `shared`",
        vec![Choice::with(SHARED, "no cluster deletes it", changes.collect())],
    )
}

/// Clusters whose live instances use each subnet, security group and route table.
fn users<'a>(region: &RegionView<'a>, own: &str) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in region.region.instances.iter().filter(|instance| instance.state.is_live()) {
        let clusters: BTreeSet<&str> =
            crate::aws::view::instance_clusters(&instance.tags).filter(|id| !tags::is_slip(id, own)).collect();
        // An instance with two cluster tags is a separate finding and proves no use.
        let [cluster] = clusters.into_iter().collect::<Vec<_>>()[..] else { continue };
        let mut add = |id: &'a str| {
            users.entry(id).or_default().insert(cluster);
        };
        instance.security_groups.iter().for_each(|id| add(id));
        if let Some(subnet) = instance.subnet_id.as_deref() {
            add(subnet);
            if let Some(table) = region.subnet(subnet).and_then(|subnet| region.route_table(subnet)) {
                add(&table.id);
            }
        }
        if let Some(vpc) = instance.vpc_id.as_deref() {
            add(vpc);
        }
    }
    users
}
