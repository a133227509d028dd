//! Evidence that an instance is a node of the cluster, and its confidence.

use crate::membership::Confidence;

/// Evidence that an instance is a node of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// It carries the cluster tag, new-style or legacy.
    ClusterTag,
    /// A Kubernetes Node names it.
    Node,
    /// It was a node before a change that is tried on a copy.
    BeforeChange,
    /// It carries a tag that can only be a misspelt cluster tag.
    NearMissTag,
    /// It is in the Auto Scaling group of a member.
    AutoScalingGroup,
    /// It shares instance profile, VPC and a security group with a member.
    ProfileAndSecurityGroup,
    /// It shares an Auto Scaling group, or profile, VPC and group, with members and with a few instances tagged for
    /// other clusters.
    MostlyShared,
    /// It has an instance profile, and a security group with the cluster tag is attached.
    TaggedSecurityGroup,
}

impl Evidence {
    /// Every kind of evidence, strongest first.
    pub const ALL: [Self; 8] = [
        Self::ClusterTag,
        Self::Node,
        Self::BeforeChange,
        Self::NearMissTag,
        Self::AutoScalingGroup,
        Self::ProfileAndSecurityGroup,
        Self::MostlyShared,
        Self::TaggedSecurityGroup,
    ];

    #[must_use]
    pub fn confidence(self) -> Confidence {
        match self {
            Self::ClusterTag | Self::Node | Self::BeforeChange => Confidence::Certain,
            Self::NearMissTag | Self::AutoScalingGroup => Confidence::Strong,
            // A management server or build machine may also have the nodes' profile and a common group.
            Self::ProfileAndSecurityGroup | Self::MostlyShared | Self::TaggedSecurityGroup => Confidence::Probable,
        }
    }

    /// The evidence, as a clause that follows "because".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClusterTag => "it carries the cluster tag",
            Self::Node => "a Kubernetes Node names it",
            Self::BeforeChange => "it was a node before the change",
            Self::NearMissTag => "it carries a tag that can only be a misspelt cluster tag",
            Self::AutoScalingGroup => "it is in the Auto Scaling group of other nodes",
            Self::ProfileAndSecurityGroup => "it shares instance profile, VPC and a security group with other nodes",
            Self::MostlyShared => {
                "it shares its Auto Scaling group, or its instance profile, VPC and a security group, with many nodes, and with a few instances tagged for other clusters"
            }
            Self::TaggedSecurityGroup => "it has an instance profile and a security group with the cluster tag",
        }
    }
}
