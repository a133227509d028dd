//! Cluster ids in an inventory of AWS.

use std::collections::{BTreeMap, BTreeSet};

use crate::clusters::{ClusterUse, Clusters};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG};

use super::inventory::Inventory;

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
}
