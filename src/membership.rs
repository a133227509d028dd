//! Membership of instances in a cluster, in the terms that all clouds share: confidence, node roles, and contradictions
//! between tags and Nodes. The view of each cloud decides which instances belong.

use std::fmt;

use crate::text;

mod held;
mod place;
mod roles;

pub use held::Held;
pub(crate) use place::NodesPlace;
pub use roles::RoleSource;
pub(crate) use roles::{
    NodeRole, NodeRoleSelector, RoleAssignment, RoleSet, Selectable, roles_from_labels, roles_from_names,
};

/// Confidence of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Inferred from properties that it shares with the cluster; to be verified manually.
    Probable,
    /// Inferred, and another explanation is unlikely.
    Strong,
    /// Stated.
    Certain,
}

impl Confidence {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Probable => "probable",
            Self::Strong => "strong",
            Self::Certain => "certain",
        }
    }
}

/// A contradiction between the cluster's tag and its Nodes: instances have the tag, and the Nodes are other instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// Live instances with the tag, by id.
    pub tagged: Vec<String>,
    /// Nodes that are instances of the cloud and not among these, by name.
    pub nodes: Vec<String>,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the cluster tag is on {}, and the Nodes ({}) are other instances",
            text::list(&self.tagged, 3),
            text::list(&self.nodes, 3)
        )
    }
}
