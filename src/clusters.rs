//! Every cluster id in an inventory, by resource kind and tag value: the starting point for a new user.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::inventory::{Gap, Read};

/// Uses of one cluster id in one region.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClusterUse {
    pub cluster_id: String,
    pub account_id: String,
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

impl Clusters {
    /// Sorts the uses, and keeps the gaps of these reads.
    pub(crate) fn from_uses(mut clusters: Vec<ClusterUse>, gaps: &[Gap], reads: &[Read]) -> Self {
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

    /// The ids of clusters that have instances; if none has any, all ids.
    pub(crate) fn with_instances(&self) -> BTreeSet<String> {
        let with_instances = self.clusters.iter().filter(|one| one.instances > 0);
        let ids: BTreeSet<String> = with_instances.map(|one| one.cluster_id.clone()).collect();
        if ids.is_empty() { self.ids() } else { ids }
    }

    /// The distinct ids.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<String> {
        self.clusters.iter().map(|cluster| cluster.cluster_id.clone()).collect()
    }
}
