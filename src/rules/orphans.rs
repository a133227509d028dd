//! What a cluster left behind (rule catalogue, section 1.7), as far as EC2 alone shows it. Nothing here is ever deleted
//! automatically, and only `owned` (or the legacy tag, which means it) qualifies.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Cause, Fix, Severity};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;
use crate::view::RegionView;

use super::instance_tags::is_load_balancer_group;
use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Tagged, Violation};
use crate::finding::Applicability;

const INSTANCES: Read = Read::DescribeInstances;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "orphan-volume",
        title: "a volume of a cluster without nodes",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::Volume],
        condition: "A volume is `available`, owned by the cluster, and no live instance of the region is tagged for it. Auto Scaling groups are not looked at: one with desired instances would bring nodes back.",
        impact: "nothing runs on it, and it is paid for",
        fix: "Take a snapshot if the data matters, then delete the volume.",
        applicability: Applicability::None,
        sources: &["https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/773"],
        example: "2 available volumes are owned by `bravo`, which has no live instance here",
        reads: &[INSTANCES, Read::DescribeVolumes],
        subjects: Subjects::Region,
        check: Check::Region(volumes),
    },
    Rule {
        id: "orphan-security-group",
        title: "a load balancer's security group was left behind",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::SecurityGroup],
        condition: "A group that the cloud controller or the AWS Load Balancer Controller (`elbv2.k8s.aws/cluster=<ID>`) made for a load balancer is owned by the cluster and is on no network interface; or any group that is owned by the cluster is on none, and no live instance of the region is tagged for the cluster.",
        impact: "it counts against the quota of groups, keeps the VPC from being deleted, and rules that refer to it stay in the nodes' group",
        fix: "Revoke the rules that refer to it, then delete the group.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/kubernetes/kubernetes/issues/79994",
            "https://github.com/kubernetes/kubernetes/issues/84366",
            "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4526",
            "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/tracking/provider.go",
        ],
        example: "security group `sg-0a` (k8s-elb-a1b2) was made for a load balancer and is on no network interface",
        reads: &[INSTANCES, Read::DescribeSecurityGroups, Read::DescribeNetworkInterfaces],
        subjects: Subjects::Region,
        check: Check::Region(security_groups),
    },
    Rule {
        id: "orphan-eni",
        title: "a network interface of a cluster without nodes",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::NetworkInterface],
        condition: "A network interface is `available`, owned by the cluster or left by the VPC CNI for it (`cluster.k8s.amazonaws.com/name`), and no live instance of the region is tagged for the cluster. Those of a deleted Network Load Balancer vanish by themselves within an hour.",
        impact: "it holds an address and keeps its subnet and security groups from being deleted",
        fix: "Delete the network interface.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/aws/amazon-vpc-cni-k8s/issues/69",
            "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/6067",
        ],
        example: "3 available network interfaces belong to `bravo`, which has no live instance here",
        reads: &[INSTANCES, Read::DescribeNetworkInterfaces],
        subjects: Subjects::Region,
        check: Check::Region(network_interfaces),
    },
    Rule {
        id: "orphan-network",
        title: "the network of a cluster without nodes",
        severity: RuleSeverity::always(Severity::Warning),
        resources: &[ResourceKind::Vpc, ResourceKind::Subnet, ResourceKind::RouteTable],
        condition: "A VPC, subnet or route table is owned by the cluster, and no live instance of the region is tagged for it.",
        impact: "nothing uses it",
        fix: "Delete it with the tool that made it.",
        applicability: Applicability::None,
        sources: &["https://github.com/kubernetes/kubernetes/issues/73480"],
        example: "1 VPC and 3 subnets are owned by `bravo`, which has no live instance here",
        reads: &[INSTANCES, Read::DescribeVpcs, Read::DescribeSubnets, Read::DescribeRouteTables],
        subjects: Subjects::Region,
        check: Check::Region(networks),
    },
];

/// Whether nothing of the cluster lives in the region.
fn is_dead(context: &Context<'_>, region: &RegionView<'_>) -> bool {
    region.members.is_empty()
        && !region
            .region
            .instances
            .iter()
            .any(|i| i.state.is_live() && tags::has_cluster_tag(&i.tags, context.cluster_id()))
}

/// One finding for everything of one kind: it was left behind by one deletion.
fn one(region: &RegionView<'_>, found: &[Tagged<'_>], message: String, fix: &str) -> Checked {
    let Some(first) = found.first() else { return Checked::clean() };
    let others = found.iter().skip(1).map(|resource| region.bare(resource.kind(), resource.id()));
    vec![
        Violation::new(Severity::Warning, region.resource(*first), message, Fix::none(fix))
            .related(others)
            .cause(Cause::Group(first.kind().name().to_owned())),
    ]
    .into()
}

fn left_by(context: &Context<'_>, number: usize, noun: &str, verb: &str) -> String {
    format!(
        "{} {} by `{}`, which has no live instance here",
        text::count(number, noun),
        if number == 1 { format!("is {verb}") } else { format!("are {verb}") },
        text::printable(context.cluster_id())
    )
}

fn volumes(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if !is_dead(context, region) {
        return Checked::clean();
    }
    let found: Vec<Tagged<'_>> = region
        .volumes()
        .iter()
        .filter(|volume| volume.state == "available" && volume.attached_to.is_empty())
        .filter(|volume| tags::has_cluster_tag_owned(&volume.tags, context.cluster_id()))
        .map(Tagged::Volume)
        .collect();
    let message = left_by(context, found.len(), "available volume", "owned");
    one(
        region,
        &found,
        message,
        "check that no Auto Scaling group brings the cluster back, save the data, then delete them",
    )
}

fn security_groups(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    let dead = is_dead(context, region);
    let used: BTreeSet<&str> = region
        .network_interfaces()
        .iter()
        .flat_map(|interface| interface.security_groups.iter().map(String::as_str))
        .collect();
    region
        .region
        .security_groups
        .iter()
        .filter(|group| !used.contains(group.id.as_str()))
        .filter(|group| {
            let owned = tags::has_cluster_tag_owned(&group.tags, own);
            let of_controller = is_load_balancer_group(&group.name, &group.description);
            let of_other = tags::value(&group.tags, "elbv2.k8s.aws/cluster") == Some(own);
            of_other || (owned && (of_controller || dead))
        })
        .map(|group| {
            let referring: Vec<&str> = region
                .region
                .security_groups
                .iter()
                .filter(|other| other.id != group.id)
                .filter(|other| other.ingress.iter().any(|p| p.groups.iter().any(|source| source.source == group.id)))
                .map(|other| other.id.as_str())
                .collect();
            let of_load_balancer = is_load_balancer_group(&group.name, &group.description)
                || tags::value(&group.tags, "elbv2.k8s.aws/cluster").is_some();
            let what = if of_load_balancer {
                "was made for a load balancer".to_owned()
            } else {
                format!("is owned by `{}`, which has no live instance here,", text::printable(own))
            };
            let mut message = format!(
                "security group `{}` ({}) {what} and is on no network interface",
                group.id,
                text::printable(&group.name)
            );
            if !referring.is_empty() {
                message.push_str(&format!("; rules of {} refer to it", text::list(&referring, 3)));
            }
            let fix =
                Fix::none("check that its Service is gone, revoke the rules that refer to it, then delete the group");
            Violation::new(Severity::Warning, region.resource(Tagged::SecurityGroup(group)), message, fix)
                .related(referring.iter().map(|id| region.bare(ResourceKind::SecurityGroup, id)))
        })
        .collect()
}

fn network_interfaces(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    let own = context.cluster_id();
    if !is_dead(context, region) {
        return Checked::clean();
    }
    let found: Vec<Tagged<'_>> = region
        .network_interfaces()
        .iter()
        .filter(|interface| interface.status == "available" && interface.managed_by.is_none())
        .filter(|interface| {
            tags::has_cluster_tag_owned(&interface.tags, own)
                || tags::value(&interface.tags, "cluster.k8s.amazonaws.com/name") == Some(own)
        })
        .map(Tagged::NetworkInterface)
        .collect();
    let message = left_by(context, found.len(), "available network interface", "left");
    one(region, &found, message, "delete them; those of a Network Load Balancer vanish by themselves within an hour")
}

fn networks(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if !is_dead(context, region) {
        return Checked::clean();
    }
    let owned = |resource: &Tagged<'_>| tags::has_cluster_tag_owned(resource.tags(), context.cluster_id());
    let found: Vec<Tagged<'_>> = region
        .tagged()
        .filter(|resource| matches!(resource, Tagged::Vpc(_) | Tagged::Subnet(_) | Tagged::RouteTable(_)))
        .filter(owned)
        .collect();
    let mut kinds: BTreeMap<ResourceKind, usize> = BTreeMap::new();
    for resource in &found {
        *kinds.entry(resource.kind()).or_default() += 1;
    }
    let told: Vec<String> = kinds.iter().map(|(kind, number)| text::count(*number, kind.noun())).collect();
    let message = format!(
        "{} owned by `{}`, which has no live instance here",
        told.join(" and "),
        text::printable(context.cluster_id())
    );
    one(region, &found, message, "delete them with the tool that made them")
}
