//! What a person has to know before a finding is fixed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text;

/// What a person has to know about the resources that a fix writes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caveat {
    /// Resources of other accounts, shared with this one. Tags on them are kept by each account for itself.
    Shared {
        /// Ids.
        resources: Vec<String>,
        /// The accounts that own them.
        owners: Vec<String>,
    },
    /// What makes the resources again from templates of its own.
    ManagedBy(Vec<String>),
    /// Other clusters that show in the VPC, each with what shows it. A tag on a common subnet takes it from every cluster
    /// that relies on untagged ones.
    Neighbours(Vec<(String, String)>),
    /// Other clusters that show in the VPC of an instance or in the VPC itself, each with the resource that shows it.
    NotAlone(Vec<(String, String)>),
    /// An instance that no list of Nodes names.
    NotNamedByNodes,
    /// A Node names the instance by its providerID, and neither an address of the Node nor its name is the instance's.
    NamedByIdAlone,
    /// No node is in the VPC that carries the cluster's tag and is among the Nodes, where these were given.
    NoCertainMember,
    /// A subnet with a role tag and neither the cluster's tag nor a node of it: whose it is, nothing says.
    RoleTagAlone,
    /// Lists in which another cluster could show were not read.
    NeighboursUnread,
    /// The resource, or another one of the Nodes that were given, carries the tags of other clusters: their ids.
    TaggedForOthers(Vec<String>),
    /// Only its address makes an instance a node, and nothing else of the cluster is known in its VPC.
    NamedByAddress,
    /// Load balancers would get other subnets: what changes for whom.
    MovesLoadBalancers(String),
    /// A plan of everything that is safe would not make it: why.
    Refused(String),
    /// Its writes were tried on a copy of the account and are refused there, so that no command is printed: why.
    NotPrinted(String),
    /// The same after the commands before it: why.
    RefusedAfterOthers(String),
    /// One policy holds what several findings grant to a role, and its command stands with the first of them: their rules.
    OnePolicy(Vec<String>),
}

/// The kinds of caveats, as in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    /// [`Caveat::Shared`].
    Shared,
    /// [`Caveat::ManagedBy`].
    ManagedBy,
    /// [`Caveat::Neighbours`].
    Neighbours,
    /// [`Caveat::NotAlone`].
    NotAlone,
    /// [`Caveat::NotNamedByNodes`].
    NotNamedByNodes,
    /// [`Caveat::NamedByIdAlone`].
    NamedByIdAlone,
    /// [`Caveat::NoCertainMember`].
    NoCertainMember,
    /// [`Caveat::RoleTagAlone`].
    RoleTagAlone,
    /// [`Caveat::NeighboursUnread`].
    NeighboursUnread,
    /// [`Caveat::TaggedForOthers`].
    TaggedForOthers,
    /// [`Caveat::NamedByAddress`].
    NamedByAddress,
    /// [`Caveat::MovesLoadBalancers`].
    MovesLoadBalancers,
    /// [`Caveat::Refused`].
    Refused,
    /// [`Caveat::NotPrinted`].
    NotPrinted,
    /// [`Caveat::RefusedAfterOthers`].
    RefusedAfterOthers,
    /// [`Caveat::OnePolicy`].
    OnePolicy,
}

impl CaveatKind {
    /// All of them, in the order of the enum.
    pub const ALL: [Self; 16] = [
        Self::Shared,
        Self::ManagedBy,
        Self::Neighbours,
        Self::NotAlone,
        Self::NotNamedByNodes,
        Self::NamedByIdAlone,
        Self::NoCertainMember,
        Self::RoleTagAlone,
        Self::NeighboursUnread,
        Self::TaggedForOthers,
        Self::NamedByAddress,
        Self::MovesLoadBalancers,
        Self::Refused,
        Self::NotPrinted,
        Self::RefusedAfterOthers,
        Self::OnePolicy,
    ];
}

impl Caveat {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> CaveatKind {
        match self {
            Self::Shared { .. } => CaveatKind::Shared,
            Self::ManagedBy(_) => CaveatKind::ManagedBy,
            Self::Neighbours(_) => CaveatKind::Neighbours,
            Self::NotAlone(_) => CaveatKind::NotAlone,
            Self::NotNamedByNodes => CaveatKind::NotNamedByNodes,
            Self::NamedByIdAlone => CaveatKind::NamedByIdAlone,
            Self::NoCertainMember => CaveatKind::NoCertainMember,
            Self::RoleTagAlone => CaveatKind::RoleTagAlone,
            Self::NeighboursUnread => CaveatKind::NeighboursUnread,
            Self::TaggedForOthers(_) => CaveatKind::TaggedForOthers,
            Self::NamedByAddress => CaveatKind::NamedByAddress,
            Self::MovesLoadBalancers(_) => CaveatKind::MovesLoadBalancers,
            Self::Refused(_) => CaveatKind::Refused,
            Self::NotPrinted(_) => CaveatKind::NotPrinted,
            Self::RefusedAfterOthers(_) => CaveatKind::RefusedAfterOthers,
            Self::OnePolicy(_) => CaveatKind::OnePolicy,
        }
    }
}

fn described(neighbours: &[(String, String)]) -> Vec<String> {
    neighbours.iter().map(|(name, seen)| format!("{name} ({seen})")).collect()
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared { resources, owners } => write!(
                f,
                "{} {} to account {}, and this account sees only the tags that it set itself, as the controller does",
                text::list(resources, 3),
                if resources.len() == 1 { "belongs" } else { "belong" },
                text::list(owners, 3)
            ),
            Self::ManagedBy(managers) => {
                write!(f, "managed by {}: fix that too, or it comes back", text::list(managers, 3))
            }
            Self::Neighbours(neighbours) => {
                write!(
                    f,
                    "others are present in the VPC: {}; tag the subnets for all of them at once, or their load balancers lose those subnets",
                    text::list(&described(neighbours), 3)
                )
            }
            Self::NotAlone(neighbours) => write!(
                f,
                "others are present in the VPC: {}; check that the resource belongs to this cluster",
                text::list(&described(neighbours), 3)
            ),
            Self::NotNamedByNodes => {
                f.write_str("no list of Nodes names the instance, and the tag gives rights over it")
            }
            Self::NamedByIdAlone => f.write_str(
                "a Node names the instance by its providerID, and neither an address nor the name of the Node is the instance's",
            ),
            Self::NoCertainMember => f.write_str(
                "no node in the VPC carries the cluster's tag and is among the Nodes, so check that the cluster id and the Nodes belong together",
            ),
            Self::RoleTagAlone => f.write_str(
                "the subnet has a role tag and no node of this cluster, so the load balancers of another cluster may use it",
            ),
            Self::NeighboursUnread => f.write_str("not everything that another cluster could show in was read"),
            Self::TaggedForOthers(ids) => {
                write!(f, "it, or another machine of the Nodes, carries the tag of another cluster: {}", text::list(ids, 3))
            }
            Self::NamedByAddress => {
                f.write_str("only its address says that it is the Node, and its VPC is not the one in which all other nodes are known")
            }
            Self::MovesLoadBalancers(how) => f.write_str(how),
            Self::Refused(why) => write!(f, "`--fix` leaves it: {why}"),
            Self::NotPrinted(why) => write!(f, "no command is printed, because it was tried on a copy: {why}"),
            Self::RefusedAfterOthers(why) => {
                write!(f, "no command is printed, because after the commands before it: {why}; scan again when they are done")
            }
            Self::OnePolicy(rules) => write!(
                f,
                "one command grants what all findings about the role ask for ({}), because it goes into one policy; it stands with the first of them",
                text::list(rules, 4)
            ),
        }
    }
}
