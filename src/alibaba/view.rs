//! The cluster in an inventory of Alibaba Cloud: its node instances, the evidence for each, and their roles.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::membership::{
    Apart, Confidence, Held, NodeRole, NodeRoleSelector, RoleAssignment, RoleSet, RoleSource, Selectable,
    roles_from_labels, roles_from_names,
};
use crate::nodes::KubernetesNode;
use crate::tags::{self, Tag};

use super::inventory::{Account, Instance, Inventory, Region};
use super::provider_id::{self, ProviderId};
use super::{CLUSTER_TAG, provider_id::looks_like_one};

/// Tag that Auto Scaling of Alibaba Cloud puts on its instances.
pub(crate) const SCALING_GROUP_TAG: &str = "acs:autoscaling:scalingGroupId";

/// System tag of resources that a Resource Orchestration Service stack creates. It is not documented on any page that
/// was read; if it is missing, nothing follows.
pub(crate) const STACK_TAG: &str = "acs:ros:stackId";

/// Reason why an instance counts as a node of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// `ack.aliyun.com` with the cluster id.
    ClusterTag,
    /// A Kubernetes Node refers to it: by its providerID, or by its address if it has none.
    Node,
    /// A tag of an installer: `kubernetes.io/cluster/ID`, `KubernetesCluster`.
    InstallerTag,
    /// It is in the scaling group of a node.
    ScalingGroup,
    /// It was a node before a change that is tried on a copy.
    BeforeChange,
}

impl Evidence {
    /// Every kind, strongest first.
    pub const ALL: [Self; 5] =
        [Self::ClusterTag, Self::Node, Self::InstallerTag, Self::ScalingGroup, Self::BeforeChange];

    /// Confidence that the evidence gives.
    #[must_use]
    pub fn confidence(self) -> Confidence {
        match self {
            Self::ClusterTag | Self::Node | Self::InstallerTag | Self::BeforeChange => Confidence::Certain,
            Self::ScalingGroup => Confidence::Strong,
        }
    }

    /// Text that follows "because".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClusterTag => "it carries `ack.aliyun.com` with the cluster id",
            Self::Node => "a Kubernetes Node names it",
            Self::InstallerTag => "it carries the tag of an installer with the cluster id",
            Self::ScalingGroup => "it is in the scaling group of other nodes",
            Self::BeforeChange => "it was a node before the change",
        }
    }
}

/// An instance that belongs to the cluster.
#[derive(Debug)]
pub struct Member<'a> {
    pub instance: &'a Instance,
    /// Strongest evidence.
    pub evidence: Evidence,
    /// Roles, and their source.
    pub roles: RoleAssignment,
    /// Its Kubernetes Node, if Nodes were given.
    pub node: Option<&'a KubernetesNode>,
}

/// The cluster in one region of one account.
#[derive(Debug)]
pub struct RegionView<'a> {
    pub account: &'a Account,
    pub region: &'a Region,
    /// Members, by instance id.
    pub members: Vec<Member<'a>>,
}

impl RegionView<'_> {
    #[must_use]
    pub fn member_vpcs(&self) -> BTreeSet<&str> {
        self.members.iter().filter_map(|member| member.instance.vpc_id.as_deref()).collect()
    }

    /// A member by instance id.
    #[must_use]
    pub fn member(&self, id: &str) -> Option<&Member<'_>> {
        self.members.iter().find(|member| member.instance.id == id)
    }
}

/// The cluster in the whole inventory.
#[derive(Debug)]
pub struct ClusterView<'a> {
    pub inventory: &'a Inventory,
    /// The audited cluster id.
    pub cluster_id: &'a str,
    /// Kubernetes Nodes, if they were given.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// One entry per region that was read.
    pub regions: Vec<RegionView<'a>>,
    /// Instances by id, with their region: ids are unique.
    instances: HashMap<&'a str, (&'a str, &'a Instance)>,
}

impl<'a> ClusterView<'a> {
    /// Finds the cluster in an inventory.
    #[must_use]
    pub fn new(
        inventory: &'a Inventory,
        cluster_id: &'a str,
        nodes: Option<&'a [KubernetesNode]>,
        selectors: &[NodeRoleSelector],
    ) -> Self {
        Self::after(inventory, cluster_id, nodes, selectors, None)
    }

    /// Finds the cluster in an inventory after a change: the nodes of before, where they are known, are still its nodes.
    #[must_use]
    pub(crate) fn after(
        inventory: &'a Inventory,
        cluster_id: &'a str,
        nodes: Option<&'a [KubernetesNode]>,
        selectors: &[NodeRoleSelector],
        held: Option<&Held>,
    ) -> Self {
        let places =
            inventory.accounts.iter().flat_map(|account| account.regions.iter().map(move |one| (account, one)));
        let regions = places.map(|(account, region)| {
            let before = |instance: &Instance| held?.roles(&account.account_id, &region.name, &instance.id);
            let mut found = members(region, cluster_id, nodes);
            if let Some(held) = held {
                let known: BTreeSet<&str> = found.iter().map(|(instance, _)| instance.id.as_str()).collect();
                let is_lost = |one: &&'a Instance| {
                    !known.contains(one.id.as_str()) && before(one).is_some() && !held.is_moved(cluster_ids(&one.tags))
                };
                let lost: Vec<_> = region.instances.iter().filter(is_lost).collect();
                found.extend(lost.into_iter().map(|one| (one, (Evidence::BeforeChange, None))));
                found.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
            }
            let members = found.into_iter().map(|(instance, (evidence, node))| Member {
                instance,
                evidence,
                roles: before(instance)
                    .filter(|roles| !roles.roles.is_unknown())
                    .unwrap_or_else(|| assign(instance, node, selectors)),
                node,
            });
            RegionView { account, region, members: members.collect() }
        });
        let all = inventory.accounts.iter().flat_map(|account| &account.regions);
        let all = all.flat_map(|region| region.instances.iter().map(move |one| (region.name.as_str(), one)));
        let instances = all.map(|(region, one)| (one.id.as_str(), (region, one))).collect();
        Self { inventory, cluster_id, nodes, regions: regions.collect(), instances }
    }

    /// True if an instance in a region belongs to the cluster, of any account.
    pub(crate) fn has_members_in(&self, region: &str) -> bool {
        self.regions.iter().any(|view| view.region.name == region && !view.members.is_empty())
    }

    /// The nodes of the cluster, which is audited together with these clusters, for a copy after a change.
    #[must_use]
    pub(crate) fn held(&self, audited: &BTreeSet<String>) -> Held {
        let nodes = self.regions.iter().flat_map(|view| {
            let (account, region) = (view.account.account_id.as_str(), view.region.name.as_str());
            view.members.iter().map(move |one| ([account, region, one.instance.id.as_str()], one.roles, one.node))
        });
        Held::new(nodes, self.cluster_id, audited)
    }

    /// True if any resource that was read carries the cluster's tag.
    #[must_use]
    pub fn is_anything_tagged(&self) -> bool {
        let mut tags = self.regions.iter().flat_map(|region| region.region.tagged()).flat_map(|(_, _, tags)| tags);
        tags.any(|tag| tag.key == super::CLUSTER_TAG && tag.value == self.cluster_id)
    }

    /// Tagged instances and Nodes, if both exist and have no instance in common; otherwise `None`. Machines outside of
    /// Alibaba Cloud count on neither side.
    #[must_use]
    pub fn apart(&self) -> Option<Apart> {
        let nodes = self.nodes?;
        // Gardener and kOps tag with their own keys.
        let is_tagged = |member: &&Member<'a>| cluster_ids(&member.instance.tags).any(|id| id == self.cluster_id);
        let tagged: Vec<&Member<'_>> = self.members().filter(is_tagged).collect();
        if tagged.is_empty() || tagged.iter().any(|member| member.node.is_some()) {
            return None;
        }
        let is_of_ecs = |node: &&KubernetesNode| {
            let named = provider_id::parse(&node.provider_id);
            matches!(named, Some(ProviderId::Instance { .. }))
                || (named.is_none() && looks_like_one(&node.name).is_some())
        };
        let nodes: Vec<String> = nodes.iter().filter(is_of_ecs).map(|node| node.name.clone()).collect();
        let tagged = tagged.iter().map(|member| member.instance.id.clone()).collect();
        (!nodes.is_empty()).then_some(Apart { tagged, nodes })
    }

    /// Every member, over all regions.
    pub fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.regions.iter().flat_map(|region| &region.members)
    }

    /// Instance that a providerID identifies, in the whole inventory.
    #[must_use]
    pub fn instance(&self, region: &str, id: &str) -> Option<&'a Instance> {
        self.instances.get(id).filter(|(own, _)| *own == region).map(|(_, instance)| *instance)
    }

    /// Region of an instance by its id, in the whole inventory.
    #[must_use]
    pub fn region_of(&self, id: &str) -> Option<&'a str> {
        self.instances.get(id).map(|(region, _)| *region)
    }

    /// True if the region was read.
    #[must_use]
    pub fn has_region(&self, name: &str) -> bool {
        self.regions.iter().any(|view| view.region.name == name)
    }
}

/// Finds the Node of an instance: by providerID, by a name in the form of one, or by address.
struct NodeIndex<'a> {
    by_id: HashMap<&'a str, &'a KubernetesNode>,
    by_address: HashMap<&'a str, Vec<&'a KubernetesNode>>,
}

impl<'a> NodeIndex<'a> {
    fn new(nodes: &'a [KubernetesNode]) -> Self {
        let mut index = Self { by_id: HashMap::new(), by_address: HashMap::new() };
        for node in nodes {
            match (provider_id::parse(&node.provider_id), looks_like_one(&node.name)) {
                (Some(ProviderId::Instance { id, .. }), _) | (None, Some((_, id))) => {
                    index.by_id.insert(id, node);
                }
                (None, None) => {
                    for address in &node.internal_addresses {
                        index.by_address.entry(address).or_default().push(node);
                    }
                }
                (Some(ProviderId::Hybrid), _) => {}
            }
        }
        index
    }

    /// VPCs of the instances that Nodes name.
    fn vpcs<'r>(&self, region: &'r Region) -> BTreeSet<&'r str> {
        let named = region.instances.iter().filter(|instance| self.by_id.contains_key(instance.id.as_str()));
        named.filter_map(|instance| instance.vpc_id.as_deref()).collect()
    }

    fn find(&self, instance: &Instance, addresses: &HashMap<&str, usize>) -> Option<&'a KubernetesNode> {
        if let Some(node) = self.by_id.get(instance.id.as_str()) {
            return Some(node);
        }
        // An address that instances in several VPCs of the region share is ambiguous.
        instance.private_addresses.iter().find_map(|address| {
            match (self.by_address.get(address.as_str()).map(Vec::as_slice), addresses.get(address.as_str())) {
                (Some([node]), Some(1)) => Some(*node),
                _ => None,
            }
        })
    }
}

/// Cluster ids in the tags of an instance: in Alibaba Cloud's own tag and in those of installers.
pub(crate) fn cluster_ids(tags: &[Tag]) -> impl Iterator<Item = &str> {
    let own = tags::value(tags, CLUSTER_TAG).into_iter();
    let installed = tags::cluster_ids(tags).map(|(id, _)| id);
    let legacy = tags::value(tags, tags::LEGACY_TAG).into_iter();
    own.chain(installed).chain(legacy).filter(|id| !id.is_empty())
}

type FoundInstances<'a> = BTreeMap<&'a str, (&'a Instance, Evidence, Option<&'a KubernetesNode>)>;

fn members<'a>(
    region: &'a Region,
    cluster_id: &str,
    nodes: Option<&'a [KubernetesNode]>,
) -> Vec<(&'a Instance, (Evidence, Option<&'a KubernetesNode>))> {
    let index = nodes.map(NodeIndex::new);
    let mut addresses: HashMap<&str, usize> = HashMap::new();
    // The Nodes of a cluster are in its VPC: the same address in another one is another machine.
    // Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP`.
    let vpcs = index.as_ref().map(|index| index.vpcs(region)).unwrap_or_default();
    let is_here =
        |instance: &Instance| vpcs.is_empty() || instance.vpc_id.as_deref().is_none_or(|vpc| vpcs.contains(vpc));
    for address in region.instances.iter().filter(|one| is_here(one)).flat_map(|instance| &instance.private_addresses) {
        *addresses.entry(address).or_default() += 1;
    }
    let mut found: FoundInstances<'a> = BTreeMap::new();
    for instance in &region.instances {
        let known = if is_here(instance) { &addresses } else { &HashMap::new() };
        let node = index.as_ref().and_then(|index| index.find(instance, known));
        let evidence = if tags::value(&instance.tags, CLUSTER_TAG) == Some(cluster_id) {
            Some(Evidence::ClusterTag)
        } else if node.is_some() {
            Some(Evidence::Node)
        } else {
            cluster_ids(&instance.tags).any(|id| id == cluster_id).then_some(Evidence::InstallerTag)
        };
        if let Some(evidence) = evidence {
            found.insert(&instance.id, (instance, evidence, node));
        }
    }
    // The list of Nodes is complete: with it there is nothing to infer.
    if nodes.is_none() {
        let of_group = |instance: &'a Instance| tags::value(&instance.tags, SCALING_GROUP_TAG);
        let groups: BTreeSet<&str> = found.values().filter_map(|(instance, ..)| of_group(instance)).collect();
        for instance in &region.instances {
            let is_ours = of_group(instance).is_some_and(|group| groups.contains(group));
            // An instance with the tag of another cluster belongs to that cluster.
            if is_ours && cluster_ids(&instance.tags).next().is_none() {
                found.entry(&instance.id).or_insert((instance, Evidence::ScalingGroup, None));
            }
        }
    }
    found.into_values().map(|(instance, evidence, node)| (instance, (evidence, node))).collect()
}

/// Consults the sources in order; the first with an answer wins.
fn assign(instance: &Instance, node: Option<&KubernetesNode>, selectors: &[NodeRoleSelector]) -> RoleAssignment {
    let name = instance.name.as_deref();
    let selectable = Selectable {
        id: &instance.id,
        name,
        profile: instance.ram_role.as_deref(),
        auto_scaling_group: tags::value(&instance.tags, SCALING_GROUP_TAG),
        tags: &instance.tags,
    };
    let named = [instance.ram_role.as_deref(), name, tags::value(&instance.tags, "Name")];
    let sources = [
        (RoleSource::Operator, NodeRoleSelector::select_roles(selectors, selectable)),
        (RoleSource::NodeLabels, node.map_or(RoleSet::UNKNOWN, roles_from_labels)),
        (RoleSource::DistributionTags, roles_from_tags(&instance.tags)),
        (RoleSource::ProfileName, instance.ram_role.as_deref().map_or(RoleSet::UNKNOWN, roles_from_role_name)),
        (RoleSource::Names, roles_from_names(named.into_iter().flatten())),
    ];
    let answer = sources.into_iter().find(|(_, roles)| !roles.is_unknown());
    let (source, roles) = answer.unwrap_or((RoleSource::Nobody, RoleSet::UNKNOWN));
    RoleAssignment { roles, source, contradiction: None }
}

/// Sources: kubernetes/kops `pkg/model/alimodel/context.go#CloudTagsForInstanceGroup`;
/// gardener-extension-provider-alicloud `pkg/controller/worker/machines.go`.
fn roles_from_tags(tags: &[Tag]) -> RoleSet {
    let mut roles = RoleSet::UNKNOWN;
    for tag in tags {
        match tag.key.as_str() {
            "k8s.io/role/master" | "k8s.io/role/control-plane" => {
                roles = roles.union(RoleSet::from_iter([NodeRole::Controlplane, NodeRole::Etcd]));
            }
            "k8s.io/role/node" => roles = roles.union(RoleSet::from_role(NodeRole::Worker)),
            key if key.starts_with("kubernetes.io/role/worker/") => {
                roles = roles.union(RoleSet::from_role(NodeRole::Worker));
            }
            _ => {}
        }
    }
    roles
}

/// Roles by the names that ACK gives its RAM roles.
/// Source: ACK documentation, roles `KubernetesMasterRole-*` and `KubernetesWorkerRole-*`.
fn roles_from_role_name(name: &str) -> RoleSet {
    if name.starts_with("KubernetesMasterRole-") {
        RoleSet::from_iter([NodeRole::Controlplane, NodeRole::Etcd])
    } else if name.starts_with("KubernetesWorkerRole-") {
        RoleSet::from_role(NodeRole::Worker)
    } else {
        RoleSet::UNKNOWN
    }
}
