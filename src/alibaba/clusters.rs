//! Cluster ids in an inventory of Alibaba Cloud.

use std::collections::{BTreeMap, BTreeSet};

use crate::clusters::{ClusterUse, Clusters};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags::{self, LEGACY_TAG};

use super::CLUSTER_TAG;
use super::inventory::Inventory;

/// Calls whose failure makes the list of ids incomplete.
pub(crate) const READS: [Read; 8] = [
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
    /// Counts the cluster tags in Alibaba Cloud: `ack.aliyun.com`, and those of installers.
    #[must_use]
    pub fn from_alibaba(inventory: &Inventory) -> Self {
        let mut uses: BTreeMap<(&str, &str, String), ClusterUse> = BTreeMap::new();
        for account in &inventory.accounts {
            for region in &account.regions {
                for (kind, _, tags) in region.tagged() {
                    let own = tags::value(tags, CLUSTER_TAG).map(|id| (id, CLUSTER_TAG.to_owned()));
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
        Self::from_uses(uses.into_values().collect(), &inventory.gaps, &READS)
    }
}
