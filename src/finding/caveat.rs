//! Caveats: facts to know before a finding is fixed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text;

/// A fact about the resources that a fix writes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caveat {
    /// Resources that other accounts own and share with this one. Each account has its own tags on them.
    Shared {
        /// Ids.
        resources: Vec<String>,
        /// The accounts that own them.
        owners: Vec<String>,
    },
    /// Managers that re-create the resources from their own templates.
    ManagedBy(Vec<String>),
    /// Other clusters present in the VPC, each with its evidence. A tag on a common subnet takes the subnet from every
    /// cluster that relies on untagged ones.
    Neighbours(Vec<(String, String)>),
    /// Other clusters present in the VPC of an instance or in the VPC itself, each with a resource as evidence.
    NotAlone(Vec<(String, String)>),
    /// An instance that no list of Nodes names.
    NotNamedByNodes,
    /// A Node names the instance by its providerID, and neither an address of the Node nor its name is the instance's.
    NamedByIdAlone,
    /// The VPC has no node that carries the cluster's tag and, if Nodes were given, is one of them.
    NoCertainMember,
    /// A subnet with a role tag and neither the cluster's tag nor a node of it: its cluster is unknown.
    RoleTagAlone,
    /// Lists that could reveal another cluster were not read.
    NeighboursUnread,
    /// The resource, or another machine among the given Nodes, has tags of other clusters: their ids.
    TaggedForOthers(Vec<String>),
    /// Only its address makes an instance a node, and nothing else of the cluster is known in its VPC.
    NamedByAddress,
    /// Load balancers would get other subnets: the change for each cluster.
    MovesLoadBalancers(String),
    /// A plan of all safe fixes would not include it: the reason.
    Refused(String),
    /// The trial of its writes on a copy of the account failed, so no command is printed: the reason.
    NotPrinted(String),
    /// The trial failed only after the commands before it: the reason.
    RefusedAfterOthers(String),
    /// One policy holds the grants of several findings to a role, and its command is printed with the first of them:
    /// their rules.
    OnePolicy(Vec<String>),
}

/// The kinds of caveats, as in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    Shared,
    /// [`Caveat::ManagedBy`].
    ManagedBy,
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
    Refused,
    /// [`Caveat::NotPrinted`].
    NotPrinted,
    /// [`Caveat::RefusedAfterOthers`].
    RefusedAfterOthers,
    /// [`Caveat::OnePolicy`].
    OnePolicy,
}

impl CaveatKind {
    /// All kinds, in the order of the enum.
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
                "{} {} to account {}, and this account, like the controller, sees only the tags that it set itself",
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
                "others are present in the VPC: {}; verify that the resource belongs to this cluster",
                text::list(&described(neighbours), 3)
            ),
            Self::NotNamedByNodes => {
                f.write_str("no Node refers to the instance, and the tag grants rights over it")
            }
            Self::NamedByIdAlone => f.write_str(
                "a Node refers to the instance by providerID only: neither its addresses nor its name match the instance",
            ),
            Self::NoCertainMember => f.write_str(
                "no instance in the VPC both carries the cluster's tag and is one of the Nodes, so verify that the cluster id and the Nodes belong together",
            ),
            Self::RoleTagAlone => f.write_str(
                "the subnet has a role tag and no node of this cluster, so another cluster's load balancers may use it",
            ),
            Self::NeighboursUnread => f.write_str("some lists that could reveal another cluster were not read"),
            Self::TaggedForOthers(ids) => {
                write!(f, "it, or another Node's machine, carries the tag of another cluster: {}", text::list(ids, 3))
            }
            Self::NamedByAddress => {
                f.write_str("only its address identifies it as the Node, and its VPC differs from that of all other known nodes")
            }
            Self::MovesLoadBalancers(how) => f.write_str(how),
            Self::Refused(why) => write!(f, "`--fix` skips it: {why}"),
            Self::NotPrinted(why) => write!(f, "no command is printed, because of its trial on a copy: {why}"),
            Self::RefusedAfterOthers(why) => {
                write!(f, "no command is printed, because it fails after the commands before it: {why}; run those and scan again")
            }
            Self::OnePolicy(rules) => write!(
                f,
                "one command grants everything that the findings about the role require ({}) in one policy; it is printed with the first of them",
                text::list(rules, 4)
            ),
        }
    }
}
