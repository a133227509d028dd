//! Kubernetes Nodes compared with instances; all of these rules need `--nodes`.

use jiff::SignedDuration;

use super::Rule;
use super::aws::Context;
use crate::aws::{Instance, InstanceState};
use crate::finding::ResourceRef;
use crate::inventory::Read;
use crate::nodes::{self, KubernetesNode, NETWORK_UNAVAILABLE, ProviderId};
use crate::resource::ResourceKind;
use crate::tags;

mod ccm_wrong_cloud_provider;
mod instance_without_node;
mod node_address_of_another_instance;
mod node_deletion_taint_stale;
mod node_name_mismatch;
mod node_network_unavailable;
mod node_provided_ip_mismatch;
mod node_provider_id_invalid;
mod node_provider_id_shared;
mod node_provider_id_without_zone;
mod node_provider_id_zone_mismatch;
mod node_shutdown_taint_stale;
mod node_without_instance;
mod node_zone_label_mismatch;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/node.rs"));

const NODE: &[ResourceKind] = &[ResourceKind::Node];

const INSTANCES: Read = Read::DescribeInstances;

fn resource(node: &KubernetesNode) -> ResourceRef {
    ResourceRef::bare(ResourceKind::Node, &node.name)
}

/// The instance that the providerID of a Node names, with its region, if it was read.
fn provider_id_instance<'a>(context: &'a Context<'_>, node: &KubernetesNode) -> Option<(&'a str, &'a Instance)> {
    let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
    let mut found = context.view.regions.iter().filter_map(|region| Some((region, region.instance(id)?)));
    found.next().map(|(region, instance)| (region.region.name.as_str(), instance))
}

/// The instance of a Node, if the controller finds one: by its providerID, or by its name if it has none.
fn instance_found_for<'a>(context: &'a Context<'_>, node: &KubernetesNode) -> Option<&'a Instance> {
    if !node.provider_id.is_empty() {
        return provider_id_instance(context, node).map(|(_, instance)| instance);
    }
    if let Some(id) = nodes::instance_id_in_name(&node.name) {
        return context.view.regions.iter().find_map(|region| region.instance(id));
    }
    match by_dns_name(context, &node.name).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// Live instances with the cluster tag that the controller would find for a name by private DNS name.
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

/// Time that the network of a new Node may take.
pub(super) const NETWORK_GRACE: SignedDuration = SignedDuration::from_mins(10);

/// The taint of a Node without network, or its condition.
pub(super) fn on_network(node: &KubernetesNode) -> &'static str {
    if node.taints.iter().any(|taint| taint.key == NETWORK_UNAVAILABLE) {
        "the taint node.kubernetes.io/network-unavailable"
    } else {
        "the condition NetworkUnavailable"
    }
}
