//! Kubernetes Nodes against instances (rule catalogue, section 1.8); all of them need `--nodes`.

use std::collections::BTreeSet;

use crate::finding::{Applicability, Fix, ResourceKind, ResourceRef, Severity};
use crate::inventory::Instance;
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::tags;
use crate::text;
use crate::view::RegionView;

use super::{Check, Context, Rule, Violation, instances_phrase};

const NODE: &[ResourceKind] = &[ResourceKind::Node];
const INSTANCES: &str = "ec2:DescribeInstances";
/// How long a new instance may take to register before its missing Node is worth a word.
const GRACE_MINUTES: i64 = 15;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "node-name-mismatch",
        title: "a Node cannot be matched to its instance",
        severity: "error",
        resources: NODE,
        condition: "A Node has no providerID, its name is not `i-…` of a live instance, and no live instance has that private DNS name together with the cluster tag; or two have.",
        breaks: "the controller says `failed to get provider ID … instance not found` (or `multiple instances found for name`), and the Node keeps its `uninitialized` taint",
        fix: "Name the Node by the private DNS name of its instance, or by its id, and tag the instance.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#nodeNameToInstanceID",
        ],
        example: "Node `worker-1` has no providerID, and no tagged instance has that private DNS name",
        reads: &[INSTANCES],
        check: Check::Scan(name_mismatch),
    },
    Rule {
        id: "node-provider-id-invalid",
        title: "the providerID of a Node cannot be parsed",
        severity: "error",
        resources: NODE,
        condition: "A providerID is none of `aws:///<zone>/<i-…>`, `aws:////<i-…>`, `<i-…>` and `aws:///…/fargate-…`.",
        breaks: "the Node is left out of every load balancer with a line in the log",
        fix: "The providerID cannot be changed: delete the Node and let the kubelet register again.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID"],
        example: "Node `worker-1` has the providerID `aws://123456789012/i-0a`",
        reads: &[],
        check: Check::Scan(provider_id_invalid),
    },
    Rule {
        id: "node-without-instance",
        title: "the instance of a Node is gone",
        severity: "warning",
        resources: NODE,
        condition: "The instance that a Node names is not there, or is shutting down or terminated.",
        breaks: "the node controller deletes the Node once the cloud controller works; while it does not, pods stay assigned to nothing",
        fix: "Nothing if the controller runs; else delete the Node.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#InstanceExists"],
        example: "Node `worker-1` names instance `i-0a`, which is terminated",
        reads: &[INSTANCES],
        check: Check::Scan(without_instance),
    },
    Rule {
        id: "instance-without-node",
        title: "a tagged instance is no Node",
        severity: "info",
        resources: &[ResourceKind::Instance],
        condition: "A live, running instance carries the cluster tag for more than 15 minutes and no Node names it. Bastions of kOps and Cluster API are left out.",
        breaks: "nothing by itself: the kubelet has not registered, or the machine is not meant to be a node",
        fix: "Look at the kubelet on the instance.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName"],
        example: "instance `i-0a` carries the cluster tag, and no Node names it",
        reads: &[INSTANCES],
        check: Check::Region(instance_without_node),
    },
];

fn resource(node: &KubernetesNode) -> ResourceRef {
    ResourceRef::bare(ResourceKind::Node, &node.name)
}

/// Live instances that the controller would find for a name: by private DNS name, among those with the cluster tag.
fn by_dns_name<'a>(context: &'a Context<'_>, name: &str) -> Vec<&'a Instance> {
    let instances = context.view.regions.iter().flat_map(|region| &region.region.instances);
    instances
        .filter(|instance| instance.state != crate::inventory::InstanceState::Terminated)
        .filter(|instance| {
            instance.private_dns_name.as_deref() == Some(name)
                && tags::has_cluster_tag(&instance.tags, context.cluster_id())
        })
        .collect()
}

/// Nodes without a providerID that the controller cannot match, with the number of instances that fit.
pub(super) fn unmatched<'a>(context: &'a Context<'_>) -> Vec<(&'a KubernetesNode, usize)> {
    let nodes = context.view.nodes.unwrap_or_default();
    let candidates = nodes.iter().filter(|node| node.provider_id.is_empty());
    candidates
        .filter_map(|node| {
            let fits = match nodes::instance_id_in_name(&node.name) {
                Some(id) => usize::from(
                    context
                        .view
                        .regions
                        .iter()
                        .any(|region| region.instance(id).is_some_and(|instance| instance.state.is_live())),
                ),
                None => by_dns_name(context, &node.name).len(),
            };
            (fits != 1).then_some((node, fits))
        })
        .collect()
}

fn name_mismatch(context: &Context<'_>) -> Vec<Violation> {
    unmatched(context)
        .into_iter()
        .map(|(node, fits)| {
            let name = text::printable(&node.name);
            let mut message = match (fits, nodes::instance_id_in_name(&node.name)) {
                (0, Some(_)) => format!(
                    "Node `{name}` has no providerID, and its name is taken for an instance id that is not there"
                ),
                (0, None) => {
                    format!("Node `{name}` has no providerID, and no tagged instance has that private DNS name")
                }
                _ => format!("Node `{name}` has no providerID, and {fits} instances have that private DNS name"),
            };
            // The usual reason, where it can be seen: the same first label under another domain.
            let short = node.name.split('.').next().unwrap_or_default();
            let near = context.view.members().find(|member| {
                member.instance.private_dns_name.as_deref().and_then(|dns| dns.split('.').next()) == Some(short)
                    && !short.is_empty()
            });
            if let Some(dns) = near.filter(|_| fits == 0).and_then(|member| member.instance.private_dns_name.as_deref())
                && dns != node.name
            {
                message.push_str(&format!("; `{}` does", text::printable(dns)));
            }
            let fix = Fix::none(
                "set the Node name to the private DNS name (kubelet --hostname-override), or to the instance id",
            );
            Violation::new(Severity::Error, resource(node), message, fix)
        })
        .collect()
}

fn provider_id_invalid(context: &Context<'_>) -> Vec<Violation> {
    let nodes = context.view.nodes.unwrap_or_default();
    let broken = nodes
        .iter()
        .filter(|node| !node.provider_id.is_empty() && nodes::parse_provider_id(&node.provider_id).is_none());
    broken
        .map(|node| {
            let message = format!(
                "Node `{}` has the providerID `{}`",
                text::printable(&node.name),
                text::printable(&node.provider_id)
            );
            Violation::new(
                Severity::Error,
                resource(node),
                message,
                Fix::none("delete the Node and let the kubelet register it again"),
            )
        })
        .collect()
}

fn without_instance(context: &Context<'_>) -> Vec<Violation> {
    let nodes = context.view.nodes.unwrap_or_default();
    let read: BTreeSet<&str> = context.view.regions.iter().map(|region| region.region.name.as_str()).collect();
    nodes
        .iter()
        .filter_map(|node| {
            let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
            // An instance of a region that was not read is unknown, not gone.
            let zone = node.provider_id.trim_start_matches("aws:///").split('/').next().unwrap_or_default();
            let in_read_region =
                zone.starts_with("i-") || zone.is_empty() || read.iter().any(|region| zone.starts_with(region));
            let found = context.view.regions.iter().find_map(|region| region.instance(id));
            let state = match found {
                Some(instance) if instance.state.is_live() => return None,
                Some(_) => "terminated",
                None if in_read_region => "not there",
                None => return None,
            };
            let message = format!(
                "Node `{}` names instance `{}`, which is {state}",
                text::printable(&node.name),
                text::printable(id)
            );
            let fix = Fix::none("nothing if the controller runs, it deletes the Node; else `kubectl delete node`");
            Some(
                Violation::new(Severity::Warning, resource(node), message, fix)
                    .related([ResourceRef::bare(ResourceKind::Instance, id)]),
            )
        })
        .collect()
}

fn instance_without_node(context: &Context<'_>, region: &RegionView<'_>) -> Vec<Violation> {
    if context.view.nodes.is_none() {
        return Vec::new();
    }
    let read_at = context.view.inventory.collected_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let old_enough = |instance: &Instance| {
        let launched = instance.launch_time.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        match (read_at, launched) {
            (Some(read), Some(launched)) => read.as_second() - launched.as_second() > GRACE_MINUTES * 60,
            _ => true,
        }
    };
    let lonely = region.members.iter().filter(|member| {
        member.node.is_none()
            && member.instance.state == crate::inventory::InstanceState::Running
            && tags::has_cluster_tag(&member.instance.tags, context.cluster_id())
            && old_enough(member.instance)
    });
    region.grouped(
        lonely,
        |_| Severity::Info,
        |members| {
            let verb = if members.len() == 1 { "carries" } else { "carry" };
            let whom = if members.len() == 1 { "it" } else { "them" };
            let message = format!("{} {verb} the cluster tag, and no Node names {whom}", instances_phrase(members));
            (message, Fix::none("look at the kubelet on the instance, or remove the tag if it is no node"))
        },
    )
}
