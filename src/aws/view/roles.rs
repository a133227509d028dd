//! Roles of an instance as a node, and their sources.

use std::collections::{HashMap, HashSet};

use crate::aws::inventory::{Instance, SecurityGroup};
use crate::membership::{
    NodeRole, NodeRoleSelector, RoleAssignment, RoleSet, RoleSource, Selectable, roles_from_labels, roles_from_names,
};
use crate::nodes::KubernetesNode;
use crate::tags;

use super::AUTO_SCALING_GROUP_TAG;

/// Tag of Cluster API Provider AWS on instances and security groups.
pub(super) const CAPA_ROLE_TAG: &str = "sigs.k8s.io/cluster-api-provider-aws/role";

/// True if the instance is a bastion of its distribution: it carries the cluster tag and is not a node.
pub(super) fn is_bastion(instance: &Instance, cluster_id: &str) -> bool {
    tags::value(&instance.tags, "k8s.io/role/bastion").is_some()
        || tags::value(&instance.tags, CAPA_ROLE_TAG) == Some("bastion")
        || profile_name(instance).and_then(|name| name.strip_prefix("bastions.")) == Some(cluster_id)
}

/// Asks the sources in order; the first with an answer wins.
pub(super) fn assign(
    instance: &Instance,
    node: Option<&KubernetesNode>,
    selectors: &[NodeRoleSelector],
    groups: &HashMap<&str, &SecurityGroup>,
    etcd_hosts: &HashSet<&str>,
    cluster_id: &str,
) -> RoleAssignment {
    let operator = NodeRoleSelector::select_roles(
        selectors,
        Selectable {
            id: &instance.id,
            name: tags::value(&instance.tags, "Name"),
            profile: profile_name(instance),
            auto_scaling_group: tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG),
            tags: &instance.tags,
        },
    );
    if !operator.is_unknown() {
        return RoleAssignment { roles: operator, source: RoleSource::Operator, contradiction: None };
    }
    // Sources that state a role; if two of them differ, neither is reliable without a check.
    let stated = [
        (RoleSource::NodeLabels, node.map_or(RoleSet::UNKNOWN, roles_from_labels)),
        (RoleSource::DistributionTags, from_distribution_tags(instance)),
        (RoleSource::ProfileName, from_profile_name(instance, cluster_id)),
    ];
    let mut answers = stated.into_iter().filter(|(_, roles)| !roles.is_unknown());
    if let Some((source, roles)) = answers.next() {
        let contradiction = answers.find(|(_, other)| !agree(roles, *other));
        return RoleAssignment { roles, source, contradiction };
    }
    let both = RoleSet::from_iter([NodeRole::Controlplane, NodeRole::Etcd]);
    let weaker = [
        (RoleSource::EtcdVolume, if etcd_hosts.contains(instance.id.as_str()) { both } else { RoleSet::UNKNOWN }),
        (RoleSource::SecurityGroup, from_groups(instance, groups, cluster_id)),
        (RoleSource::Names, from_names(instance)),
    ];
    let answer = weaker.into_iter().find(|(_, roles)| !roles.is_unknown());
    let (source, roles) = answer.unwrap_or((RoleSource::Nobody, RoleSet::UNKNOWN));
    RoleAssignment { roles, source, contradiction: None }
}

/// True if two sources agree on the control plane: sources have partial knowledge, for example labels include etcd,
/// profiles do not.
fn agree(one: RoleSet, other: RoleSet) -> bool {
    one.contains(NodeRole::Controlplane) == other.contains(NodeRole::Controlplane)
}

fn from_distribution_tags(instance: &Instance) -> RoleSet {
    let mut roles = RoleSet::UNKNOWN;
    let mut add = |role| roles = roles.union(RoleSet::from_role(role));
    for tag in &instance.tags {
        match (tag.key.as_str(), tag.value.as_str()) {
            ("k8s.io/role/master" | "k8s.io/role/control-plane", _) => {
                add(NodeRole::Controlplane);
                // kOps runs etcd on its control-plane nodes.
                add(NodeRole::Etcd);
            }
            (CAPA_ROLE_TAG, "control-plane") | ("Role", "master") => add(NodeRole::Controlplane),
            ("Role", "etcd") => add(NodeRole::Etcd),
            // kOps API servers run no cloud controller: for permissions they are workers.
            ("k8s.io/role/node" | "k8s.io/role/apiserver" | "karpenter.sh/nodepool" | "kubernetes.io/role/node", _)
            | (CAPA_ROLE_TAG, "node")
            | ("Role", "worker") => add(NodeRole::Worker),
            _ => {}
        }
    }
    roles
}

/// Last part of the profile ARN.
pub(super) fn profile_name(instance: &Instance) -> Option<&str> {
    instance.instance_profile_arn.as_deref().and_then(|arn| arn.rsplit('/').next())
}

fn from_profile_name(instance: &Instance, cluster_id: &str) -> RoleSet {
    const CAPA_SUFFIX: &str = "cluster-api-provider-aws.sigs.k8s.io";
    let Some(name) = profile_name(instance) else { return RoleSet::UNKNOWN };
    let of_cluster = |prefix: &str| name.strip_prefix(prefix) == Some(cluster_id);
    let of_cluster_before = |ending: &str| name.strip_suffix(ending) == Some(cluster_id);
    if of_cluster("masters.") {
        RoleSet::from_iter([NodeRole::Controlplane, NodeRole::Etcd])
    } else if of_cluster("nodes.") || of_cluster("apiservers.") {
        RoleSet::from_role(NodeRole::Worker)
    } else if of_cluster_before("-master-profile") || of_cluster_before("-bootstrap-profile") {
        // Source: openshift/installer `pkg/infrastructure/aws/clusterapi/iam.go`.
        RoleSet::from_iter([NodeRole::Controlplane, NodeRole::Etcd])
    } else if of_cluster_before("-worker-profile") {
        RoleSet::from_role(NodeRole::Worker)
    } else if name.starts_with("control-plane.") && name.ends_with(CAPA_SUFFIX) {
        RoleSet::from_role(NodeRole::Controlplane)
    } else if name.starts_with("nodes.") && name.ends_with(CAPA_SUFFIX) {
        RoleSet::from_role(NodeRole::Worker)
    } else {
        RoleSet::UNKNOWN
    }
}

fn from_groups(instance: &Instance, groups: &HashMap<&str, &SecurityGroup>, cluster_id: &str) -> RoleSet {
    let attached = instance.security_groups.iter().filter_map(|id| groups.get(id.as_str()));
    let mut roles = RoleSet::UNKNOWN;
    for group in attached {
        let capa = tags::value(&group.tags, CAPA_ROLE_TAG);
        if group.name.strip_prefix("masters.") == Some(cluster_id) || capa == Some("controlplane") {
            return RoleSet::from_role(NodeRole::Controlplane);
        }
        if group.name.strip_prefix("nodes.") == Some(cluster_id) || capa == Some("node") {
            roles = RoleSet::from_role(NodeRole::Worker);
        }
    }
    roles
}

fn from_names(instance: &Instance) -> RoleSet {
    let sources = [
        tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG),
        profile_name(instance),
        tags::value(&instance.tags, "Name"),
    ];
    roles_from_names(sources.into_iter().flatten())
}
