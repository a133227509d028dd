//! What made the cluster, as far as tags tell.

use std::collections::HashMap;

use crate::inventory::SecurityGroup;
use crate::tags;

use super::members::Found;

/// A tool that makes clusters, as far as it shows in tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// kOps: `k8s.io/role/*`.
    Kops,
    /// Cluster API Provider AWS: `sigs.k8s.io/cluster-api-provider-aws/role`.
    ClusterApi,
    /// Amazon EKS, with managed or self-managed nodes or Karpenter: AWS runs the control plane and its cloud controller.
    Eks,
    /// Anything else; Rancher and kubeadm leave no certain mark.
    Other,
}

/// Tags of EKS on its nodes. Sources: Amazon EKS User Guide, "Tag your resources for billing"; eksctl
/// `pkg/apis/eksctl.io/v1alpha5`.
const EKS_TAGS: &[&str] = &[
    "eks:cluster-name",
    "aws:eks:cluster-name",
    "eks:nodegroup-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
];

pub(super) fn distribution(members: &[Found<'_>], groups: &HashMap<&str, &SecurityGroup>) -> Distribution {
    let of_eks = |(instance, ..): &Found<'_>| {
        instance.tags.iter().any(|tag| EKS_TAGS.contains(&tag.key.as_str()))
            || instance.security_groups.iter().filter_map(|id| groups.get(id.as_str())).any(|group| {
                group.name.starts_with("eks-cluster-sg-") || tags::value(&group.tags, "aws:eks:cluster-name").is_some()
            })
    };
    let has =
        |prefix: &str| members.iter().any(|(instance, ..)| instance.tags.iter().any(|tag| tag.key.starts_with(prefix)));
    if has("k8s.io/role/") {
        Distribution::Kops
    } else if has(super::roles::CAPA_ROLE_TAG) {
        Distribution::ClusterApi
    } else if members.iter().any(of_eks) {
        Distribution::Eks
    } else {
        Distribution::Other
    }
}
