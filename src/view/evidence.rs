//! Why an instance is taken for a node of the cluster, and how sure that is.

/// Why an instance is taken for a node of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// It carries the cluster tag, new-style or legacy.
    ClusterTag,
    /// A Kubernetes Node names it.
    Node,
    /// It carries a tag that can only have been meant as the cluster tag.
    NearMissTag,
    /// It is in the Auto Scaling group of a member.
    AutoScalingGroup,
    /// It shares instance profile, VPC and a security group with a member.
    ProfileAndSecurityGroup,
    /// It shares an Auto Scaling group, or profile, VPC and group, with members and with a few instances that are tagged for
    /// other clusters.
    MostlyShared,
    /// It has an instance profile, and a security group with the cluster tag is attached.
    TaggedSecurityGroup,
}

/// How sure the evidence makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Inferred from what it shares with the cluster; a person should look.
    Probable,
    /// Inferred, and hardly anything else is possible.
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

impl Evidence {
    /// Every kind of evidence, strongest first.
    pub const ALL: [Self; 7] = [
        Self::ClusterTag,
        Self::Node,
        Self::NearMissTag,
        Self::AutoScalingGroup,
        Self::ProfileAndSecurityGroup,
        Self::MostlyShared,
        Self::TaggedSecurityGroup,
    ];

    /// How sure it makes.
    #[must_use]
    pub fn confidence(self) -> Confidence {
        match self {
            Self::ClusterTag | Self::Node => Confidence::Certain,
            Self::NearMissTag | Self::AutoScalingGroup => Confidence::Strong,
            // A management server or build machine has the nodes' profile and a common group as well.
            Self::ProfileAndSecurityGroup | Self::MostlyShared | Self::TaggedSecurityGroup => Confidence::Probable,
        }
    }

    /// The evidence in words that follow "because".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClusterTag => "it carries the cluster tag",
            Self::Node => "a Kubernetes Node names it",
            Self::NearMissTag => "it carries a tag that can only have been meant as the cluster tag",
            Self::AutoScalingGroup => "it is in the Auto Scaling group of other nodes",
            Self::ProfileAndSecurityGroup => "it shares instance profile, VPC and a security group with other nodes",
            Self::MostlyShared => {
                "it shares its Auto Scaling group, or its instance profile, VPC and a security group, with many nodes, and with a few instances tagged for other clusters"
            }
            Self::TaggedSecurityGroup => "it has an instance profile and a security group with the cluster tag",
        }
    }
}
