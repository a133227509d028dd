//! Cluster ids in an inventory of AWS.

use std::collections::{BTreeMap, BTreeSet};

use crate::clusters::{ClusterUse, Clusters};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG, Tag};

use super::inventory::{Inventory, Region};

/// Calls whose failure makes the list of ids incomplete.
pub const READS: [Read; 8] = [
    Read::AssumeRole,
    Read::DescribeInstances,
    Read::DescribeSubnets,
    Read::DescribeVpcs,
    Read::DescribeSecurityGroups,
    Read::DescribeRouteTables,
    Read::DescribeVolumes,
    Read::DescribeNetworkInterfaces,
];

impl Clusters {
    /// Counts the cluster tags of an inventory.
    #[must_use]
    pub fn from_inventory(inventory: &Inventory) -> Self {
        let mut uses: BTreeMap<(&str, &str, String), ClusterUse> = BTreeMap::new();
        for account in &inventory.accounts {
            for region in &account.regions {
                for (kind, tags) in tagged(region) {
                    let found: Vec<(String, String)> = tags::cluster_ids(tags)
                        .map(|(id, value)| (id.to_owned(), value.to_owned()))
                        .chain(
                            tags::value(tags, LEGACY_TAG)
                                .filter(|id| !id.is_empty())
                                .map(|id| (id.to_owned(), "legacy".to_owned())),
                        )
                        .chain(of_controller(kind, tags).map(|id| (id.to_owned(), "controller".to_owned())))
                        .collect();
                    let mut counted: BTreeSet<String> = BTreeSet::new();
                    for (id, value) in found {
                        let entry =
                            uses.entry((&account.account_id, &region.name, id.clone())).or_insert_with(|| ClusterUse {
                                cluster_id: id.clone(),
                                account_id: account.account_id.clone(),
                                region: region.name.clone(),
                                ..ClusterUse::default()
                            });
                        *entry.tags.entry(kind.name()).or_default().entry(value).or_default() += 1;
                        entry.instances += usize::from(kind == ResourceKind::Instance && counted.insert(id));
                    }
                }
            }
        }
        Self::from_uses(uses.into_values().collect(), &inventory.gaps, &READS)
    }
}

/// Kinds and tags of the resources that may name clusters. A cluster that was deleted may live on in its load balancers
/// alone, and one at zero in its Auto Scaling groups.
fn tagged(region: &Region) -> impl Iterator<Item = (ResourceKind, &[Tag])> {
    let balancing = || region.load_balancing.iter();
    let balancers = balancing().flat_map(|one| &one.load_balancers).map(|one| (ResourceKind::LoadBalancer, &one.tags));
    let groups = balancing().flat_map(|one| &one.target_groups).map(|one| (ResourceKind::TargetGroup, &one.tags));
    let of_balancing = balancers.chain(groups).filter_map(|(kind, tags)| Some((kind, tags.as_deref()?)));
    let scaling = region.auto_scaling_groups.iter().flatten();
    let scaling = scaling.map(|one| (ResourceKind::AutoScalingGroup, one.tags.as_slice()));
    let live = region.tagged().filter(|resource| resource.is_live()).map(|resource| (resource.kind(), resource.tags()));
    live.chain(of_balancing).chain(scaling)
}

/// Name of the cluster for which the AWS Load Balancer Controller made a load balancer or a target group.
fn of_controller(kind: ResourceKind, tags: &[Tag]) -> Option<&str> {
    let is_of_balancing = matches!(kind, ResourceKind::LoadBalancer | ResourceKind::TargetGroup);
    tags::value(tags, "elbv2.k8s.aws/cluster").filter(|name| is_of_balancing && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::aws::Cluster;

    #[test]
    fn clusters_that_only_load_balancers_name_are_listed() {
        let mut cluster = Cluster::new();
        cluster.add_network();
        let tag = Tag { key: "elbv2.k8s.aws/cluster".to_owned(), value: "former".to_owned() };
        cluster.target_group().tags.as_mut().unwrap().push(tag);
        let found = Clusters::from_inventory(&cluster.inventory);
        let former = found.clusters.iter().find(|one| one.cluster_id == "former").unwrap();
        assert_eq!(former.instances, 0);
        assert_eq!(former.tags["target-group"]["controller"], 1);
    }
}
