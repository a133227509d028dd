//! Cluster ids in an inventory of AWS.

use std::collections::{BTreeMap, BTreeSet};

use crate::clusters::{ClusterUse, Clusters};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG, Tag};

use super::inventory::{Inventory, Region};
use super::load_balancers::Names;
use super::view::instance_clusters;

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

/// Calls whose failure may hide clusters of which only such resources are left.
const READS_OF_REMAINS: [Read; 3] =
    [Read::DescribeAutoScalingGroups, Read::DescribeLoadBalancers, Read::DescribeLoadBalancerTags];

impl Clusters {
    /// Counts the cluster tags of an inventory.
    #[must_use]
    pub fn from_inventory(inventory: &Inventory) -> Self {
        let mut uses: BTreeMap<(&str, &str, String), ClusterUse> = BTreeMap::new();
        for account in &inventory.accounts {
            for region in &account.regions {
                let balancers = of_balancers(region);
                let of_balancers = balancers.into_iter().map(|found| (ResourceKind::LoadBalancer, vec![found]));
                let groups = of_target_groups(region).into_iter();
                let of_balancers = of_balancers.chain(groups.map(|found| (ResourceKind::TargetGroup, vec![found])));
                let of_tags = tagged(region).map(|(kind, tags)| {
                    let found: Vec<(String, String)> = tags::cluster_ids(tags)
                        .map(|(id, value)| (id.to_owned(), value.to_owned()))
                        .chain(
                            tags::value(tags, LEGACY_TAG)
                                .filter(|id| !id.is_empty())
                                .map(|id| (id.to_owned(), "legacy".to_owned())),
                        )
                        .collect();
                    (kind, found)
                });
                for (kind, found) in of_tags.chain(of_balancers) {
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
        Self::from_uses(uses.into_values().collect(), &inventory.gaps, &[&READS[..], &READS_OF_REMAINS].concat())
    }
}

/// Kinds and tags of the resources that may name clusters: those of EC2, target groups, and Auto Scaling groups, since a
/// cluster may be at zero.
fn tagged(region: &Region) -> impl Iterator<Item = (ResourceKind, &[Tag])> {
    let scaling = region.auto_scaling_groups.iter().flatten();
    let scaling = scaling.map(|one| (ResourceKind::AutoScalingGroup, one.tags.as_slice()));
    let target_groups = region.load_balancing.iter().flat_map(|read| &read.target_groups);
    let target_groups = target_groups.map(|one| (ResourceKind::TargetGroup, one.tags.as_deref().unwrap_or_default()));
    let live = region.tagged().filter(|resource| resource.is_live()).map(|resource| (resource.kind(), resource.tags()));
    live.chain(scaling).chain(target_groups)
}

/// Ids that the load balancers of controllers name, with the value of the tag: a cluster that was deleted may live on in
/// them alone. The AWS Load Balancer Controller of a living cluster may run under another name, so its name counts only
/// where no tagged instance runs in the VPC.
fn of_balancers(region: &Region) -> Vec<(String, String)> {
    let is_living = |vpc: Option<&str>| is_living(region, vpc);
    let balancers = region.load_balancing.iter().flat_map(|one| &one.load_balancers);
    let found = balancers.flat_map(|one| {
        let held = one.tags.as_deref().unwrap_or_default();
        let of_tags = tags::cluster_ids(held);
        let of_controller = tags::value(held, tags::LBC_CLUSTER_TAG).filter(|_| !is_living(one.vpc_id.as_deref()));
        let names = of_tags.chain(of_controller.map(|name| (name, "controller")));
        let claimed = names.filter(|(id, _)| !Names { cluster_id: id, cluster_name: id }.claims(held).is_empty());
        claimed.map(|(id, value)| (id.to_owned(), value.to_owned())).collect::<Vec<_>>()
    });
    found.collect()
}

/// True if a tagged instance runs in a VPC.
fn is_living(region: &Region, vpc: Option<&str>) -> bool {
    let mut live = region.instances.iter().filter(|one| one.state.is_live() && one.vpc_id.as_deref() == vpc);
    live.any(|one| instance_clusters(&one.tags).next().is_some())
}

/// As [`of_balancers`], names that only target groups of the AWS Load Balancer Controller have.
fn of_target_groups(region: &Region) -> Vec<(String, String)> {
    let groups = region.load_balancing.iter().flat_map(|one| &one.target_groups);
    let named = groups.filter(|one| !is_living(region, one.vpc_id.as_deref())).filter_map(|one| {
        let held = one.tags.as_deref().unwrap_or_default();
        let name = tags::value(held, tags::LBC_CLUSTER_TAG)?;
        let is_counted = tags::cluster_ids(held).any(|(id, _)| id == name);
        let is_claimed = !Names { cluster_id: name, cluster_name: name }.claims(held).is_empty();
        (!is_counted && is_claimed).then(|| (name.to_owned(), "controller".to_owned()))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::aws::Cluster;

    #[test]
    fn clusters_that_only_load_balancers_name_are_listed() {
        let mut cluster = Cluster::new();
        let tags = [("elbv2.k8s.aws/cluster", "former"), ("service.k8s.aws/stack", "shop/web")];
        let tags = tags.map(|(key, value)| Tag { key: key.to_owned(), value: value.to_owned() });
        cluster.add_network().tags = Some(tags.to_vec());
        let ids = |cluster: &Cluster| Clusters::from_inventory(&cluster.inventory).ids();
        // The controller of the cluster next to it may run under that name.
        assert!(!ids(&cluster).contains("former"));
        for instance in &mut cluster.region().instances {
            instance.vpc_id = Some("vpc-0other".to_owned());
        }
        assert!(ids(&cluster).contains("former"));
        let group = cluster.target_group();
        group.vpc_id = Some("vpc-0bb1".to_owned());
        let tags = [("elbv2.k8s.aws/cluster", "older"), ("service.k8s.aws/stack", "shop/web")];
        group.tags = Some(tags.map(|(key, value)| Tag { key: key.to_owned(), value: value.to_owned() }).to_vec());
        assert!(ids(&cluster).contains("older"));
        cluster.target_group().tags.as_mut().unwrap().truncate(1);
        assert!(!ids(&cluster).contains("older"));
        // Made by hand, for no Service.
        let vpc = cluster.region().load_balancing.as_mut().unwrap();
        vpc.load_balancers.last_mut().unwrap().tags.as_mut().unwrap().truncate(1);
        assert!(!ids(&cluster).contains("former"));
    }
}
