//! The tool that created the cluster, as far as tags show.

use std::collections::HashMap;

use crate::aws::SecurityGroup;
use crate::tags;

use super::members::FoundInstance;

/// A tool that creates clusters, as far as its tags show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// kOps: `k8s.io/role/*`.
    Kops,
    /// Cluster API Provider AWS: `sigs.k8s.io/cluster-api-provider-aws/role`.
    ClusterApi,
    /// Amazon EKS, with managed or self-managed nodes or Karpenter: AWS runs the control plane and its cloud controller.
    Eks,
    /// `OpenShift`: instance profiles `<id>-master-profile` and `<id>-worker-profile`, or the security groups of its templates.
    OpenShift,
    /// Anything else; Rancher and kubeadm leave no reliable mark.
    Other,
}

/// EKS tags on its nodes. Sources: Amazon EKS User Guide, "Tag your resources for billing"; eksctl
/// `pkg/apis/eksctl.io/v1alpha5`.
const EKS_TAGS: &[&str] = &[
    "eks:cluster-name",
    "aws:eks:cluster-name",
    "eks:nodegroup-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
];

/// Suffixes of `OpenShift`'s instance profiles, after the cluster id.
/// Source: openshift/installer `pkg/infrastructure/aws/clusterapi/iam.go`, `data/data/aws/cluster/iam/main.tf`.
const OPENSHIFT_PROFILES: [&str; 3] = ["-master-profile", "-worker-profile", "-bootstrap-profile"];
/// Descriptions of the security groups that its templates create.
/// Source: openshift/installer `upi/aws/cloudformation/03_cluster_security.yaml`.
const OPENSHIFT_GROUPS: [&str; 2] = ["Cluster Master Security Group", "Cluster Worker Security Group"];

pub(super) fn distribution(
    members: &[FoundInstance<'_>],
    groups: &HashMap<&str, &SecurityGroup>,
    cluster_id: &str,
) -> Distribution {
    let of_openshift = |(instance, _, node): &FoundInstance<'_>| {
        let profile = super::roles::profile_name(instance).and_then(|name| name.strip_prefix(cluster_id));
        profile.is_some_and(|ending| OPENSHIFT_PROFILES.contains(&ending))
            || node.is_some_and(|node| node.labels.keys().any(|key| key.starts_with("node.openshift.io/")))
            || instance
                .security_groups
                .iter()
                .filter_map(|id| groups.get(id.as_str()))
                .any(|group| OPENSHIFT_GROUPS.contains(&group.description.as_str()))
    };
    let of_eks = |(instance, ..): &FoundInstance<'_>| {
        instance.tags.iter().any(|tag| EKS_TAGS.contains(&tag.key.as_str()))
            || instance.security_groups.iter().filter_map(|id| groups.get(id.as_str())).any(|group| {
                group.name.starts_with("eks-cluster-sg-") || tags::value(&group.tags, "aws:eks:cluster-name").is_some()
            })
    };
    let has =
        |prefix: &str| members.iter().any(|(instance, ..)| instance.tags.iter().any(|tag| tag.key.starts_with(prefix)));
    // The installer uses Cluster API, and keeps its tags.
    if members.iter().any(of_openshift) {
        Distribution::OpenShift
    } else if has("k8s.io/role/") {
        Distribution::Kops
    } else if has(super::roles::CAPA_ROLE_TAG) {
        Distribution::ClusterApi
    } else if members.iter().any(of_eks) {
        Distribution::Eks
    } else {
        Distribution::Other
    }
}
