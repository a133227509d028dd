//! Kubernetes Nodes against instances (rule catalogue, section 1.8); all of them need `--nodes`.

use std::collections::BTreeSet;

use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::inventory::{Instance, InstanceState, Read};
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::resource::ResourceKind;
use crate::tags;
use crate::text;
use crate::view::RegionView;

use super::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Violation, instances_phrase};

const NODE: &[ResourceKind] = &[ResourceKind::Node];
const INSTANCES: Read = Read::DescribeInstances;
/// How long a new instance may take to register before its missing Node is worth a word.
const GRACE_MINUTES: i64 = 15;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "node-name-mismatch",
        title: "a Node cannot be matched to its instance",
        severity: RuleSeverity::always(Severity::Error),
        resources: NODE,
        condition: "A Node has no providerID, its name is not `i-…` of a live instance, and no live instance has that private DNS name together with the cluster tag; or two have.",
        impact: "the controller says `failed to get provider ID … instance not found` (or `multiple instances found for name`), and the Node keeps its `uninitialized` taint",
        fix: "Name the Node by the private DNS name of its instance, or by its id, and tag the instance. Where no live instance has its address either, delete the Node. Names such as `i-….corp.example` need a controller from v1.27.2 on.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName",
            "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#nodeNameToInstanceID",
            "https://github.com/kubernetes/cloud-provider-aws/issues/1471",
        ],
        example: "Node `worker-1` has no providerID, and no tagged instance has that private DNS name",
        reads: &[INSTANCES],
        subjects: Subjects::KubernetesNodes,
        check: Check::Kubernetes(name_mismatch),
    },
    Rule {
        id: "node-provider-id-invalid",
        title: "the providerID of a Node cannot be parsed",
        severity: RuleSeverity::always(Severity::Error),
        resources: NODE,
        condition: "The last part of a providerID is neither `i-…` nor `fargate-…`. EKS Hybrid Nodes (`eks-hybrid://`) are left out; `rke2://` and `k3s://` are `ccm-wrong-cloud-provider`.",
        impact: "the Node is left out of every load balancer with a line in the log; controllers before v1.23.20, v1.24.19, v1.25.15, v1.26.11 and v1.27.6 panic at it",
        fix: "The providerID of a Node cannot be changed: replace the node. On RKE2 and K3s, deleting the Node of a server removes it from etcd.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID",
            "https://github.com/kubernetes/cloud-provider-aws/issues/604",
            "https://github.com/rancher/rke2/issues/1874",
        ],
        example: "Node `worker-1` has the providerID `aws:///us-east-1a/vol-0a`",
        reads: &[],
        subjects: Subjects::KubernetesNodes,
        check: Check::Kubernetes(provider_id_invalid),
    },
    Rule {
        id: "ccm-wrong-cloud-provider",
        title: "the distribution's own cloud controller has initialised the Nodes",
        severity: RuleSeverity::always(Severity::Error),
        resources: &[ResourceKind::Cluster],
        condition: "Nodes have a providerID that starts with `rke2://` or `k3s://`: the cloud controller that RKE2 or K3s bring along has set it, and it cannot be changed.",
        impact: "the cloud controller neither initialises these Nodes nor makes them targets of a load balancer, and a Node that is made anew gets the same again while the embedded controller runs",
        fix: "First switch the embedded controller off (`disable-cloud-controller: true` on servers) and set the kubelets to `cloud-provider=external` (RKE2: `cloud-provider-name: external`); then replace the workers one by one; then the servers one at a time, after an etcd snapshot. Never delete the Node of a server by itself: that removes it from etcd.",
        applicability: Applicability::None,
        sources: &[
            "https://github.com/k3s-io/k3s/issues/1049",
            "https://github.com/rancher/rke2/issues/142",
            "https://github.com/rancher/rke2/issues/3439",
            "k3s-io/k3s pkg/etcd/member_controller.go#onRemove",
        ],
        example: "4 Nodes have a providerID of RKE2's own cloud controller, such as `rke2://worker-1`",
        reads: &[],
        subjects: Subjects::KubernetesNodes,
        check: Check::Kubernetes(wrong_cloud_provider),
    },
    Rule {
        id: "node-provider-id-without-zone",
        title: "the cluster autoscaler does not understand a Node's providerID",
        severity: RuleSeverity::always(Severity::Warning),
        resources: NODE,
        condition: "A Node's providerID is not `aws:///<zone>/<id>`, and its instance is in a group that the cluster autoscaler discovers (`k8s.io/cluster-autoscaler/enabled`) or was made by Karpenter.",
        impact: "the cluster autoscaler and Karpenter do not find the instance of the Node, and neither remove nor count it",
        fix: "The providerID of a Node cannot be changed: have the kubelet or the cloud controller set the full one on the next nodes.",
        applicability: Applicability::None,
        sources: &[
            "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#validAwsRefIdRegex",
            "aws/karpenter-provider-aws pkg/utils/utils.go#ParseInstanceID",
        ],
        example: "Node `worker-1` has the providerID `i-0a`, and the cluster autoscaler manages its instance",
        reads: &[INSTANCES],
        subjects: Subjects::KubernetesNodes,
        check: Check::Kubernetes(provider_id_without_zone),
    },
    Rule {
        id: "node-without-instance",
        title: "the instance of a Node is gone",
        severity: RuleSeverity::depends(
            Severity::Warning,
            "warning; info while the instance is shutting down, as at every scale-in",
        ),
        resources: NODE,
        condition: "The instance that a Node names is not there, or is shutting down or terminated.",
        impact: "the node controller deletes the Node once the cloud controller works; while it does not, pods stay assigned to nothing",
        fix: "Nothing if the controller runs; else delete the Node.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/instances_v2.go#InstanceExists"],
        example: "Node `worker-1` names instance `i-0a`, which is terminated",
        reads: &[INSTANCES],
        subjects: Subjects::KubernetesNodes,
        check: Check::Kubernetes(without_instance),
    },
    Rule {
        id: "instance-without-node",
        title: "a tagged instance is no Node",
        severity: RuleSeverity::always(Severity::Info),
        resources: &[ResourceKind::Instance],
        condition: "A live, running instance carries the cluster tag for more than 15 minutes and no Node names it. Bastions of kOps and Cluster API are left out.",
        impact: "nothing by itself: the kubelet has not registered, or the machine is not meant to be a node",
        fix: "Look at the kubelet on the instance.",
        applicability: Applicability::None,
        sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName"],
        example: "instance `i-0a` carries the cluster tag, and no Node names it",
        reads: &[INSTANCES],
        subjects: Subjects::Members,
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
        .filter(|instance| instance.state != InstanceState::Terminated)
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

fn name_mismatch(context: &Context<'_>, _: &[KubernetesNode]) -> Checked {
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
            // Nobody deletes a Node whose instance is gone when nothing says which instance it was.
            let is_at = |address: &String| {
                let instances = context.view.regions.iter().flat_map(|region| &region.region.instances);
                instances.into_iter().any(|instance| {
                    instance.state.is_live() && instance.private_ip_address.as_deref() == Some(address.as_str())
                })
            };
            let addresses = &node.internal_addresses;
            let is_gone = fits == 0 && near.is_none() && !addresses.is_empty() && !addresses.iter().any(is_at);
            let fix = if is_gone {
                message.push_str(&format!("; no live instance has its address {}", text::list(addresses, 2)));
                Fix::none(if node.is_embedded_etcd_member() {
                    "the machine is gone and the controller never deletes such a Node: check with an etcd snapshot at hand that the member is gone for good, then `kubectl delete node`"
                } else {
                    "the machine is gone and the controller never deletes such a Node: `kubectl delete node`"
                })
            } else {
                Fix::none(
                    "set the Node name to the private DNS name (kubelet --hostname-override), or to the instance id",
                )
            };
            Violation::new(Severity::Error, resource(node), message, fix)
        })
        .collect()
}

/// What replacing a Node needs, where deleting it does more than that.
fn replacing(nodes: &[&KubernetesNode]) -> &'static str {
    if nodes.iter().any(|node| node.is_embedded_etcd_member()) {
        "replace the nodes, workers first; take an etcd snapshot, then replace servers one at a time: deleting the Node of a server by itself removes it from etcd"
    } else {
        "replace the node: drain it, delete the Node, and let the kubelet of the new machine register"
    }
}

fn provider_id_invalid(_: &Context<'_>, nodes: &[KubernetesNode]) -> Checked {
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
            Violation::new(Severity::Error, resource(node), message, Fix::none(replacing(&[node])))
        })
        .collect()
}

fn wrong_cloud_provider(context: &Context<'_>, nodes: &[KubernetesNode]) -> Checked {
    let embedded: Vec<&KubernetesNode> = nodes
        .iter()
        .filter(|node| matches!(nodes::parse_provider_id(&node.provider_id), Some(ProviderId::Embedded(_))))
        .collect();
    let Some(first) = embedded.first() else { return Checked::clean() };
    let distribution = if first.provider_id.starts_with("rke2://") { "RKE2" } else { "K3s" };
    let message = format!(
        "{} {} a providerID of {distribution}'s own cloud controller, such as `{}`",
        text::count(embedded.len(), "Node"),
        if embedded.len() == 1 { "has" } else { "have" },
        text::printable(&first.provider_id)
    );
    let fix = Fix::none(
        "1. set `disable-cloud-controller: true` on the servers and `cloud-provider=external` for the kubelets; 2. replace the workers one by one; 3. take an etcd snapshot and replace the servers one at a time; never delete the Node of a server by itself, that removes it from etcd",
    );
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id());
    let others = embedded.iter().map(|node| ResourceRef::bare(ResourceKind::Node, &node.name));
    vec![Violation::new(Severity::Error, resource, message, fix).related(others)].into()
}

fn provider_id_without_zone(context: &Context<'_>, nodes: &[KubernetesNode]) -> Checked {
    nodes
        .iter()
        .filter_map(|node| {
            let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
            if nodes::names_its_zone(&node.provider_id) {
                return None;
            }
            let instance = context.view.regions.iter().find_map(|region| region.instance(id))?;
            let has = |prefix: &str| instance.tags.iter().any(|tag| tag.key.starts_with(prefix));
            let manager = if has("karpenter.sh/nodepool") {
                "Karpenter"
            } else if has("k8s.io/cluster-autoscaler/enabled") {
                "the cluster autoscaler"
            } else {
                return None;
            };
            let message = format!(
                "Node `{}` has the providerID `{}`, and {manager} manages its instance",
                text::printable(&node.name),
                text::printable(&node.provider_id)
            );
            let fix = Fix::none(
                "set `aws:///<zone>/<instance id>` as the providerID of the next nodes, and replace this one",
            );
            let related = [ResourceRef::bare(ResourceKind::Instance, id)];
            Some(Violation::new(Severity::Warning, resource(node), message, fix).related(related))
        })
        .collect()
}

fn without_instance(context: &Context<'_>, nodes: &[KubernetesNode]) -> Checked {
    let read: BTreeSet<&str> = context.view.regions.iter().map(|region| region.region.name.as_str()).collect();
    nodes
        .iter()
        .filter_map(|node| {
            let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
            // An instance of a region that was not read is unknown, not gone.
            let path = node.provider_id.strip_prefix("aws://").and_then(|rest| rest.split_once('/'));
            let zone = path.map_or("", |(_, path)| path).split('/').next().unwrap_or_default();
            let in_read_region =
                zone.starts_with("i-") || zone.is_empty() || read.iter().any(|region| zone.starts_with(region));
            let found = context.view.regions.iter().find_map(|region| region.instance(id));
            let (state, severity) = match found {
                Some(instance) if instance.state.is_live() => return None,
                // The controller keeps the Node until the instance is terminated.
                Some(instance) if instance.state == InstanceState::ShuttingDown => ("shutting down", Severity::Info),
                Some(_) => ("terminated", Severity::Warning),
                None if in_read_region => ("not there", Severity::Warning),
                None => return None,
            };
            let message = format!(
                "Node `{}` names instance `{}`, which is {state}",
                text::printable(&node.name),
                text::printable(id)
            );
            let fix = Fix::none(if node.is_embedded_etcd_member() {
                "nothing if the controller runs, it deletes the Node; else check with an etcd snapshot at hand that the member is gone for good, then `kubectl delete node`"
            } else {
                "nothing if the controller runs, it deletes the Node; else `kubectl delete node`"
            });
            Some(
                Violation::new(severity, resource(node), message, fix)
                    .related([ResourceRef::bare(ResourceKind::Instance, id)]),
            )
        })
        .collect()
}

fn instance_without_node(context: &Context<'_>, region: &RegionView<'_>) -> Checked {
    if context.view.nodes.is_none() {
        return Checked::NotApplicable(super::subjects::NODES_NOT_GIVEN);
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
            && member.instance.state == InstanceState::Running
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
