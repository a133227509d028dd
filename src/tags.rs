//! The cluster tags as the controllers read them, and near misses.
//!
//! Every comparison is byte-exact and case-sensitive, as in cloud-provider-aws `pkg/providers/v1/tags.go`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

mod cluster_tag;

pub(crate) use cluster_tag::ClusterTag;

/// A resource tag, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    /// Tag key, case-sensitive.
    pub key: String,
    /// Tag value, case-sensitive, possibly empty.
    pub value: String,
}

/// Tags for the resources of one type that a launch creates.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagSpecification {
    /// `instance`, `volume`, `network-interface`, …
    pub resource_type: String,
    /// Sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
}

impl TagSpecification {
    /// The type of the instances themselves.
    pub const INSTANCE: &'static str = "instance";
}

/// Maximum number of tags on an EC2 resource; tags that AWS sets itself (`aws:…`) do not count. Source: Amazon EC2 User
/// Guide, "Tag restrictions".
pub(crate) const QUOTA: usize = 50;

/// Prefix of the tags by which the cluster autoscaler discovers groups; `enabled` or the name of a cluster follows.
/// Source: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/README.md`.
pub(crate) const AUTOSCALER_PREFIX: &str = "k8s.io/cluster-autoscaler/";

/// Key of the tag of the AWS Load Balancer Controller, whose value is its `--cluster-name`.
/// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/tracking/provider.go#clusterNameTagKey`.
pub(crate) const LBC_CLUSTER_TAG: &str = "elbv2.k8s.aws/cluster";

/// Prefix of the cluster tag key; the cluster id follows (`tags.go` `TagNameKubernetesClusterPrefix`).
pub(crate) const CLUSTER_TAG_PREFIX: &str = "kubernetes.io/cluster/";

/// The legacy key; its value is the cluster id (`tags.go` `TagNameKubernetesClusterLegacy`).
pub(crate) const LEGACY_TAG: &str = "KubernetesCluster";

/// Value for a resource whose lifecycle is tied to the cluster (`tags.go` `ResourceLifecycleOwned`).
pub(crate) const OWNED: &str = "owned";

/// Value for a resource that several clusters may use (`tags.go` `ResourceLifecycleShared`).
pub(crate) const SHARED: &str = "shared";

/// Key that marks a subnet for internet-facing load balancers.
pub(crate) const ROLE_ELB: &str = "kubernetes.io/role/elb";

/// Key that marks a subnet for internal load balancers.
pub(crate) const ROLE_INTERNAL_ELB: &str = "kubernetes.io/role/internal-elb";

/// Longest cluster id that leaves the key within EC2's 127 characters.
pub(crate) const MAX_CLUSTER_ID: usize = 127 - CLUSTER_TAG_PREFIX.len();

/// A text that cannot be a cluster id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidClusterId {
    #[error("the cluster id is empty")]
    Empty,
    /// The resulting key would be longer than EC2 allows.
    #[error("a cluster id has at most {MAX_CLUSTER_ID} characters: EC2 limits tag keys to 127")]
    TooLong,
    /// It contains control characters.
    #[error("a cluster id must not contain control characters")]
    ControlCharacter,
    /// It is the whole tag key.
    #[error("give the id alone: `{id}`")]
    WholeKey { id: String },
}

/// Checks a cluster id: not empty, short enough for a tag key, no control characters.
///
/// # Errors
/// If the text cannot be a cluster id.
pub(crate) fn check_cluster_id(text: &str) -> Result<(), InvalidClusterId> {
    if text.is_empty() {
        return Err(InvalidClusterId::Empty);
    }
    if text.chars().count() > MAX_CLUSTER_ID {
        return Err(InvalidClusterId::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(InvalidClusterId::ControlCharacter);
    }
    match text.strip_prefix(CLUSTER_TAG_PREFIX) {
        Some(id) => Err(InvalidClusterId::WholeKey { id: id.to_owned() }),
        None => Ok(()),
    }
}

/// True if a key assigns a resource to a cluster, new-style or legacy.
#[must_use]
pub(crate) fn is_membership(key: &str) -> bool {
    key.starts_with(CLUSTER_TAG_PREFIX) || key == LEGACY_TAG
}

/// The cluster tag key of a cluster id.
#[must_use]
pub fn cluster_key(cluster_id: &str) -> String {
    format!("{CLUSTER_TAG_PREFIX}{cluster_id}")
}

/// Value of a tag, if the key is there.
#[must_use]
pub(crate) fn value<'a>(tags: &'a [Tag], key: &str) -> Option<&'a str> {
    tags.iter().find(|tag| tag.key == key).map(|tag| tag.value.as_str())
}

/// Value of the new-style cluster tag for this id, if there is one.
#[must_use]
pub(crate) fn cluster_value<'a>(tags: &'a [Tag], cluster_id: &str) -> Option<&'a str> {
    tags.iter().find(|tag| tag.key.strip_prefix(CLUSTER_TAG_PREFIX) == Some(cluster_id)).map(|tag| tag.value.as_str())
}

/// True if a resource belongs to the cluster: the new-style key with any value, or the legacy key with the id.
/// Source: cloud-provider-aws `pkg/providers/v1/tags.go#hasClusterTag`.
#[must_use]
pub(crate) fn has_cluster_tag(tags: &[Tag], cluster_id: &str) -> bool {
    tags.iter().any(|tag| {
        tag.key.strip_prefix(CLUSTER_TAG_PREFIX) == Some(cluster_id)
            || (tag.key == LEGACY_TAG && tag.value == cluster_id)
    })
}

/// True if the controller may delete the resource with the cluster: `owned` exactly, or the legacy tag, which implies
/// it.
/// Source: cloud-provider-aws `pkg/providers/v1/tags.go#hasClusterTagOwned`.
#[must_use]
pub(crate) fn has_cluster_tag_owned(tags: &[Tag], cluster_id: &str) -> bool {
    tags.iter().any(|tag| {
        (tag.key.strip_prefix(CLUSTER_TAG_PREFIX) == Some(cluster_id) && tag.value == OWNED)
            || (tag.key == LEGACY_TAG && tag.value == cluster_id)
    })
}

/// True if no key starts with the cluster prefix, so that any cluster may use a subnet.
/// Source: cloud-provider-aws `pkg/providers/v1/tags.go#hasNoClusterPrefixTag`.
#[must_use]
pub(crate) fn has_no_cluster_prefix_tag(tags: &[Tag]) -> bool {
    !tags.iter().any(|tag| tag.key.starts_with(CLUSTER_TAG_PREFIX))
}

/// True if a controller considers a subnet for load balancers: it is tagged for its cluster, or for none.
/// Source: cloud-provider-aws `pkg/providers/v1/aws.go#findSubnets`.
#[must_use]
pub(crate) fn is_usable(tags: &[Tag], cluster_id: &str) -> bool {
    has_cluster_tag(tags, cluster_id) || has_no_cluster_prefix_tag(tags)
}

/// The new-style cluster ids on a resource with their values, except the empty id.
pub(crate) fn cluster_ids(tags: &[Tag]) -> impl Iterator<Item = (&str, &str)> {
    tags.iter().filter_map(|tag| {
        tag.key.strip_prefix(CLUSTER_TAG_PREFIX).filter(|id| !id.is_empty()).map(|id| (id, tag.value.as_str()))
    })
}

/// True if the tags name a cluster other than this one, by the new-style key.
#[must_use]
pub(crate) fn has_foreign_cluster_tag(tags: &[Tag], cluster_id: &str) -> bool {
    cluster_ids(tags).any(|(id, _)| id != cluster_id)
}

/// Reason why a controller that starts on an instance cannot determine its cluster id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClusterIdError {
    /// There is a second prefixed key after one with an id that is not empty.
    #[error("found multiple cluster tags")]
    Multiple,
    /// New-style and legacy id differ.
    #[error("clusterID tags did not match: `{new}` vs `{legacy}`")]
    Mismatch {
        /// Id of the new-style key.
        new: String,
        /// Value of the legacy key.
        legacy: String,
    },
    /// Neither exists.
    #[error("AWS cloud failed to find ClusterID")]
    NotFound,
}

/// The (new, legacy) ids of a tag list, in its order. A prefixed key with an empty id is overwritten if it comes first
/// and an error if it comes second: as in the controller, the order decides.
/// Source: cloud-provider-aws `pkg/providers/v1/tags.go#findClusterIDs`.
///
/// # Errors
/// [`ClusterIdError::Multiple`].
pub(crate) fn find_cluster_ids(tags: &[Tag]) -> Result<(Option<&str>, Option<&str>), ClusterIdError> {
    let mut new: Option<&str> = None;
    let mut legacy: Option<&str> = None;
    for tag in tags {
        if let Some(id) = tag.key.strip_prefix(CLUSTER_TAG_PREFIX) {
            if new.is_some_and(|kept| !kept.is_empty()) {
                return Err(ClusterIdError::Multiple);
            }
            new = Some(id);
        }
        if tag.key == LEGACY_TAG {
            legacy = Some(&tag.value);
        }
    }
    Ok((new.filter(|id| !id.is_empty()), legacy.filter(|id| !id.is_empty())))
}

/// The id that a controller uses when it starts on an instance with these tags.
/// Source: cloud-provider-aws `pkg/providers/v1/tags.go#initFromTags`, `#init`.
///
/// # Errors
/// If the controller would exit.
pub(crate) fn controller_cluster_id(tags: &[Tag]) -> Result<&str, ClusterIdError> {
    match find_cluster_ids(tags)? {
        (Some(new), Some(legacy)) if new != legacy => {
            Err(ClusterIdError::Mismatch { new: new.to_owned(), legacy: legacy.to_owned() })
        }
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err(ClusterIdError::NotFound),
    }
}

/// Difference between a key and the intended cluster tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NearMiss {
    /// Another case.
    Case,
    /// White space around or in it.
    Whitespace,
    /// A trailing slash: to the controllers this is another id.
    TrailingSlash,
    /// Another separator or prefix, such as `kubernetes.io/clusters/ID`.
    Joiner,
    IdInValue,
    /// The placeholder of an example is still there.
    Placeholder,
    /// An id that differs from the audited one in case, separators or one or two letters.
    SimilarId,
    /// The legacy key in another case.
    LegacyCase,
}

impl NearMiss {
    /// The difference, as a phrase that follows the key.
    #[must_use]
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Case => "differs in case",
            Self::Whitespace => "contains white space",
            Self::TrailingSlash => "ends with a slash, which makes it another id",
            Self::Joiner => "is misspelt",
            Self::IdInValue => "has the cluster id in its value instead of its key",
            Self::Placeholder => "still contains the placeholder of an example",
            Self::SimilarId => "names an id that is nearly this one and is used nowhere else",
            Self::LegacyCase => "differs in case from `KubernetesCluster`",
        }
    }

    /// True if the intended tag is certain: the key can have no other purpose.
    #[must_use]
    pub(crate) fn is_certain(self) -> bool {
        !matches!(self, Self::Placeholder | Self::SimilarId | Self::LegacyCase)
    }
}

/// Known misspellings of the cluster tag prefix.
pub const MISSPELT_PREFIXES: [&str; 15] = [
    "kubernetes.io/cluster-",
    "kubernetes.io/cluster:",
    "kubernetes.io/cluster.",
    "kubernetes.io/cluster_",
    "kubernetes.io/cluster=",
    "kubernetes.io/cluster//",
    "kubernetes.io/clusters/",
    "kubernetes.io/clusterid/",
    "kubernetes.io/cluster-id/",
    "kubernetes.cluster.io/",
    "kubernetes.io.cluster/",
    "kubernetes/cluster/",
    "kubernetes-io/cluster/",
    "kubernetes.io-cluster/",
    "k8s.io/cluster/",
];

/// Classifies how a tag differs from the cluster tag of `cluster_id`; `None` for that tag itself, for tags of clearly
/// different clusters and for everything else. [`NearMiss::SimilarId`] is only a candidate: the account decides whether
/// the other id is a separate cluster.
#[must_use]
pub(crate) fn near_miss(tag: &Tag, cluster_id: &str) -> Option<NearMiss> {
    let key = tag.key.as_str();
    if key.strip_prefix(CLUSTER_TAG_PREFIX) == Some(cluster_id) || key == LEGACY_TAG || cluster_id.is_empty() {
        return None;
    }
    if let Some(id) = key.strip_prefix(CLUSTER_TAG_PREFIX) {
        return near_id(id, cluster_id);
    }
    // Cheap rejection first: this runs over every tag of every resource.
    if !key.as_bytes().windows(7).any(|window| window.eq_ignore_ascii_case(b"cluster")) {
        return None;
    }
    let trimmed = key.trim();
    if trimmed != key {
        let lower = trimmed.to_ascii_lowercase();
        let id = lower.strip_prefix(CLUSTER_TAG_PREFIX).map(|id| id.trim_end_matches('/'));
        return id.is_some_and(|id| id.eq_ignore_ascii_case(cluster_id)).then_some(NearMiss::Whitespace);
    }
    if key.eq_ignore_ascii_case(LEGACY_TAG) {
        return (tag.value == cluster_id).then_some(NearMiss::LegacyCase);
    }
    let lower = key.to_ascii_lowercase();
    if let Some(id) = lower.strip_prefix(CLUSTER_TAG_PREFIX) {
        return id.trim_end_matches('/').eq_ignore_ascii_case(cluster_id).then_some(NearMiss::Case);
    }
    if matches!(lower.trim_end_matches('/'), "kubernetes.io/cluster" | "kubernetes.io/clusters" | "k8s.io/cluster") {
        return (tag.value == cluster_id).then_some(NearMiss::IdInValue);
    }
    let stem = lower.strip_suffix(&cluster_id.to_ascii_lowercase())?;
    MISSPELT_PREFIXES.contains(&stem).then_some(NearMiss::Joiner)
}

fn near_id(id: &str, cluster_id: &str) -> Option<NearMiss> {
    if id.trim() != id || id.contains(['\t', '\r', '\n']) {
        return id
            .split_whitespace()
            .collect::<String>()
            .eq_ignore_ascii_case(cluster_id)
            .then_some(NearMiss::Whitespace);
    }
    if id.trim_end_matches('/') == cluster_id {
        return Some(NearMiss::TrailingSlash);
    }
    if is_placeholder(id) {
        return Some(NearMiss::Placeholder);
    }
    (!id.is_empty() && is_similar(id, cluster_id)).then_some(NearMiss::SimilarId)
}

/// True if an id is an unfilled placeholder of a document or template: in brackets or dollar signs, or a word
/// that stands for an id. Nobody names a cluster like this on purpose.
#[must_use]
pub(crate) fn is_placeholder(id: &str) -> bool {
    let bare = id.trim_matches(|c: char| "<>${}%[]@()".contains(c) || c.is_whitespace());
    // This runs over every tag of every resource, so nothing is copied.
    let mut word = bare.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    let is_wrapped = id.starts_with(['<', '{', '$', '%', '[', '@'])
        || bare.strip_prefix("__").is_some_and(|rest| rest.ends_with("__"));
    let stands_for_an_id = [
        "clusterid",
        "clustername",
        "yourclusterid",
        "yourclustername",
        "myclusterid",
        "myclustername",
        "idofthecluster",
        "changeme",
    ];
    stands_for_an_id.iter().any(|known| word.clone().eq(known.bytes())) || (is_wrapped && word.next().is_some())
}

/// True if a tag is not the cluster tag of `cluster_id`, but can only be a misspelling of it.
#[must_use]
pub fn is_certain_near_miss(tag: &Tag, cluster_id: &str) -> bool {
    near_miss(tag, cluster_id).is_some_and(NearMiss::is_certain)
}

/// True if an id in use is a misspelling of the audited one, which has a separate finding, and not another cluster.
#[must_use]
pub(crate) fn is_slip(id: &str, cluster_id: &str) -> bool {
    id != cluster_id && near_id(id, cluster_id).is_some_and(NearMiss::is_certain)
}

/// True if two ids are equal but for case and separators, or at most two edits apart. Short ids (under six characters)
/// and ids that differ only in their digits (`prod-1`, `prod-2`) are far more often different clusters than
/// misspellings.
fn is_similar(left: &str, right: &str) -> bool {
    let fold = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, '-' | '_' | '.')).collect::<String>().to_ascii_lowercase()
    };
    let (folded_left, folded_right) = (fold(left), fold(right));
    if folded_left == folded_right {
        return true;
    }
    let letters = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    if left.len().min(right.len()) < 6 || letters(&folded_left) == letters(&folded_right) {
        return false;
    }
    within_two_edits(&folded_left, &folded_right)
}

/// True if the Levenshtein distance is at most two, computed on a band of the table.
fn within_two_edits(left: &str, right: &str) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left.len().abs_diff(right.len()) > 2 {
        return false;
    }
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut diagonal = previous.first().copied().unwrap_or(0);
        for (column, to) in right.iter().enumerate() {
            let above = previous.get(column + 1).copied().unwrap_or(usize::MAX);
            let beside = current.last().copied().unwrap_or(usize::MAX);
            current
                .push((diagonal + usize::from(from != to)).min(above.saturating_add(1)).min(beside.saturating_add(1)));
            diagonal = above;
        }
        previous = current;
    }
    previous.last().is_some_and(|&distance| distance <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Vec<Tag> {
        pairs.iter().map(|(key, value)| Tag { key: (*key).to_owned(), value: (*value).to_owned() }).collect()
    }

    const P_A: &str = "kubernetes.io/cluster/a";
    const P_B: &str = "kubernetes.io/cluster/b";
    const P: &str = CLUSTER_TAG_PREFIX;
    const L: &str = LEGACY_TAG;

    /// cloud-provider-aws `TestFindClusterID`, with the rows that follow from `init`.
    #[test]
    fn cluster_ids_are_extracted_as_the_controller_does() {
        type Ids = Result<(Option<&'static str>, Option<&'static str>), ClusterIdError>;
        let mismatch = ClusterIdError::Mismatch { new: "b".into(), legacy: "a".into() };
        let cases: &[(&[(&str, &str)], Ids, Result<&str, ClusterIdError>)] = &[
            (&[], Ok((None, None)), Err(ClusterIdError::NotFound)),
            (&[(L, "a")], Ok((None, Some("a"))), Ok("a")),
            (&[(P_A, "owned")], Ok((Some("a"), None)), Ok("a")),
            (&[(P_A, "shared")], Ok((Some("a"), None)), Ok("a")),
            (&[(P_A, "")], Ok((Some("a"), None)), Ok("a")),
            (&[(L, "a"), (P_A, "")], Ok((Some("a"), Some("a"))), Ok("a")),
            (&[(P_A, ""), (P_B, "")], Err(ClusterIdError::Multiple), Err(ClusterIdError::Multiple)),
            (&[(L, "a"), (P_B, "owned")], Ok((Some("b"), Some("a"))), Err(mismatch)),
            (&[(P, ""), (P_A, "")], Ok((Some("a"), None)), Ok("a")),
            (&[(P_A, ""), (P, "")], Err(ClusterIdError::Multiple), Err(ClusterIdError::Multiple)),
            (&[("Kubernetes.io/cluster/a", "owned")], Ok((None, None)), Err(ClusterIdError::NotFound)),
            (&[("kubernetes.io/cluster/a/", "owned")], Ok((Some("a/"), None)), Ok("a/")),
        ];
        for (pairs, ids, init) in cases {
            let tags = tags(pairs);
            assert_eq!(&find_cluster_ids(&tags), ids, "{pairs:?}");
            assert_eq!(&controller_cluster_id(&tags), init, "{pairs:?}");
        }
    }

    /// cloud-provider-aws `TestHasClusterTag`.
    #[test]
    fn membership_ignores_the_value_and_foreign_tags() {
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[], false),
            (&[(L, "C")], true),
            (&[(L, "D")], false),
            (&[("kubernetes.io/cluster/C", "owned")], true),
            (&[("kubernetes.io/cluster/C", "")], true),
            (&[(L, "D"), ("kubernetes.io/cluster/C", "shared")], true),
            (&[("kubernetes.io/cluster/C", "shared"), (P_B, "shared")], true),
        ];
        for (pairs, expected) in cases {
            assert_eq!(has_cluster_tag(&tags(pairs), "C"), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn only_prefixed_keys_make_a_subnet_somebodys() {
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[], true),
            (&[("team", "x")], true),
            (&[("team", "x"), ("kubernetes.io/cluster/x", "owned")], false),
            (&[(L, "D")], true),
            (&[(P, "")], false),
        ];
        for (pairs, expected) in cases {
            assert_eq!(has_no_cluster_prefix_tag(&tags(pairs)), *expected, "{pairs:?}");
        }
    }

    /// cloud-provider-aws `TestHasClusterTagOwned` and `TestIsOwnedSecurityGroup`.
    #[test]
    fn owned_is_exact_and_the_legacy_tag_implies_it() {
        let p_c = "kubernetes.io/cluster/C";
        let p_d = "kubernetes.io/cluster/D";
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[], false),
            (&[("team", "x")], false),
            (&[(L, "C")], true),
            (&[(L, "D")], false),
            (&[(L, "")], false),
            (&[(p_c, "owned")], true),
            (&[(p_c, "shared")], false),
            (&[(p_c, "")], false),
            (&[(p_c, "Owned")], false),
            (&[(p_d, "owned")], false),
            (&[(L, "C"), (p_c, "shared")], true),
            (&[(L, "D"), (p_c, "owned")], true),
            (&[(L, "D"), (p_c, "shared")], false),
            (&[("a", "1"), (L, "C"), ("z", "2")], true),
            (&[("a", "1"), (p_c, "owned"), ("z", "2")], true),
            (&[("kubernetescluster", "C")], false),
            (&[("Kubernetes.io/cluster/C", "owned")], false),
        ];
        for (pairs, expected) in cases {
            assert_eq!(has_cluster_tag_owned(&tags(pairs), "C"), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn near_misses_are_told_apart() {
        let cases: &[(&str, &str, Option<NearMiss>)] = &[
            ("kubernetes.io/cluster/bravo", "owned", None),
            ("kubernetes.io/cluster/other-cluster", "owned", None),
            ("KubernetesCluster", "bravo", None),
            ("Kubernetes.io/Cluster/bravo", "owned", Some(NearMiss::Case)),
            ("kubernetes.io/cluster/bravo ", "owned", Some(NearMiss::Whitespace)),
            (" kubernetes.io/cluster/bravo", "owned", Some(NearMiss::Whitespace)),
            ("kubernetes.io/cluster/bravo\r", "owned", Some(NearMiss::Whitespace)),
            ("kubernetes.io/cluster/bravo/", "owned", Some(NearMiss::TrailingSlash)),
            ("kubernetes.io/cluster-bravo", "owned", Some(NearMiss::Joiner)),
            ("kubernetes.io/clusters/bravo", "owned", Some(NearMiss::Joiner)),
            ("kubernetes.cluster.io/bravo", "owned", Some(NearMiss::Joiner)),
            ("k8s.io/cluster/bravo", "owned", Some(NearMiss::Joiner)),
            ("kubernetes.io/cluster", "bravo", Some(NearMiss::IdInValue)),
            ("kubernetes.io/cluster", "other", None),
            ("kubernetes.io/cluster/<CLUSTERID>", "owned", Some(NearMiss::Placeholder)),
            ("kubernetes.io/cluster/CLUSTERID", "owned", Some(NearMiss::Placeholder)),
            ("kubernetes.io/cluster/${cluster_name}", "owned", Some(NearMiss::Placeholder)),
            ("kubernetes.io/cluster/Bravo", "owned", Some(NearMiss::SimilarId)),
            ("kubernetescluster", "bravo", Some(NearMiss::LegacyCase)),
            ("Kubernetes Cluster", "bravo", None),
            ("Kubernetes Cluster", "Bravo production", None),
            ("kubernetescluster", "other", None),
            ("team/cluster", "bravo", None),
            ("Name", "bravo", None),
        ];
        for (key, value, expected) in cases {
            let tag = Tag { key: (*key).to_owned(), value: (*value).to_owned() };
            assert_eq!(near_miss(&tag, "bravo"), *expected, "{key}");
        }
    }

    #[test]
    fn an_id_is_no_slip_for_itself() {
        assert!(!is_slip("bravo", "bravo"));
        assert!(is_slip("bravo/", "bravo"));
        assert!(!is_slip("alpha", "bravo"));
    }

    #[test]
    fn numbered_and_short_ids_are_different_clusters() {
        assert!(!is_similar("prod-1", "prod-2"));
        assert!(!is_similar("dev", "deu"));
        assert!(is_similar("production", "prodution"));
        assert!(is_similar("prod-eu", "prod_eu"));
    }
}
