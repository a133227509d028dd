//! The cluster in the inventory: its instances, their evidence, and their roles.
//!
//! Membership never depends on the audited tag alone: an untagged node must be found as well. The evidence and its
//! confidence are described in `docs/membership.md`, which a test keeps in step with [`Evidence`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::aws::{
    Account, Instance, Inventory, NetworkInterface, Region, RouteTable, SecurityGroup, Subnet, Tagged, Volume, Vpc,
};
use crate::inventory::Tag;
use crate::membership::{Held, NodeRoleSelector, RoleAssignment};
use crate::nodes::KubernetesNode;
use crate::tags;

mod certain;
mod distribution;
mod evidence;
mod members;
mod neighbours;
mod roles;

use distribution::distribution;
use members::members;

pub(crate) use distribution::Distribution;
pub use evidence::Evidence;
pub(crate) use members::instance_clusters;
pub(crate) use neighbours::Neighbour;
pub(crate) use neighbours::{is_alive, made_for, named as named_clusters};

/// Tag that EC2 Auto Scaling puts on its instances.
pub(crate) const AUTO_SCALING_GROUP_TAG: &str = "aws:autoscaling:groupName";

/// An instance that belongs to the cluster.
#[derive(Debug)]
pub struct Member<'a> {
    pub instance: &'a Instance,
    /// The strongest evidence for its membership.
    pub evidence: Evidence,
    /// Its roles, and their source.
    pub roles: RoleAssignment,
    /// Its Kubernetes Node, if Nodes were given.
    pub node: Option<&'a KubernetesNode>,
}

impl Member<'_> {
    /// True if it is stopped or stopping: its defects currently break nothing.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        use crate::aws::InstanceState::{Stopped, Stopping};
        matches!(self.instance.state, Stopped | Stopping)
    }

    #[must_use]
    pub fn auto_scaling_group(&self) -> Option<&str> {
        tags::value(&self.instance.tags, AUTO_SCALING_GROUP_TAG)
    }
}

/// The cluster in one region of one account.
#[derive(Debug)]
pub struct RegionView<'a> {
    pub account: &'a Account,
    pub region: &'a Region,
    /// Members, by instance id.
    pub members: Vec<Member<'a>>,
    /// The tool that created the cluster, if it is evident.
    pub distribution: Distribution,
    member_vpcs: BTreeSet<&'a str>,
    certain_vpcs: BTreeSet<&'a str>,
    member_subnets: BTreeSet<&'a str>,
    member_groups: BTreeSet<&'a str>,
    member_profiles: BTreeSet<&'a str>,
    neighbours: neighbours::ByVpc<'a>,
    main_tables: HashMap<&'a str, &'a RouteTable>,
    subnet_tables: HashMap<&'a str, &'a RouteTable>,
}

/// The cluster in all evidence.
#[derive(Debug)]
pub struct ClusterView<'a> {
    /// The evidence.
    pub inventory: &'a Inventory,
    /// The audited cluster id.
    pub cluster_id: &'a str,
    /// Kubernetes Nodes, if they were given.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// One entry per region that was read.
    pub regions: Vec<RegionView<'a>>,
    /// The owning account of shared resources, by the account that was read and resource id.
    pub shared: HashMap<(&'a str, &'a str), &'a str>,
}

impl<'a> ClusterView<'a> {
    /// True for a VPC in which no node of the cluster runs, if they run in others. Controllers look for what they created in
    /// the VPC of their nodes: the same name in another VPC is that of another cluster.
    /// Source: kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/elbv2/tagging_manager.go#listLoadBalancersNative`.
    #[must_use]
    pub fn is_elsewhere(&self, vpc: Option<&str>) -> bool {
        let Some(vpc) = vpc else { return false };
        let members = || self.regions.iter().flat_map(|region| &region.members);
        let has_nodes = members().any(|member| member.node.is_some());
        let mut vpcs = members()
            .filter(|member| !has_nodes || member.node.is_some())
            .filter_map(|member| member.instance.vpc_id.as_deref())
            .peekable();
        vpcs.peek().is_some() && vpcs.all(|own| own != vpc)
    }

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
        let regions = inventory
            .accounts
            .iter()
            .flat_map(|account| account.regions.iter().map(move |region| (account, region)))
            .map(|(account, region)| RegionView::new(account, region, cluster_id, nodes, (selectors, held)))
            .collect();
        Self { inventory, cluster_id, nodes, regions, shared: shared(inventory) }
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

    /// True if anything that was read belongs to the cluster: a node, or a resource with its tag.
    #[must_use]
    pub fn is_anything_here(&self) -> bool {
        let is_tagged = |region: &RegionView<'_>| {
            region.region.tagged().any(|resource| tags::has_cluster_tag(resource.tags(), self.cluster_id))
        };
        self.members().next().is_some() || self.regions.iter().any(is_tagged)
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

/// Properties of the members that need no inference.
struct Shared<'a> {
    auto_scaling_groups: HashMap<&'a str, Users>,
    profile_and_group: HashMap<(&'a str, &'a str, &'a str), Users>,
    tagged_groups: HashSet<&'a str>,
}

/// Number of instances with a property: members, and those tagged for other clusters.
#[derive(Default)]
struct Users {
    members: usize,
    foreign: usize,
}

/// Members per instance of another cluster that still prove something: one wrong tag must not hide a node.
const MEMBERS_FOR_ONE_STRANGER: usize = 8;

impl Users {
    /// The evidence for another instance with the property; `None` if too many nodes of other clusters have it too.
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
        (selectors, held): (&[NodeRoleSelector], Option<&Held>),
    ) -> Self {
        let roles_before =
            |instance: &Instance| held.and_then(|held| held.roles(&account.account_id, &region.name, &instance.id));
        let groups: HashMap<&str, &SecurityGroup> =
            region.security_groups.iter().map(|group| (group.id.as_str(), group)).collect();
        let etcd_hosts: HashSet<&str> = region
            .volumes
            .iter()
            .filter(|volume| volume.tags.iter().any(|tag| tag.key.starts_with("k8s.io/etcd/")))
            .flat_map(|volume| volume.attached_to.iter().map(String::as_str))
            .collect();
        let mut found = members(region, cluster_id, nodes);
        if held.is_some() {
            let known: HashSet<&str> = found.iter().map(|(instance, ..)| instance.id.as_str()).collect();
            let lost = region.instances.iter().filter(|one| one.state.is_live() && !known.contains(one.id.as_str()));
            let lost: Vec<_> = lost
                .filter(|instance| {
                    roles_before(instance).is_some()
                        && !held.is_some_and(|held| held.is_moved(instance_clusters(&instance.tags)))
                })
                .map(|instance| (instance, Evidence::BeforeChange, None))
                .collect();
            found.extend(lost);
            found.sort_by(|(a, ..), (b, ..)| a.id.cmp(&b.id));
        }
        let distribution = distribution(&found, &groups, cluster_id);
        let members: Vec<Member<'_>> = found
            .into_iter()
            .filter(|(instance, ..)| !roles::is_bastion(instance, cluster_id))
            .map(|(instance, evidence, node)| Member {
                instance,
                evidence,
                roles: roles_before(instance)
                    .filter(|before| !before.roles.is_unknown())
                    .unwrap_or_else(|| roles::assign(instance, node, selectors, &groups, &etcd_hosts, cluster_id)),
                node,
            })
            .collect();
        let (mut member_vpcs, mut member_groups, mut member_profiles) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut certain_vpcs, mut member_subnets) = (BTreeSet::new(), BTreeSet::new());
        for member in &members {
            if member.is_certain(cluster_id, nodes.is_some()) {
                certain_vpcs.extend(member.instance.vpc_id.as_deref());
            }
            member_subnets.extend(member.instance.subnet_id.as_deref());
            member_subnets.extend(member.instance.network_interfaces.iter().filter_map(|one| one.subnet_id.as_deref()));
            member_vpcs.extend(member.instance.vpc_id.as_deref());
            member_groups.extend(member.instance.security_groups.iter().map(String::as_str));
            member_profiles.extend(member.instance.instance_profile_arn.as_deref());
        }
        Self {
            account,
            region,
            neighbours: neighbours::by_vpc(region, cluster_id, &members),
            members,
            distribution,
            member_vpcs,
            certain_vpcs,
            member_subnets,
            member_groups,
            member_profiles,
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

    #[must_use]
    pub fn subnet(&self, id: &str) -> Option<&'a Subnet> {
        self.region.subnet(id)
    }

    #[must_use]
    pub fn security_group(&self, id: &str) -> Option<&'a SecurityGroup> {
        self.region.security_group(id)
    }

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
    pub fn tags_by_id(&self, id: &str) -> Option<&'a [Tag]> {
        self.region.tags_of(id)
    }

    /// The effective route table of a subnet: the associated one, else the main one of its VPC.
    #[must_use]
    pub fn route_table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        self.subnet_tables.get(subnet.id.as_str()).or_else(|| self.main_tables.get(subnet.vpc_id.as_str())).copied()
    }

    #[must_use]
    pub fn member_vpcs(&self) -> BTreeSet<&'a str> {
        self.member_vpcs.clone()
    }

    /// True if a VPC has a certain node of the cluster: it has the cluster's tag and no other cluster's, and, if Nodes
    /// were given, is one of them.
    #[must_use]
    pub fn has_certain_member(&self, vpc_id: &str) -> bool {
        self.certain_vpcs.contains(vpc_id)
    }

    /// True if a member has a network interface in a subnet.
    #[must_use]
    pub fn has_member_in_subnet(&self, subnet_id: &str) -> bool {
        self.member_subnets.contains(subnet_id)
    }

    /// Security groups of members at instance level.
    #[must_use]
    pub fn member_groups(&self) -> &BTreeSet<&'a str> {
        &self.member_groups
    }

    /// ARNs of the instance profiles of members.
    #[must_use]
    pub fn member_profiles(&self) -> &BTreeSet<&'a str> {
        &self.member_profiles
    }

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

    /// Other clusters' live instances: ids of the clusters that they are tagged for, by the keys that `keys` selects.
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

    /// Other clusters in a VPC, by a tag of any resource there or by one of their network interfaces, each with a
    /// resource as evidence.
    pub fn neighbours(&self, vpc_id: &str) -> impl Iterator<Item = (&Neighbour, &'a str)> {
        self.neighbours.get(vpc_id).into_iter().flatten().map(|(neighbour, id)| (neighbour, *id))
    }

    /// The VPC of a resource, or of the VPC itself.
    #[must_use]
    pub fn resource_vpc_id(&self, id: &str) -> Option<&'a str> {
        match self.region.find(id)? {
            Tagged::Vpc(vpc) => Some(&vpc.id),
            found @ (Tagged::Instance(_) | Tagged::Subnet(_) | Tagged::SecurityGroup(_)) => found.vpc_id(),
            // Other clusters in the VPC are reported only for networks and nodes.
            Tagged::RouteTable(_) | Tagged::Volume(_) | Tagged::NetworkInterface(_) => None,
        }
    }

    /// Security groups on a network interface, or of a load balancer, which has no interface while it is created.
    pub(crate) fn groups_in_use(&self) -> BTreeSet<&'a str> {
        let of_interfaces = self.network_interfaces().iter().flat_map(|one| &one.security_groups);
        let balancers = self.region.load_balancing.iter().flat_map(|read| &read.load_balancers);
        of_interfaces.chain(balancers.flat_map(|one| &one.security_groups)).map(String::as_str).collect()
    }

    #[must_use]
    pub fn network_interfaces(&self) -> &'a [NetworkInterface] {
        &self.region.network_interfaces
    }

    #[must_use]
    pub fn volumes(&self) -> &'a [Volume] {
        &self.region.volumes
    }
}

/// The other clusters of each VPC of a region, each with a resource as evidence. Only those with a name are reliable:
/// members are not known here, so an unnamed one may be the audited cluster.
pub(crate) fn neighbours_by_vpc<'a>(
    region: &'a Region,
    own: &'a str,
) -> BTreeMap<&'a str, BTreeMap<Neighbour, &'a str>> {
    neighbours::by_vpc(region, own, &[])
}
