//! The account and the cluster, as far as the decisions of the controllers depend on them.

use std::collections::{BTreeSet, HashMap};

use crate::aws::load_balancers::{MadeFor, Maker, Names};
use crate::aws::view::{ClusterView, RegionView};
use crate::aws::{Instance, LoadBalancer, LoadBalancerKind, Region, RouteTable, SecurityGroup, Subnet};
use crate::inventory::{Gap, Read};
use crate::kubernetes::Evidence;
use crate::membership::NodeRole;
use crate::nodes::KubernetesNode;
use crate::tags;

use super::decision::{Answer, ObjectName, Stop};

/// The region of the cluster, and the evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) cluster_id: &'a str,
    pub(crate) view: &'a ClusterView<'a>,
    pub(crate) region: &'a RegionView<'a>,
    pub(crate) evidence: &'a Evidence,
    pub(super) given: Given<'a>,
    index: &'a Index<'a>,
}

/// The resources of a region by id.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    subnets: HashMap<&'a str, &'a Subnet>,
    groups: HashMap<&'a str, &'a SecurityGroup>,
    instances: HashMap<&'a str, &'a Instance>,
}

impl<'a> Index<'a> {
    pub(super) fn new(region: &'a Region) -> Self {
        Self {
            subnets: region.subnets.iter().map(|one| (one.id.as_str(), one)).collect(),
            groups: region.security_groups.iter().map(|one| (one.id.as_str(), one)).collect(),
            instances: region.instances.iter().map(|one| (one.id.as_str(), one)).collect(),
        }
    }
}

/// Facts about the objects beyond the evidence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// Namespace of objects that state none.
    pub(super) namespace: &'a str,
    pub(super) ingresses: &'a HeldIngresses,
}

/// Ingresses of a cluster.
#[derive(Debug, Default)]
pub(super) struct HeldIngresses {
    pub(super) with_address: BTreeSet<ObjectName>,
    /// Those that the API server knows.
    pub(super) all: BTreeSet<ObjectName>,
}

/// The reason for which the region is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRegion {
    #[error("the inventory holds no region")]
    None,
    #[error("the cluster has nodes in several regions: {}", .0.join(", "))]
    Several(Vec<String>),
    #[error("the inventory holds several regions, and no node of the cluster in any of them: {}", .0.join(", "))]
    Unclear(Vec<String>),
}

/// The one region of a cluster, or the only region of the inventory.
pub(super) fn region_of<'a>(view: &'a ClusterView<'a>) -> Result<&'a RegionView<'a>, NoRegion> {
    only_region(&view.regions, |one| !one.members.is_empty(), |one| one.region.name.as_str())
}

/// The one region with nodes of a cluster, or the only region.
pub(super) fn only_region<R>(
    regions: &[R],
    has_members: impl Fn(&R) -> bool,
    name: impl Fn(&R) -> &str,
) -> Result<&R, NoRegion> {
    let names = |regions: &[&R]| regions.iter().map(|one| name(one).to_owned()).collect();
    let all: Vec<&R> = regions.iter().collect();
    let with_members: Vec<&R> = regions.iter().filter(|one| has_members(one)).collect();
    match (with_members.as_slice(), regions) {
        ([only], _) => Ok(*only),
        ([], [only]) => Ok(only),
        ([], []) => Err(NoRegion::None),
        ([], _) => Err(NoRegion::Unclear(names(&all))),
        (several, _) => Err(NoRegion::Several(names(several))),
    }
}

/// The load balancer of an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held<'a> {
    /// Load balancers were not read.
    NotRead,
    None,
    One(&'a LoadBalancer),
}

impl<'a> World<'a> {
    /// The world of a cluster in a region of its view.
    pub(super) fn new(
        view: &'a ClusterView<'a>,
        region: &'a RegionView<'a>,
        evidence: &'a Evidence,
        given: Given<'a>,
        index: &'a Index<'a>,
    ) -> Self {
        Self { cluster_id: view.cluster_id, view, region, evidence, given, index }
    }

    pub(super) fn here(&self) -> &'a Region {
        self.region.region
    }

    /// The VPC of the nodes, or the only one of the region.
    pub(super) fn vpc_of_nodes(&self) -> Answer<&'a str> {
        let of_members = self.region.members.iter().filter_map(|member| member.instance.vpc_id.as_deref());
        let vpcs: BTreeSet<&'a str> = of_members.collect();
        let mut vpcs = vpcs.into_iter();
        match (vpcs.next(), vpcs.next(), self.here().vpcs.as_slice()) {
            (Some(only), None, _) => Answer::Is(only),
            (None, None, [only]) => Answer::Is(&only.id),
            _ => Answer::Unknown,
        }
    }

    /// The subnets of a VPC, or a reason to stop if they were not read.
    pub(super) fn subnets(&self, vpc: &str) -> Result<Vec<&'a Subnet>, Stop> {
        self.must_have(Read::DescribeSubnets, "subnets")?;
        let subnets: Vec<&Subnet> = self.here().subnets.iter().filter(|subnet| subnet.vpc_id == vpc).collect();
        subnets.iter().try_for_each(|subnet| self.must_know_zone(subnet))?;
        Ok(subnets)
    }

    pub(super) fn subnet(&self, id: &str) -> Option<&'a Subnet> {
        self.index.subnets.get(id).copied()
    }

    pub(super) fn group(&self, id: &str) -> Option<&'a SecurityGroup> {
        self.index.groups.get(id).copied()
    }

    pub(super) fn instance(&self, id: &str) -> Option<&'a Instance> {
        self.index.instances.get(id).copied()
    }

    /// The route table of a subnet: the explicit one, else the main one of its VPC; `None` if it has none.
    pub(super) fn route_table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        self.region.route_table(subnet)
    }

    /// The type of the zone of a subnet; an ordinary zone if it is not listed.
    pub(super) fn zone_type(&self, subnet: &Subnet) -> &'a str {
        let zones = &self.here().availability_zones;
        let zone = zones.iter().find(|zone| zone.name == subnet.availability_zone);
        zone.map_or("availability-zone", |zone| zone.zone_type.as_str())
    }

    /// Stops if the type of the zone of a subnet is not known: the zones were not read, and its name is not that of an ordinary
    /// one, the region with a letter.
    pub(super) fn must_know_zone(&self, subnet: &Subnet) -> Result<(), Stop> {
        let is_ordinary = subnet.availability_zone.strip_prefix(&self.here().name).is_some_and(|rest| rest.len() == 1);
        if is_ordinary { Ok(()) } else { self.must_have(Read::DescribeAvailabilityZones, "subnets") }
    }

    /// The Nodes, or a reason to stop if they are not known.
    pub(super) fn nodes(&self) -> Result<&'a [KubernetesNode], Stop> {
        match &self.evidence.nodes {
            Some(nodes) => Ok(nodes),
            None => Stop::unknown("targets", "the Nodes were not given (--nodes, --kube-context or --kubernetes)"),
        }
    }

    /// The subnet of the instance on which the controller may run: that of the control-plane nodes, if it is one.
    pub(super) fn subnet_of_controller(&self) -> Answer<&'a str> {
        let members = self.region.members.iter();
        let servers = members.filter(|member| member.roles.roles.contains(NodeRole::Controlplane));
        let subnets: BTreeSet<&'a str> = servers.filter_map(|member| member.instance.subnet_id.as_deref()).collect();
        let mut found = subnets.into_iter();
        match (found.next(), found.next()) {
            (Some(only), None) => Answer::Is(only),
            _ => Answer::Unknown,
        }
    }

    /// The load balancer of a stack of the AWS Load Balancer Controller.
    /// Source: aws-load-balancer-controller `pkg/deploy/tracking/provider.go#StackTags`.
    pub(super) fn load_balancer_of(&self, cluster_name: &str, made_for: MadeFor<'_>) -> Held<'a> {
        let unread = [Read::DescribeLoadBalancers, Read::DescribeLoadBalancerTags];
        let is_unread = unread.iter().any(|read| self.must_have(*read, "subnets").is_err());
        let Some(balancing) = self.here().load_balancing.as_ref().filter(|_| !is_unread) else { return Held::NotRead };
        let names = Names { cluster_id: self.cluster_id, cluster_name };
        let is_its = |one: &&LoadBalancer| {
            let claims = names.claims(one.tags.as_deref().unwrap_or_default());
            claims.iter().any(|claim| claim.maker == Maker::LoadBalancerController && claim.made_for == made_for)
        };
        let mut found = balancing.load_balancers.iter().filter(is_its);
        match (found.next(), found.next()) {
            (None, _) => Held::None,
            (Some(only), None) => Held::One(only),
            // The controller takes the first of a list without an order.
            (Some(_), Some(_)) => Held::NotRead,
        }
    }

    /// The Network Load Balancer with a name.
    pub(super) fn network_load_balancer(&self, name: &str) -> Held<'a> {
        let is_unread = self.must_have(Read::DescribeLoadBalancers, "lb_groups").is_err();
        let Some(balancing) = self.here().load_balancing.as_ref().filter(|_| !is_unread) else { return Held::NotRead };
        let is_it = |one: &&LoadBalancer| one.kind == LoadBalancerKind::Network && one.name == name;
        balancing.load_balancers.iter().find(is_it).map_or(Held::None, Held::One)
    }

    /// The load balancer of the cloud controller with a name, if the lists were read.
    pub(super) fn load_balancer(&self, name: &str, is_network: bool) -> Option<&'a LoadBalancer> {
        self.must_have(Read::DescribeLoadBalancers, "subnets").ok()?;
        let kind = if is_network { LoadBalancerKind::Network } else { LoadBalancerKind::Classic };
        let is_it = |one: &&LoadBalancer| one.kind == kind && one.name == name;
        self.here().load_balancing.as_ref()?.load_balancers.iter().find(is_it)
    }

    /// Stops if a list of the region is not known.
    pub(super) fn must_have(&self, read: Read, field: &'static str) -> Result<(), Stop> {
        let is_here =
            |gap: &&Gap| gap.read == read && gap.region.as_ref().is_none_or(|region| *region == self.here().name);
        match self.view.inventory.gaps.iter().find(is_here) {
            Some(gap) => Stop::unknown(field, format!("{} was not read: {}", gap.read, gap.message)),
            None => Ok(()),
        }
    }

    /// True if tags hold the tag of the cluster: the usual one with any value, or the legacy one with its id.
    /// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/tags.go#hasClusterTag`.
    pub(super) fn has_cluster_tag(&self, tags: &[tags::Tag]) -> bool {
        tags::has_cluster_tag(tags, self.cluster_id)
    }
}
