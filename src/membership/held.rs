//! The nodes of a cluster as they are before a change that is tried on a copy: a change that takes the only tag of a
//! node makes the cluster no smaller.

use std::collections::{BTreeSet, HashMap};

use crate::nodes::KubernetesNode;

use super::{NodeRole, RoleAssignment};

/// Account id, region and instance id.
type Place = (String, String, String);

/// The nodes of a cluster before a change, and their roles.
#[derive(Debug, Clone, Default)]
pub struct Held {
    roles: HashMap<Place, RoleAssignment>,
    /// Names of their Nodes, by instance id.
    nodes: HashMap<String, String>,
    /// The other clusters that are audited with this one.
    others: BTreeSet<String>,
}

/// The nodes without which a cluster does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Nodes,
    ControlPlane,
}

impl Ended {
    /// In words, after a verb.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Nodes => "every node",
            Self::ControlPlane => "every node of the control plane",
        }
    }
}

impl Held {
    /// The nodes of a cluster, each by account id, region and instance id; it is audited together with these clusters.
    #[must_use]
    pub(crate) fn new<'n>(
        nodes: impl IntoIterator<Item = ([&'n str; 3], RoleAssignment, Option<&'n KubernetesNode>)>,
        cluster_id: &str,
        audited: &BTreeSet<String>,
    ) -> Self {
        let place = |[account, region, id]: [&str; 3]| (account.to_owned(), region.to_owned(), id.to_owned());
        let mut held =
            Self { others: audited.iter().filter(|id| *id != cluster_id).cloned().collect(), ..Self::default() };
        for (at, roles, node) in nodes {
            held.nodes.extend(node.map(|node| (at[2].to_owned(), node.name.clone())));
            held.roles.insert(place(at), roles);
        }
        held
    }

    /// The name of the Node of an instance.
    pub(crate) fn node(&self, instance: &str) -> Option<&str> {
        self.nodes.get(instance).map(String::as_str)
    }

    /// The nodes whose loss ends the cluster, if these instances are all of them: its nodes, or those of its control plane.
    pub(crate) fn is_ended_without(&self, instances: &BTreeSet<String>) -> Option<Ended> {
        let of = |is_meant: &dyn Fn(&RoleAssignment) -> bool| {
            let mut meant = self.roles.iter().filter(|(_, roles)| is_meant(roles)).map(|((.., id), _)| id).peekable();
            meant.peek().is_some() && meant.all(|id| instances.contains(id))
        };
        let is_controlplane = |one: &RoleAssignment| one.roles.contains(NodeRole::Controlplane);
        match () {
            () if of(&|_| true) => Some(Ended::Nodes),
            () if of(&is_controlplane) => Some(Ended::ControlPlane),
            () => None,
        }
    }

    /// The roles of a node before the change; `None` for an instance that was no node.
    pub(crate) fn roles(&self, account: &str, region: &str, instance: &str) -> Option<RoleAssignment> {
        self.roles.get(&(account.to_owned(), region.to_owned(), instance.to_owned())).copied()
    }

    /// True if an instance with the tags of these clusters now belongs to another cluster that is audited too: its defects
    /// are found there.
    pub(crate) fn is_moved<'c>(&self, clusters: impl IntoIterator<Item = &'c str>) -> bool {
        let mut clusters = clusters.into_iter().peekable();
        clusters.peek().is_some() && clusters.all(|id| self.others.contains(id))
    }
}
