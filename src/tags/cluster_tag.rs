//! Relation of a resource to the cluster, by its tags.

use super::{
    SHARED, Tag, cluster_value, has_cluster_tag, has_cluster_tag_owned, has_foreign_cluster_tag, is_certain_near_miss,
};

/// Relation of a resource to the cluster, by its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterTag {
    /// The cluster's own: the new-style key with `owned`, or the legacy tag, which implies it.
    Owned,
    /// The new-style key with `shared`.
    Shared,
    /// The new-style key with another value: the resource is a member, without further rights.
    OtherValue,
    /// Tagged for other clusters only.
    Foreign,
    /// A misspelt tag for this cluster, which no controller reads.
    NearMiss,
    /// No cluster tag.
    Missing,
}

impl ClusterTag {
    /// Classifies tags; the cluster's own tags have precedence.
    #[must_use]
    pub fn from_tags(tags: &[Tag], cluster_id: &str) -> Self {
        if has_cluster_tag_owned(tags, cluster_id) {
            Self::Owned
        } else if has_cluster_tag(tags, cluster_id) {
            if cluster_value(tags, cluster_id) == Some(SHARED) { Self::Shared } else { Self::OtherValue }
        } else if tags.iter().any(|tag| is_certain_near_miss(tag, cluster_id)) {
            Self::NearMiss
        } else if has_foreign_cluster_tag(tags, cluster_id) {
            Self::Foreign
        } else {
            Self::Missing
        }
    }
}
