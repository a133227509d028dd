//! Instances that are nodes of the cluster.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::aws::{Instance, Region};
use crate::inventory::Tag;
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::tags;

use super::Evidence;
use super::{AUTO_SCALING_GROUP_TAG, Shared};

/// Index of Nodes by instance, from names and provider ids.
struct NodeIndex<'a> {
    by_instance_id: HashMap<&'a str, &'a KubernetesNode>,
    /// By instance id, from private DNS names.
    by_name: HashMap<&'a str, &'a KubernetesNode>,
}

impl<'a> NodeIndex<'a> {
    fn new(region: &'a Region, cluster_id: &str, nodes: &'a [KubernetesNode]) -> Self {
        let mut index = Self { by_instance_id: HashMap::new(), by_name: HashMap::new() };
        let mut named: HashMap<&str, &KubernetesNode> = HashMap::new();
        for node in nodes {
            if let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) {
                index.by_instance_id.insert(id, node);
            } else if let Some(id) = nodes::instance_id_in_name(&node.name) {
                index.by_instance_id.insert(id, node);
            } else {
                named.insert(&node.name, node);
            }
        }
        index.match_names(region, cluster_id, &named);
        index
    }

    /// Matches names. The controller considers only instances with the cluster tag, and VPCs with the same address
    /// range have the same names: an instance that is tagged for other clusters never matches, and a name proves
    /// nothing outside the VPCs in which the cluster is known to be, or if several instances have it.
    /// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#findInstanceByNodeName`.
    fn match_names(&mut self, region: &'a Region, cluster_id: &str, named: &HashMap<&'a str, &'a KubernetesNode>) {
        if named.is_empty() {
            return;
        }
        let live = || region.instances.iter().filter(|instance| instance.state.is_live());
        let is_tagged = |instance: &Instance| tags::has_cluster_tag(&instance.tags, cluster_id);
        let is_certain = |instance: &Instance| {
            is_tagged(instance)
                || self.by_instance_id.contains_key(instance.id.as_str())
                || instance.tags.iter().any(|tag| tags::is_certain_near_miss(tag, cluster_id))
        };
        let home: HashSet<&str> =
            live().filter(|one| is_certain(one)).filter_map(|one| one.vpc_id.as_deref()).collect();
        let mut candidates: BTreeMap<&str, Vec<&'a Instance>> = BTreeMap::new();
        for instance in live() {
            let is_of_others = !is_tagged(instance)
                && instance_clusters(&instance.tags).any(|id| id != cluster_id && !tags::is_slip(id, cluster_id));
            let is_away = !home.is_empty() && !instance.vpc_id.as_deref().is_some_and(|vpc| home.contains(vpc));
            if let Some(name) = instance.private_dns_name.as_deref().filter(|name| named.contains_key(name))
                && !is_of_others
                && !is_away
            {
                candidates.entry(name).or_default().push(instance);
            }
        }
        for (name, found) in candidates {
            let tagged: Vec<&Instance> = found.iter().copied().filter(|one| is_tagged(one)).collect();
            let meant = if tagged.is_empty() { found } else { tagged };
            // Several instances with the tag all belong to the cluster, whichever of them the Node is.
            if let Some(node) = named.get(name).filter(|_| meant.len() == 1 || meant.iter().all(|one| is_tagged(one))) {
                self.by_name.extend(meant.iter().map(|one| (one.id.as_str(), *node)));
            }
        }
    }

    fn find(&self, instance: &Instance) -> Option<&'a KubernetesNode> {
        let id = instance.id.as_str();
        self.by_instance_id.get(id).or_else(|| self.by_name.get(id)).copied()
    }
}

/// The cluster ids that an instance is tagged for, new-style and legacy, without unfilled placeholders.
pub(crate) fn instance_clusters(tags: &[Tag]) -> impl Iterator<Item = &str> {
    all_clusters(tags).filter(|id| !tags::is_placeholder(id))
}

/// The cluster ids including placeholders: a cluster may have such a name after all.
pub(super) fn all_clusters(tags: &[Tag]) -> impl Iterator<Item = &str> {
    let legacy = tags::value(tags, tags::LEGACY_TAG).filter(|id| !id.is_empty());
    tags::cluster_ids(tags).map(|(id, _)| id).chain(legacy)
}

pub(super) type FoundInstance<'a> = (&'a Instance, Evidence, Option<&'a KubernetesNode>);

pub(super) fn members<'a>(
    region: &'a Region,
    cluster_id: &str,
    nodes: Option<&'a [KubernetesNode]>,
) -> Vec<FoundInstance<'a>> {
    let index = nodes.map(|nodes| NodeIndex::new(region, cluster_id, nodes));
    let stated = |instance: &'a Instance| -> Option<FoundInstance<'a>> {
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
    let mut found: Vec<FoundInstance<'a>> = live().filter_map(stated).collect();
    // The list of Nodes is authoritative: with it nothing is inferred.
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
    // Properties that other clusters' nodes share prove nothing.
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
    let inferred: Vec<FoundInstance<'a>> = live()
        .filter(|instance| !known.contains(instance.id.as_str()))
        // An instance tagged for another cluster belongs to that cluster.
        .filter(|instance| instance_clusters(&instance.tags).next().is_none())
        .filter_map(|instance| shared.evidence(instance).map(|evidence| (instance, evidence, None)))
        .collect();
    if !inferred.is_empty() {
        found.extend(inferred);
        found.sort_by(|(a, ..), (b, ..)| a.id.cmp(&b.id));
    }
    found
}
