//! Place of the Nodes of a cluster among the instances of an inventory, for scans of many clusters.

use std::collections::{BTreeMap, BTreeSet};

/// Place of Nodes in an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodesPlace {
    /// Their instances have the tags of these clusters; of several ids, each is on as many instances as the others.
    Clusters(BTreeSet<String>),
    /// This number of them are instances without the tag of a cluster.
    Untagged(usize),
    /// None of them is an instance of the inventory.
    Elsewhere,
    /// No Node names an instance of the cloud.
    Unnamed,
}

impl NodesPlace {
    /// The clusters of which most instances are Nodes, from the cluster ids in the tags of each instance.
    pub(crate) fn of_instances<'i>(instances: &[BTreeSet<&'i str>]) -> Self {
        if instances.is_empty() {
            return Self::Elsewhere;
        }
        let mut counts: BTreeMap<&'i str, usize> = BTreeMap::new();
        for id in instances.iter().flatten() {
            *counts.entry(id).or_default() += 1;
        }
        let Some(most) = counts.values().max().copied() else { return Self::Untagged(instances.len()) };
        let found = counts.iter().filter(|(_, count)| **count == most).map(|(id, _)| (*id).to_owned());
        Self::Clusters(found.collect())
    }
}
