//! Which instances are nodes of the cluster.

use std::collections::{HashMap, HashSet};

use crate::inventory::{Instance, Region, Tag};
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::tags;

use super::Evidence;
use super::{AUTO_SCALING_GROUP_TAG, Shared};

/// Which Node is which instance, as far as names and provider ids tell.
struct NodeIndex<'a> {
    by_instance_id: HashMap<&'a str, &'a KubernetesNode>,
    by_dns_name: HashMap<&'a str, &'a KubernetesNode>,
}

impl<'a> NodeIndex<'a> {
    pub(super) fn new(nodes: &'a [KubernetesNode]) -> Self {
        let mut index = Self { by_instance_id: HashMap::new(), by_dns_name: HashMap::new() };
        for node in nodes {
            if let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) {
                index.by_instance_id.insert(id, node);
            } else if let Some(id) = nodes::instance_id_in_name(&node.name) {
                index.by_instance_id.insert(id, node);
            } else {
                index.by_dns_name.insert(&node.name, node);
            }
        }
        index
    }

    pub(super) fn find(&self, instance: &Instance) -> Option<&'a KubernetesNode> {
        self.by_instance_id.get(instance.id.as_str()).copied().or_else(|| {
            let name = instance.private_dns_name.as_deref().filter(|name| !name.is_empty())?;
            self.by_dns_name.get(name).copied()
        })
    }
}

/// The cluster ids an instance is tagged for, new-style and legacy.
pub fn instance_clusters(tags: &[Tag]) -> impl Iterator<Item = &str> {
    let legacy = tags::value(tags, tags::LEGACY_TAG).filter(|id| !id.is_empty());
    tags::cluster_ids(tags).map(|(id, _)| id).chain(legacy)
}

pub(super) type Found<'a> = (&'a Instance, Evidence, Option<&'a KubernetesNode>);

pub(super) fn members<'a>(region: &'a Region, cluster_id: &str, nodes: Option<&'a [KubernetesNode]>) -> Vec<Found<'a>> {
    let index = nodes.map(NodeIndex::new);
    let stated = |instance: &'a Instance| -> Option<Found<'a>> {
        let node = index.as_ref().and_then(|index| index.find(instance));
        if tags::has_cluster_tag(&instance.tags, cluster_id) {
            return Some((instance, Evidence::ClusterTag, node));
        }
        if node.is_some() {
            return Some((instance, Evidence::Node, node));
        }
        let near = |tag: &Tag| tags::is_certain_near_miss(tag, cluster_id);
        instance.tags.iter().any(near).then_some((instance, Evidence::NearMissTag, None))
    };
    let live = || region.instances.iter().filter(|instance| instance.state.is_live());
    let mut found: Vec<Found<'a>> = live().filter_map(stated).collect();
    // The list of Nodes says who is a node: with it there is nothing to infer.
    if nodes.is_some() {
        return found;
    }
    let mut shared = Shared {
        auto_scaling_groups: HashMap::new(),
        profile_and_group: HashMap::new(),
        tagged_groups: region
            .security_groups
            .iter()
            .filter(|group| tags::has_cluster_tag(&group.tags, cluster_id))
            .filter(|group| !tags::has_foreign_cluster_tag(&group.tags, cluster_id))
            .map(|group| group.id.as_str())
            .collect(),
    };
    for (instance, ..) in &found {
        if let Some(group) = tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG) {
            shared.auto_scaling_groups.entry(group).or_default().members += 1;
        }
        for key in Shared::profile_keys(instance) {
            shared.profile_and_group.entry(key).or_default().members += 1;
        }
    }
    // What other clusters' nodes have as well proves nothing.
    let foreign = live().filter(|instance| !tags::has_cluster_tag(&instance.tags, cluster_id));
    for instance in
        foreign.filter(|instance| instance_clusters(&instance.tags).any(|id| !tags::is_slip(id, cluster_id)))
    {
        if let Some(users) = tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG)
            .and_then(|group| shared.auto_scaling_groups.get_mut(group))
        {
            users.foreign += 1;
        }
        for key in Shared::profile_keys(instance) {
            if let Some(users) = shared.profile_and_group.get_mut(&key) {
                users.foreign += 1;
            }
        }
        for group in &instance.security_groups {
            shared.tagged_groups.remove(group.as_str());
        }
    }
    let known: HashSet<&str> = found.iter().map(|(instance, ..)| instance.id.as_str()).collect();
    let inferred: Vec<Found<'a>> = live()
        .filter(|instance| !known.contains(instance.id.as_str()))
        // What is tagged for another cluster is that cluster's.
        .filter(|instance| instance_clusters(&instance.tags).next().is_none())
        .filter_map(|instance| shared.evidence(instance).map(|evidence| (instance, evidence, None)))
        .collect();
    if !inferred.is_empty() {
        found.extend(inferred);
        found.sort_by(|(a, ..), (b, ..)| a.id.cmp(&b.id));
    }
    found
}
