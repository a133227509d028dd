//! Other clusters in a VPC. A cluster that has no live instance at the moment (scaled to zero, Fargate, hybrid nodes) still
//! has load balancers and subnets that a change can take from it, so every mark that it leaves counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::inventory::{NetworkInterface, Region, Tag};
use crate::tags;

use super::members::all_clusters;

/// Keys whose value is the name of a cluster. Sources: aws-load-balancer-controller `pkg/deploy/tracking/provider.go`,
/// aws-ebs-csi-driver `docs/tagging.md`, Karpenter "Getting Started", Amazon EKS User Guide "Tagging your resources",
/// eksctl `pkg/apis/eksctl.io/v1alpha5`, amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go`.
const NAMED_IN_VALUE: &[&str] = &[
    "elbv2.k8s.aws/cluster",
    "ebs.csi.aws.com/cluster-name",
    "karpenter.sh/discovery",
    "aws:eks:cluster-name",
    "eks:cluster-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
    "cluster.k8s.amazonaws.com/name",
];
/// Keys that end in the name of a cluster, beside the cluster tag itself.
const NAMED_IN_KEY: &[&str] = &[
    "sigs.k8s.io/cluster-api-provider-aws/cluster/",
    "k8s.io/cluster-autoscaler/",
    "cni.networking.k8s.aws/cluster/",
    "kops.k8s.io/cluster/",
];

/// The clusters that some tags name.
fn named(tags_: &[Tag]) -> BTreeSet<&str> {
    let in_value = tags_.iter().filter(|tag| NAMED_IN_VALUE.contains(&tag.key.as_str())).map(|tag| tag.value.as_str());
    let in_key = tags_.iter().filter_map(|tag| NAMED_IN_KEY.iter().find_map(|prefix| tag.key.strip_prefix(prefix)));
    let in_key = in_key.filter(|name| !matches!(*name, "enabled" | "") && !name.starts_with("node-template/"));
    all_clusters(tags_).chain(in_value).chain(in_key).filter(|name| !name.is_empty()).collect()
}

/// Who shows in a VPC beside the audited cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    /// A cluster, by name.
    Cluster(String),
    /// A load balancer that no tag ties to a cluster, by the description of its network interface.
    LoadBalancer(String),
}

impl std::fmt::Display for Neighbour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cluster(name) => f.write_str(name),
            Self::LoadBalancer(description) => write!(f, "a load balancer (`{description}`)"),
        }
    }
}

/// Who made a network interface, by its description.
/// Sources: Amazon EKS User Guide, "VPC and subnet considerations" (`Amazon EKS <name>`); Elastic Load Balancing
/// (`ELB <name>`, `ELB app/…`, `ELB net/…`).
fn creator(interface: &NetworkInterface) -> Option<Neighbour> {
    let text = interface.description.as_str();
    if let Some(name) = text.strip_prefix("Amazon EKS ").filter(|name| !name.is_empty()) {
        return Some(Neighbour::Cluster(name.to_owned()));
    }
    text.starts_with("ELB ").then(|| Neighbour::LoadBalancer(text.to_owned()))
}

/// By VPC, each neighbour with the first resource that shows it.
pub(super) type ByVpc<'a> = BTreeMap<&'a str, BTreeMap<Neighbour, &'a str>>;

struct Collector<'a> {
    own: &'a str,
    found: ByVpc<'a>,
}

impl<'a> Collector<'a> {
    fn is_other(&self, name: &str) -> bool {
        name != self.own && !tags::is_slip(name, self.own)
    }

    fn others(&self, tags_: &'a [Tag]) -> Vec<&'a str> {
        named(tags_).into_iter().filter(|name| self.is_other(name)).collect()
    }

    fn add(&mut self, vpc: Option<&'a str>, names: &[&'a str], id: &'a str) {
        let Some(vpc) = vpc.filter(|_| !names.is_empty()) else { return };
        let here = self.found.entry(vpc).or_default();
        for name in names {
            here.entry(Neighbour::Cluster((*name).to_owned())).or_insert(id);
        }
    }

    fn tagged(&mut self, vpc: Option<&'a str>, tags_: &'a [Tag], id: &'a str) {
        let names = self.others(tags_);
        self.add(vpc, &names, id);
    }
}

/// The other clusters of each VPC of a region.
pub(super) fn by_vpc<'a>(region: &'a Region, own: &'a str) -> ByVpc<'a> {
    let mut all = Collector { own, found: BTreeMap::new() };
    for vpc in &region.vpcs {
        all.tagged(Some(&vpc.id), &vpc.tags, &vpc.id);
    }
    for subnet in &region.subnets {
        all.tagged(Some(&subnet.vpc_id), &subnet.tags, &subnet.id);
    }
    for group in &region.security_groups {
        all.tagged(group.vpc_id.as_deref(), &group.tags, &group.id);
    }
    for table in &region.route_tables {
        all.tagged(Some(&table.vpc_id), &table.tags, &table.id);
    }
    for instance in &region.instances {
        all.tagged(instance.vpc_id.as_deref(), &instance.tags, &instance.id);
        // EC2 shows no VPC of an instance that is terminated: it was in one that reaches into its zone.
        if instance.vpc_id.is_none() {
            let names = all.others(&instance.tags);
            let zone = instance.availability_zone.as_deref();
            for vpc in vpcs_in_zone(region, zone).filter(|_| !names.is_empty()) {
                all.add(Some(vpc), &names, &instance.id);
            }
        }
    }
    let ours: BTreeSet<&str> = region
        .security_groups
        .iter()
        .filter(|group| {
            tags::has_cluster_tag(&group.tags, own) || tags::value(&group.tags, "elbv2.k8s.aws/cluster") == Some(own)
        })
        .map(|group| group.id.as_str())
        .collect();
    for interface in &region.network_interfaces {
        all.tagged(interface.vpc_id.as_deref(), &interface.tags, &interface.id);
        // A load balancer with a security group of ours is ours.
        let is_ours = interface.security_groups.iter().any(|id| ours.contains(id.as_str()));
        let creator = creator(interface).filter(|creator| match creator {
            Neighbour::Cluster(name) => all.is_other(name),
            Neighbour::LoadBalancer(_) => !is_ours,
        });
        if let Some((vpc, creator)) = interface.vpc_id.as_deref().zip(creator) {
            all.found.entry(vpc).or_default().entry(creator).or_insert(&interface.id);
        }
    }
    volumes(region, &mut all);
    all.found
}

/// The VPCs with a subnet in a zone; all of them where the zone is not known.
fn vpcs_in_zone<'a>(region: &'a Region, zone: Option<&str>) -> impl Iterator<Item = &'a str> {
    let near = region.subnets.iter().filter(|subnet| zone.is_none_or(|zone| zone == subnet.availability_zone));
    near.map(|subnet| subnet.vpc_id.as_str()).collect::<BTreeSet<&str>>().into_iter()
}

/// A volume is in the VPC of the instance that it is attached to. A detached one belongs to no VPC: to every one that has a
/// subnet in its zone, then.
fn volumes<'a>(region: &'a Region, all: &mut Collector<'a>) {
    let tagged: Vec<_> = region
        .volumes
        .iter()
        .map(|volume| (volume, all.others(&volume.tags)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    if tagged.is_empty() {
        return;
    }
    let vpc_of: HashMap<&str, &str> = region
        .instances
        .iter()
        .filter_map(|instance| Some((instance.id.as_str(), instance.vpc_id.as_deref()?)))
        .collect();
    for (volume, names) in tagged {
        if volume.attached_to.is_empty() {
            for vpc in vpcs_in_zone(region, volume.availability_zone.as_deref()) {
                all.add(Some(vpc), &names, &volume.id);
            }
        } else {
            for instance in &volume.attached_to {
                all.add(vpc_of.get(instance.as_str()).copied(), &names, &volume.id);
            }
        }
    }
}
