//! Every cluster id in an inventory, by resource kind and tag value: the starting point for a new user.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::alibaba;
use crate::inventory::{Gap, Inventory, Read};
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG};

/// Uses of one cluster id in one region.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClusterUse {
    /// The id.
    pub cluster_id: String,
    /// Account.
    pub account_id: String,
    /// Region.
    pub region: String,
    /// Live instances.
    pub instances: usize,
    /// Counts by kind of resource and value of the tag; `legacy` for `KubernetesCluster`.
    pub tags: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

/// All cluster ids of an inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clusters {
    /// Schema of this document.
    pub schema: &'static str,
    /// One entry per id and region, those with instances first.
    pub clusters: Vec<ClusterUse>,
    /// Reads that failed.
    pub not_audited: Vec<Gap>,
}

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

/// Calls whose failure makes the list of ids incomplete in Alibaba Cloud.
pub const ALIBABA_READS: [Read; 8] = [
    Read::AssumeRole,
    Read::DescribeDisks,
    Read::DescribeRouteTableList,
    Read::DescribeVSwitches,
    Read::EcsDescribeInstances,
    Read::EcsDescribeNetworkInterfaces,
    Read::EcsDescribeSecurityGroups,
    Read::VpcDescribeVpcs,
];

impl Clusters {
    /// Counts the cluster tags of an inventory.
    #[must_use]
    pub fn from_inventory(inventory: &Inventory) -> Self {
        let mut uses: BTreeMap<(&str, &str, String), ClusterUse> = BTreeMap::new();
        for account in &inventory.accounts {
            for region in &account.regions {
                for resource in region.tagged().filter(|resource| resource.is_live()) {
                    let (kind, tags) = (resource.kind(), resource.tags());
                    let found: Vec<(String, String)> = tags::cluster_ids(tags)
                        .map(|(id, value)| (id.to_owned(), value.to_owned()))
                        .chain(
                            tags::value(tags, LEGACY_TAG)
                                .filter(|id| !id.is_empty())
                                .map(|id| (id.to_owned(), "legacy".to_owned())),
                        )
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

    /// Counts the cluster tags in Alibaba Cloud: `ack.aliyun.com`, and those of installers.
    #[must_use]
    pub fn from_alibaba(inventory: &alibaba::Inventory) -> Self {
        let mut uses: BTreeMap<(&str, &str, String), ClusterUse> = BTreeMap::new();
        for account in &inventory.accounts {
            for region in &account.regions {
                for (kind, _, tags) in region.tagged() {
                    let own = tags::value(tags, alibaba::CLUSTER_TAG).map(|id| (id, alibaba::CLUSTER_TAG.to_owned()));
                    let legacy = tags::value(tags, LEGACY_TAG).map(|id| (id, "legacy".to_owned()));
                    let installed = tags::cluster_ids(tags).map(|(id, value)| (id, value.to_owned()));
                    let mut counted: BTreeSet<&str> = BTreeSet::new();
                    let found = own.into_iter().chain(installed).chain(legacy);
                    for (id, value) in found.filter(|(id, _)| !id.is_empty()) {
                        let key = (account.account_id.as_str(), region.name.as_str(), id.to_owned());
                        let entry = uses.entry(key).or_insert_with(|| ClusterUse {
                            cluster_id: id.to_owned(),
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
        Self::from_uses(uses.into_values().collect(), &inventory.gaps, &ALIBABA_READS)
    }

    fn from_uses(mut clusters: Vec<ClusterUse>, gaps: &[Gap], reads: &[Read]) -> Self {
        clusters.sort_by(|a, b| {
            (std::cmp::Reverse(a.instances), &a.cluster_id, &a.account_id, &a.region).cmp(&(
                std::cmp::Reverse(b.instances),
                &b.cluster_id,
                &b.account_id,
                &b.region,
            ))
        });
        let not_audited = gaps.iter().filter(|gap| reads.contains(&gap.read)).cloned().collect();
        Self { schema: "tagaudit.clusters/1", clusters, not_audited }
    }

    /// The distinct ids.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<String> {
        self.clusters.iter().map(|cluster| cluster.cluster_id.clone()).collect()
    }
}
