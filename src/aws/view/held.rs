//! The nodes of a cluster as they are before a change that is tried on a copy: a change that takes the only tag of a
//! node makes the cluster no smaller.

use std::collections::{BTreeSet, HashMap};

use crate::aws::{Account, Instance, Region};
use crate::membership::RoleAssignment;

use super::{ClusterView, instance_clusters};

/// The nodes of a cluster before a change, and their roles.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// By account id, region and instance id.
    roles: HashMap<(String, String, String), RoleAssignment>,
    /// The other clusters that are audited with this one.
    others: BTreeSet<String>,
}

impl Held {
    /// The nodes of a view, which is audited together with these clusters.
    #[must_use]
    pub(crate) fn of(view: &ClusterView<'_>, audited: &BTreeSet<String>) -> Self {
        let mut roles = HashMap::new();
        for region in &view.regions {
            for member in &region.members {
                let (account, name) = (region.account.account_id.clone(), region.region.name.clone());
                roles.insert((account, name, member.instance.id.clone()), member.roles);
            }
        }
        let others = audited.iter().filter(|id| *id != view.cluster_id).cloned().collect();
        Self { roles, others }
    }

    /// The roles of a node before the change; `None` for an instance that was no node.
    pub(super) fn roles(&self, account: &Account, region: &Region, instance: &str) -> Option<RoleAssignment> {
        let key = (account.account_id.clone(), region.name.clone(), instance.to_owned());
        self.roles.get(&key).copied()
    }

    /// True if an instance now belongs to another cluster that is audited too: its defects are found there.
    pub(super) fn is_moved(&self, instance: &Instance) -> bool {
        let mut clusters = instance_clusters(&instance.tags).peekable();
        clusters.peek().is_some() && clusters.all(|id| self.others.contains(id))
    }
}
