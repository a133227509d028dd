//! Other clusters in a VPC. A cluster that has no live instance at the moment (scaled to zero, Fargate, hybrid nodes)
//! still has load balancers and subnets that a change can take from it, so every mark that it leaves counts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::aws::launches::{are_launches_unread, find_template, tags_of_launches};
use crate::aws::{AutoScalingGroup, Instance, NetworkInterface, Region};
use crate::inventory::Tag;
use crate::tags;
use crate::text;

use super::Member;
use super::members::all_clusters;

/// Keys whose value is the name of a cluster. Sources: aws-load-balancer-controller `pkg/deploy/tracking/provider.go`,
/// aws-ebs-csi-driver `docs/tagging.md`, Karpenter "Getting Started", Amazon EKS User Guide "Tagging your resources",
/// eksctl `pkg/apis/eksctl.io/v1alpha5`, amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go`.
const NAMED_IN_VALUE: &[&str] = &[
    tags::LBC_CLUSTER_TAG,
    "ebs.csi.aws.com/cluster-name",
    "karpenter.sh/discovery",
    "aws:eks:cluster-name",
    "eks:cluster-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
    "cluster.k8s.amazonaws.com/name",
];
/// Keys that end with the name of a cluster, except the cluster tag itself.
const NAMED_IN_KEY: &[&str] = &[
    "sigs.k8s.io/cluster-api-provider-aws/cluster/",
    "k8s.io/cluster-autoscaler/",
    "cni.networking.k8s.aws/cluster/",
    "kops.k8s.io/cluster/",
];

/// Further domains whose keys only Kubernetes and its controllers write; a key belongs to a domain if the part before
/// its slash is the domain or a subdomain. Sources: Kubernetes "Well-Known Labels, Annotations and Taints",
/// aws-load-balancer-controller `pkg/deploy/tracking/provider.go`, amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go`
/// (`node.k8s.amazonaws.com/instance_id`), amazon-vpc-resource-controller-k8s `pkg/config/type.go`
/// (`vpcresources.k8s.aws/…`), Karpenter `pkg/apis/v1/labels.go`, Cilium "AWS ENI" (`io.cilium/…`), eksctl
/// `pkg/apis/eksctl.io/v1alpha5`.
const DOMAINS: &[&str] =
    &["k8s.io", "kubernetes.io", "k8s.aws", "k8s.amazonaws.com", "karpenter.sh", "io.cilium", "cilium.io", "eksctl.io"];
/// Keys without a domain that only EKS writes.
const PREFIXES: &[&str] = &["eks:", "aws:eks:"];
/// Keys of the EBS CSI driver, which marks every volume, by default without the name of a cluster.
/// Source: aws-ebs-csi-driver `docs/tagging.md`.
const ON_VOLUMES: &[&str] = &["ebs.csi.aws.com/cluster", "CSIVolumeName"];

/// The first key that only Kubernetes writes.
fn mark(tags_: &[Tag]) -> Option<&str> {
    let of_domain = |key: &str| {
        let domain = key.split('/').next().unwrap_or_default();
        key.contains('/')
            && DOMAINS
                .iter()
                .any(|known| domain.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    };
    let is_mark = |key: &&str| of_domain(key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    tags_.iter().map(|tag| tag.key.as_str()).find(is_mark)
}

/// The instance that a network interface of the VPC CNI or of Cilium was created for.
/// Sources: amazon-vpc-cni-k8s `pkg/awsutils/awsutils.go` (description `aws-K8S-<instance>`), cilium
/// `pkg/aws/eni/node.go` (`Cilium-CNI (<instance>)`).
pub(crate) fn made_for(interface: &NetworkInterface) -> Option<&str> {
    let text = interface.description.as_str();
    let of_cilium = || text.strip_prefix("Cilium-CNI (")?.strip_suffix(')');
    interface
        .instance_id
        .as_deref()
        .or_else(|| tags::value(&interface.tags, "node.k8s.amazonaws.com/instance_id"))
        .or_else(|| text.strip_prefix("aws-K8S-"))
        .or_else(of_cilium)
}

/// The clusters that tags name.
pub(crate) fn named(tags_: &[Tag]) -> BTreeSet<&str> {
    let in_value = tags_.iter().filter(|tag| NAMED_IN_VALUE.contains(&tag.key.as_str())).map(|tag| tag.value.as_str());
    let in_key = tags_.iter().filter_map(|tag| NAMED_IN_KEY.iter().find_map(|prefix| tag.key.strip_prefix(prefix)));
    let in_key = in_key.filter(|name| !matches!(*name, "enabled" | "") && !name.starts_with("node-template/"));
    all_clusters(tags_).chain(in_value).chain(in_key).filter(|name| !name.is_empty()).collect()
}

/// Another tenant of a VPC with the audited cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    /// A cluster, by name.
    Cluster(String),
    /// A load balancer that no tag ties to a cluster, by the description of its network interface.
    LoadBalancer(String),
    /// A cluster without a name, by its evidence: a key, or the description of a network interface.
    Unnamed(String),
}

impl std::fmt::Display for Neighbour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cluster(name) => f.write_str(name),
            Self::LoadBalancer(description) => write!(f, "a load balancer (`{description}`)"),
            Self::Unnamed(mark) => write!(f, "a cluster without a name (`{}`)", text::printable(mark)),
        }
    }
}

/// The creator of a network interface, by its description.
/// Sources: Amazon EKS User Guide, "VPC and subnet considerations" (`Amazon EKS <name>`); Elastic Load Balancing (`ELB
/// <name>`, `ELB app/…`, `ELB net/…`).
fn creator(interface: &NetworkInterface) -> Option<Neighbour> {
    let text = interface.description.as_str();
    if let Some(name) = text.strip_prefix("Amazon EKS ").filter(|name| !name.is_empty()) {
        return Some(Neighbour::Cluster(name.to_owned()));
    }
    text.starts_with("ELB ").then(|| Neighbour::LoadBalancer(text.to_owned()))
}

/// Neighbours by VPC, each with the first resource as evidence.
pub(super) type ByVpc<'a> = BTreeMap<&'a str, BTreeMap<Neighbour, &'a str>>;

struct Collector<'a> {
    own: &'a str,
    found: ByVpc<'a>,
}

impl<'a> Collector<'a> {
    fn is_other(&self, name: &str) -> bool {
        name != self.own && !tags::is_slip(name, self.own)
    }

    fn others<'t>(&self, tags_: &'t [Tag]) -> Vec<&'t str> {
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

/// True if something shows that a cluster lives in a region, if only at zero: a live instance or a network interface that
/// names it, or an Auto Scaling group that names it, or launches instances that do. `None` if what a group launches
/// was not read, or the groups were not.
pub(crate) fn is_alive(region: &Region, cluster: &str) -> Option<bool> {
    let names = |tags_: &[Tag]| named(tags_).contains(cluster);
    let mut instances = region.instances.iter().filter(|one| one.state.is_live());
    let is_of_eks = |one: &NetworkInterface| {
        one.description.strip_prefix("Amazon EKS ") == Some(cluster) || one.status == "in-use" && names(&one.tags)
    };
    let is_group_of_it = |id: &String| is_group_of(region, id, cluster);
    // Without the tag of any cluster, a machine with a security group of this one may be its node.
    let is_node = |one: &Instance| {
        names(&one.tags) || named(&one.tags).is_empty() && one.security_groups.iter().any(is_group_of_it)
    };
    if instances.any(is_node) || region.network_interfaces.iter().any(is_of_eks) {
        return Some(true);
    }
    let groups = region.auto_scaling_groups.as_deref()?;
    if groups.iter().any(|group| names(&tags_of_launches(group, region))) {
        return Some(true);
    }
    let is_open = |group: &AutoScalingGroup| {
        // A launch configuration, which is not read, may tag nothing and name anything.
        let has_configuration = group.launch.as_ref().is_some_and(|launch| launch.templates.is_empty());
        !group.instances.iter().any(|id| region.instance(id).is_some())
            && (has_configuration || are_launches_unread(group, region))
    };
    if groups.iter().any(is_open) {
        return None;
    }
    Some(groups.iter().any(|group| launches_for(group, region, cluster)))
}

/// True if an Auto Scaling group, whose instances and tags name no cluster, launches into subnets that a cluster
/// owns, or with a security group of it: its user data may tag the instances.
fn launches_for(group: &AutoScalingGroup, region: &Region, cluster: &str) -> bool {
    let Some(launch) = &group.launch else { return false };
    let subnets = region.subnets.iter().filter(|subnet| launch.subnets.contains(&subnet.id));
    let mut owned = subnets
        .filter(|subnet| tags::has_cluster_tag_owned(&subnet.tags, cluster) && is_named_alone(&subnet.tags, cluster));
    let held = region.launch_templates.as_deref().unwrap_or_default();
    let templates = group.templates().filter_map(|reference| find_template(held, reference));
    let versions = templates.flat_map(|template| &template.versions);
    let mut groups = versions.flat_map(|version| version.security_groups.iter().flatten());
    // An untagged instance may be a node whose user data has not run.
    let is_unnamed = |id: &String| region.instance(id).is_none_or(|one| named(&one.tags).is_empty());
    group.instances.iter().all(is_unnamed)
        && !launch.is_being_deleted
        && named(&tags_of_launches(group, region)).is_empty()
        && (owned.next().is_some() || groups.any(|id| is_group_of(region, id, cluster)))
}

/// True if tags name a cluster and no other.
fn is_named_alone(tags_: &[Tag], cluster: &str) -> bool {
    named(tags_) == BTreeSet::from([cluster])
}

/// True for the id of a security group whose tags name a cluster and no other.
fn is_group_of(region: &Region, id: &str, cluster: &str) -> bool {
    region.security_groups.iter().any(|one| one.id == id && is_named_alone(&one.tags, cluster))
}

/// The other clusters of each VPC of a region.
pub(super) fn by_vpc<'a>(region: &'a Region, own: &'a str, members: &[Member<'a>]) -> ByVpc<'a> {
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
        // EC2 shows no VPC for a terminated instance: any VPC with a subnet in its zone is possible.
        if instance.vpc_id.is_none() {
            let names = all.others(&instance.tags);
            let zone = instance.availability_zone.as_deref();
            for vpc in vpcs_in_zone(region, zone).filter(|_| !names.is_empty()) {
                all.add(Some(vpc), &names, &instance.id);
            }
        }
    }
    groups_at_zero(region, &mut all);
    let ours: BTreeSet<&str> = region
        .security_groups
        .iter()
        .filter(|group| {
            tags::has_cluster_tag(&group.tags, own) || tags::value(&group.tags, tags::LBC_CLUSTER_TAG) == Some(own)
        })
        .map(|group| group.id.as_str())
        .collect();
    for interface in &region.network_interfaces {
        all.tagged(interface.vpc_id.as_deref(), &interface.tags, &interface.id);
        // A load balancer with a security group of this cluster belongs to this cluster.
        let is_ours = interface.security_groups.iter().any(|id| ours.contains(id.as_str()));
        let creator = creator(interface).filter(|creator| match creator {
            Neighbour::Cluster(name) => all.is_other(name),
            Neighbour::LoadBalancer(_) | Neighbour::Unnamed(_) => !is_ours,
        });
        if let Some((vpc, creator)) = interface.vpc_id.as_deref().zip(creator) {
            all.found.entry(vpc).or_default().entry(creator).or_insert(&interface.id);
        }
    }
    balancers(region, &ours, &mut all);
    volumes(region, &mut all);
    unnamed(region, members, &mut all);
    all.found
}

/// Adds the clusters that load balancers and target groups name, and load balancers that no tag ties to a cluster: a new
/// one has no network interface yet.
fn balancers<'a>(region: &'a Region, ours: &BTreeSet<&str>, all: &mut Collector<'a>) {
    let Some(read) = &region.load_balancing else { return };
    for balancer in &read.load_balancers {
        let tags_ = balancer.tags.as_deref().unwrap_or_default();
        let vpc = balancer.vpc_id.as_deref();
        all.tagged(vpc, tags_, &balancer.name);
        let is_ours = balancer.security_groups.iter().any(|id| ours.contains(id.as_str()));
        let Some(vpc) = vpc.filter(|_| !is_ours && named(tags_).is_empty()) else { continue };
        let creator = Neighbour::LoadBalancer(balancer.interface_description());
        all.found.entry(vpc).or_default().entry(creator).or_insert(&balancer.name);
    }
    for group in &read.target_groups {
        all.tagged(group.vpc_id.as_deref(), group.tags.as_deref().unwrap_or_default(), &group.name);
    }
}

/// Adds the clusters of Auto Scaling groups that have no live instance: by their tags, or by those of what they would
/// launch. A group with a mark of Kubernetes, or whose launches were not read, counts as a cluster without a name.
fn groups_at_zero<'a>(region: &'a Region, all: &mut Collector<'a>) {
    let is_live = |id: &String| region.instance(id).is_some_and(|instance| instance.state.is_live());
    let vpc_of: HashMap<&str, &str> =
        region.subnets.iter().map(|subnet| (subnet.id.as_str(), subnet.vpc_id.as_str())).collect();
    for group in region.auto_scaling_groups.iter().flatten().filter(|group| !group.instances.iter().any(is_live)) {
        let Some(launch) = &group.launch else { continue };
        let tags_ = tags_of_launches(group, region);
        let is_named = named(&tags_).into_iter().next().is_some();
        let mut found: Vec<Neighbour> =
            all.others(&tags_).into_iter().map(|name| Neighbour::Cluster(name.to_owned())).collect();
        if !is_named {
            let shown = mark(&tags_).map(str::to_owned).or_else(|| {
                let is_unread = are_launches_unread(group, region);
                is_unread.then(|| format!("the Auto Scaling group {} without instances", group.name))
            });
            found.extend(shown.map(Neighbour::Unnamed));
        }
        let mut vpcs: BTreeSet<&'a str> =
            launch.subnets.iter().filter_map(|id| vpc_of.get(id.as_str()).copied()).collect();
        if vpcs.is_empty() {
            // Its template names the subnet: any VPC with a subnet in its zones is possible.
            let zones = launch.zones.iter().map(|zone| Some(zone.as_str()));
            let zones = zones.chain(launch.zones.is_empty().then_some(None));
            vpcs = zones.flat_map(|zone| vpcs_in_zone(region, zone)).collect();
        }
        for vpc in vpcs {
            let here = all.found.entry(vpc).or_default();
            for neighbour in &found {
                here.entry(neighbour.clone()).or_insert(&group.name);
            }
        }
    }
}

/// Adds live resources that Kubernetes marked without naming a cluster and that belong to no member.
fn unnamed<'a>(region: &'a Region, members: &[Member<'a>], all: &mut Collector<'a>) {
    let of_members: HashSet<&str> = members.iter().map(|member| member.instance.id.as_str()).collect();
    let of_member_interfaces: HashSet<&str> = members
        .iter()
        .flat_map(|member| &member.instance.network_interfaces)
        .map(|interface| interface.id.as_str())
        .collect();
    // A resource that names a cluster, this one or another, is already covered.
    let is_named = |tags_: &[Tag]| {
        named(tags_).into_iter().next().is_some() || tags_.iter().any(|tag| tags::is_certain_near_miss(tag, all.own))
    };
    let mut found: Vec<(&'a str, String, &'a str)> = Vec::new();
    let mut strangers: HashMap<&str, &str> = HashMap::new();
    for instance in region.instances.iter().filter(|one| one.state.is_live()) {
        let Some(vpc) = instance.vpc_id.as_deref() else { continue };
        if of_members.contains(instance.id.as_str()) || is_named(&instance.tags) {
            continue;
        }
        strangers.insert(&instance.id, vpc);
        found.extend(mark(&instance.tags).map(|key| (vpc, key.to_owned(), instance.id.as_str())));
    }
    for interface in &region.network_interfaces {
        let Some(vpc) = interface.vpc_id.as_deref() else { continue };
        let trunk = tags::value(&interface.tags, "vpcresources.k8s.aws/trunk-eni-id");
        let is_ours = made_for(interface).is_some_and(|id| of_members.contains(id))
            || trunk.is_some_and(|id| of_member_interfaces.contains(id))
            || of_member_interfaces.contains(interface.id.as_str());
        if is_ours || is_named(&interface.tags) {
            continue;
        }
        let is_of_cni = ["aws-K8S-", "Cilium-CNI ("].iter().any(|prefix| interface.description.starts_with(prefix));
        let shown = mark(&interface.tags).or_else(|| is_of_cni.then_some(interface.description.as_str()));
        found.extend(shown.map(|shown| (vpc, shown.to_owned(), interface.id.as_str())));
    }
    for volume in &region.volumes {
        let user = volume.attached_to.iter().find_map(|id| strangers.get(id.as_str()).copied());
        let Some(vpc) = user.filter(|_| !is_named(&volume.tags)) else { continue };
        let of_driver = volume.tags.iter().map(|tag| tag.key.as_str()).find(|key| ON_VOLUMES.contains(key));
        let shown = of_driver.or_else(|| mark(&volume.tags));
        found.extend(shown.map(|shown| (vpc, shown.to_owned(), volume.id.as_str())));
    }
    for (vpc, shown, id) in found {
        all.found.entry(vpc).or_default().entry(Neighbour::Unnamed(shown)).or_insert(id);
    }
}

/// The VPCs with a subnet in a zone; all of them if the zone is not known.
fn vpcs_in_zone<'a>(region: &'a Region, zone: Option<&str>) -> impl Iterator<Item = &'a str> {
    let near = region.subnets.iter().filter(|subnet| zone.is_none_or(|zone| zone == subnet.availability_zone));
    near.map(|subnet| subnet.vpc_id.as_str()).collect::<BTreeSet<&str>>().into_iter()
}

/// Adds the neighbours that volumes show. A volume is in the VPC of the instance that it is attached to; a detached one
/// counts for every VPC with a subnet in its zone.
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
