//! The cluster in the inventory: which instances belong to it, by what evidence, and in which role.
//!
//! Membership is never decided by the tag under audit alone: an untagged node has to be found. How and with what
//! confidence is described in `docs/membership.md`, which a test keeps in step with [`Evidence`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::inventory::{
    Account, Instance, Inventory, NetworkInterface, Region, RouteTable, SecurityGroup, Subnet, Tag, Tagged, Volume, Vpc,
};
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::tags;

mod neighbours;
mod roles;

pub use neighbours::Neighbour;
pub use roles::{NodeRole, NodeRoleSelector, RoleAssignment, RoleSet, RoleSource};

/// Tag that EC2 Auto Scaling puts on its instances.
pub const AUTO_SCALING_GROUP_TAG: &str = "aws:autoscaling:groupName";

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

/// An instance that belongs to the cluster.
#[derive(Debug)]
pub struct Member<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The strongest reason to count it.
    pub evidence: Evidence,
    /// Which roles it has, and who says so.
    pub roles: RoleAssignment,
    /// The Kubernetes Node it is, when nodes were given.
    pub node: Option<&'a KubernetesNode>,
}

impl Member<'_> {
    /// Whether it is stopped or stopping: what is wrong with it breaks nothing now.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        use crate::inventory::InstanceState::{Stopped, Stopping};
        matches!(self.instance.state, Stopped | Stopping)
    }

    /// Its Auto Scaling group, if it is in one.
    #[must_use]
    pub fn auto_scaling_group(&self) -> Option<&str> {
        tags::value(&self.instance.tags, AUTO_SCALING_GROUP_TAG)
    }
}

/// The cluster in one region of one account.
#[derive(Debug)]
pub struct RegionView<'a> {
    /// The account.
    pub account: &'a Account,
    /// The region.
    pub region: &'a Region,
    /// Members, by instance id.
    pub members: Vec<Member<'a>>,
    /// The tool that made the cluster, where it shows.
    pub distribution: Distribution,
    member_vpcs: BTreeSet<&'a str>,
    member_groups: BTreeSet<&'a str>,
    member_profiles: BTreeSet<&'a str>,
    neighbours: neighbours::ByVpc<'a>,
    main_tables: HashMap<&'a str, &'a RouteTable>,
    subnet_tables: HashMap<&'a str, &'a RouteTable>,
}

/// The cluster in everything that was read.
#[derive(Debug)]
pub struct ClusterView<'a> {
    /// What was read.
    pub inventory: &'a Inventory,
    /// The audited cluster id.
    pub cluster_id: &'a str,
    /// Kubernetes Nodes, when they were given.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// One entry per region that was read.
    pub regions: Vec<RegionView<'a>>,
    /// The owning account of what another account shares, by the account that was read and resource id.
    pub shared: HashMap<(&'a str, &'a str), &'a str>,
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
        let regions = inventory
            .accounts
            .iter()
            .flat_map(|account| account.regions.iter().map(move |region| (account, region)))
            .map(|(account, region)| RegionView::new(account, region, cluster_id, nodes, selectors))
            .collect();
        Self { inventory, cluster_id, nodes, regions, shared: shared(inventory) }
    }

    /// Every member, over all regions.
    pub fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.regions.iter().flat_map(|region| &region.members)
    }
}

fn shared(inventory: &Inventory) -> HashMap<(&str, &str), &str> {
    let mut shared = HashMap::new();
    for account in &inventory.accounts {
        for region in &account.regions {
            let subnets = region.subnets.iter().map(|subnet| (&subnet.id, &subnet.owner_id));
            let vpcs = region.vpcs.iter().map(|vpc| (&vpc.id, &vpc.owner_id));
            let groups = region.security_groups.iter().map(|group| (&group.id, &group.owner_id));
            let tables = region.route_tables.iter().map(|table| (&table.id, &table.owner_id));
            for (id, owner) in subnets.chain(vpcs).chain(groups).chain(tables) {
                if let Some(owner) = owner.as_deref().filter(|owner| *owner != account.account_id) {
                    shared.insert((account.account_id.as_str(), id.as_str()), owner);
                }
            }
        }
    }
    shared
}

/// Which Node is which instance, as far as names and provider ids tell.
struct NodeIndex<'a> {
    by_instance_id: HashMap<&'a str, &'a KubernetesNode>,
    by_dns_name: HashMap<&'a str, &'a KubernetesNode>,
}

impl<'a> NodeIndex<'a> {
    fn new(nodes: &'a [KubernetesNode]) -> Self {
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

    fn find(&self, instance: &Instance) -> Option<&'a KubernetesNode> {
        self.by_instance_id.get(instance.id.as_str()).copied().or_else(|| {
            let name = instance.private_dns_name.as_deref().filter(|name| !name.is_empty())?;
            self.by_dns_name.get(name).copied()
        })
    }
}

/// What the members that need no inference have in common.
struct Shared<'a> {
    auto_scaling_groups: HashMap<&'a str, Users>,
    profile_and_group: HashMap<(&'a str, &'a str, &'a str), Users>,
    tagged_groups: HashSet<&'a str>,
}

/// How many instances have something: members, and those tagged for other clusters.
#[derive(Default)]
struct Users {
    members: usize,
    foreign: usize,
}

/// Members for one instance of another cluster that still prove something: one tag by mistake must not hide a node.
const MEMBERS_FOR_ONE_STRANGER: usize = 8;

impl Users {
    /// What it proves that an instance has it as well; nothing where other clusters' nodes have it too.
    fn evidence(&self, alone: Evidence) -> Option<Evidence> {
        match (self.members, self.foreign) {
            (0, _) => None,
            (_, 0) => Some(alone),
            (members, foreign) if members >= MEMBERS_FOR_ONE_STRANGER * foreign => Some(Evidence::MostlyShared),
            _ => None,
        }
    }
}

impl<'a> Shared<'a> {
    fn profile_keys(instance: &'a Instance) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let profile = instance.instance_profile_arn.as_deref();
        let vpc = instance.vpc_id.as_deref();
        profile
            .zip(vpc)
            .into_iter()
            .flat_map(|(profile, vpc)| instance.security_groups.iter().map(move |group| (profile, vpc, group.as_str())))
    }

    fn evidence(&self, instance: &'a Instance) -> Option<Evidence> {
        let group = tags::value(&instance.tags, AUTO_SCALING_GROUP_TAG);
        let by_group = group
            .and_then(|name| self.auto_scaling_groups.get(name))
            .and_then(|users| users.evidence(Evidence::AutoScalingGroup));
        let by_profile = Self::profile_keys(instance)
            .filter_map(|key| self.profile_and_group.get(&key)?.evidence(Evidence::ProfileAndSecurityGroup));
        if let Some(strongest) = by_group.into_iter().chain(by_profile).min() {
            return Some(strongest);
        }
        (instance.instance_profile_arn.is_some()
            && instance.security_groups.iter().any(|group| self.tagged_groups.contains(group.as_str())))
        .then_some(Evidence::TaggedSecurityGroup)
    }
}

impl<'a> RegionView<'a> {
    fn new(
        account: &'a Account,
        region: &'a Region,
        cluster_id: &'a str,
        nodes: Option<&'a [KubernetesNode]>,
        selectors: &[NodeRoleSelector],
    ) -> Self {
        let groups: HashMap<&str, &SecurityGroup> =
            region.security_groups.iter().map(|group| (group.id.as_str(), group)).collect();
        let etcd_hosts: HashSet<&str> = region
            .volumes
            .iter()
            .filter(|volume| volume.tags.iter().any(|tag| tag.key.starts_with("k8s.io/etcd/")))
            .flat_map(|volume| volume.attached_to.iter().map(String::as_str))
            .collect();
        let found = members(region, cluster_id, nodes);
        let distribution = distribution(&found, &groups);
        let members: Vec<Member<'_>> = found
            .into_iter()
            .filter(|(instance, ..)| !roles::is_bastion(instance, cluster_id))
            .map(|(instance, evidence, node)| Member {
                instance,
                evidence,
                roles: roles::assign(instance, node, selectors, &groups, &etcd_hosts, cluster_id),
                node,
            })
            .collect();
        let (mut member_vpcs, mut member_groups, mut member_profiles) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for member in &members {
            member_vpcs.extend(member.instance.vpc_id.as_deref());
            member_groups.extend(member.instance.security_groups.iter().map(String::as_str));
            member_profiles.extend(member.instance.instance_profile_arn.as_deref());
        }
        Self {
            account,
            region,
            members,
            distribution,
            member_vpcs,
            member_groups,
            member_profiles,
            neighbours: neighbours::by_vpc(region, cluster_id),
            main_tables: region.route_tables.iter().filter(|t| t.main).map(|t| (t.vpc_id.as_str(), t)).collect(),
            subnet_tables: region
                .route_tables
                .iter()
                .flat_map(|table| table.subnet_ids.iter().map(move |id| (id.as_str(), table)))
                .collect(),
        }
    }

    /// A member by the id of its instance.
    #[must_use]
    pub fn member(&self, id: &str) -> Option<&Member<'a>> {
        let at = self.members.binary_search_by(|member| member.instance.id.as_str().cmp(id)).ok()?;
        self.members.get(at)
    }

    /// A subnet of the region by id.
    #[must_use]
    pub fn subnet(&self, id: &str) -> Option<&'a Subnet> {
        self.region.subnet(id)
    }

    /// A security group of the region by id.
    #[must_use]
    pub fn security_group(&self, id: &str) -> Option<&'a SecurityGroup> {
        self.region.security_group(id)
    }

    /// A VPC of the region by id.
    #[must_use]
    pub fn vpc(&self, id: &str) -> Option<&'a Vpc> {
        self.region.vpc(id)
    }

    /// An instance of the region by id, in any state.
    #[must_use]
    pub fn instance(&self, id: &str) -> Option<&'a Instance> {
        self.region.instance(id)
    }

    /// Tags of a resource of the region by id, of any kind that carries cluster tags.
    #[must_use]
    pub fn tags_of(&self, id: &str) -> Option<&'a [Tag]> {
        self.region.tags_of(id)
    }

    /// The route table that decides for a subnet: the associated one, else the main one of its VPC.
    #[must_use]
    pub fn route_table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        self.subnet_tables.get(subnet.id.as_str()).or_else(|| self.main_tables.get(subnet.vpc_id.as_str())).copied()
    }

    /// VPCs in which members live.
    #[must_use]
    pub fn member_vpcs(&self) -> BTreeSet<&'a str> {
        self.member_vpcs.clone()
    }

    /// Security groups that members have at instance level.
    #[must_use]
    pub fn member_groups(&self) -> &BTreeSet<&'a str> {
        &self.member_groups
    }

    /// ARNs of the instance profiles that members have.
    #[must_use]
    pub fn member_profiles(&self) -> &BTreeSet<&'a str> {
        &self.member_profiles
    }

    /// Members by the subnet they live in.
    #[must_use]
    pub fn members_by_subnet(&self) -> BTreeMap<&'a str, Vec<&Member<'a>>> {
        let mut map: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
        for member in &self.members {
            if let Some(subnet) = member.instance.subnet_id.as_deref() {
                map.entry(subnet).or_default().push(member);
            }
        }
        map
    }

    /// Members by a security group at instance level.
    #[must_use]
    pub fn members_by_group(&self) -> BTreeMap<&'a str, Vec<&Member<'a>>> {
        let mut map: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
        for member in &self.members {
            for group in &member.instance.security_groups {
                let users = map.entry(group.as_str()).or_default();
                // EC2 may list a group twice.
                if users.last().is_none_or(|last| last.instance.id != member.instance.id) {
                    users.push(member);
                }
            }
        }
        map
    }

    /// Other clusters' live instances: ids of the clusters they are tagged for, by what `key` picks from the instance.
    #[must_use]
    pub fn foreign_users<'k>(
        &self,
        cluster_id: &str,
        keys: impl Fn(&'a Instance) -> Vec<&'k str>,
    ) -> BTreeMap<&'k str, BTreeSet<&'a str>>
    where
        'a: 'k,
    {
        let mut map: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for instance in self.region.instances.iter().filter(|instance| instance.state.is_live()) {
            if tags::has_cluster_tag(&instance.tags, cluster_id) {
                continue;
            }
            for id in instance_clusters(&instance.tags) {
                for key in keys(instance) {
                    map.entry(key).or_default().insert(id);
                }
            }
        }
        map
    }

    /// Other clusters that show in a VPC, by a tag of anything there or by a network interface of theirs, each with a resource
    /// that shows it.
    pub fn neighbours(&self, vpc_id: &str) -> impl Iterator<Item = (&Neighbour, &'a str)> {
        self.neighbours.get(vpc_id).into_iter().flatten().map(|(neighbour, id)| (neighbour, *id))
    }

    /// The VPC that a resource is in, or is.
    #[must_use]
    pub fn vpc_of(&self, id: &str) -> Option<&'a str> {
        match self.region.find(id)? {
            Tagged::Vpc(vpc) => Some(&vpc.id),
            found @ (Tagged::Instance(_) | Tagged::Subnet(_) | Tagged::SecurityGroup(_)) => found.vpc_id(),
            // What clusters share a VPC by is told of the network and the nodes alone.
            Tagged::RouteTable(_) | Tagged::Volume(_) | Tagged::NetworkInterface(_) => None,
        }
    }

    /// Network interfaces of the region.
    #[must_use]
    pub fn network_interfaces(&self) -> &'a [NetworkInterface] {
        &self.region.network_interfaces
    }

    /// Volumes of the region.
    #[must_use]
    pub fn volumes(&self) -> &'a [Volume] {
        &self.region.volumes
    }
}

/// The other clusters of each VPC of a region, each with a resource that shows it.
pub(crate) fn neighbours_of<'a>(region: &'a Region, own: &'a str) -> BTreeMap<&'a str, BTreeMap<Neighbour, &'a str>> {
    neighbours::by_vpc(region, own)
}

/// The cluster ids an instance is tagged for, new-style and legacy.
pub fn instance_clusters(tags: &[Tag]) -> impl Iterator<Item = &str> {
    let legacy = tags::value(tags, tags::LEGACY_TAG).filter(|id| !id.is_empty());
    tags::cluster_ids(tags).map(|(id, _)| id).chain(legacy)
}

type Found<'a> = (&'a Instance, Evidence, Option<&'a KubernetesNode>);

fn members<'a>(region: &'a Region, cluster_id: &str, nodes: Option<&'a [KubernetesNode]>) -> Vec<Found<'a>> {
    let index = nodes.map(NodeIndex::new);
    let stated = |instance: &'a Instance| -> Option<Found<'a>> {
        let node = index.as_ref().and_then(|index| index.find(instance));
        if tags::has_cluster_tag(&instance.tags, cluster_id) {
            return Some((instance, Evidence::ClusterTag, node));
        }
        if node.is_some() {
            return Some((instance, Evidence::Node, node));
        }
        let near = |tag: &Tag| tags::near_miss(tag, cluster_id).is_some_and(tags::NearMiss::is_certain);
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

/// Tags of EKS on its nodes. Sources: Amazon EKS User Guide, "Tag your resources for billing"; eksctl
/// `pkg/apis/eksctl.io/v1alpha5`.
const EKS_TAGS: &[&str] = &[
    "eks:cluster-name",
    "aws:eks:cluster-name",
    "eks:nodegroup-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
];

fn distribution(members: &[Found<'_>], groups: &HashMap<&str, &SecurityGroup>) -> Distribution {
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
    } else if has(roles::CAPA_ROLE_TAG) {
        Distribution::ClusterApi
    } else if members.iter().any(of_eks) {
        Distribution::Eks
    } else {
        Distribution::Other
    }
}
