//! Certainty that Nodes and instances belong to one cluster. A finding relies on a Node alone; a write without consent
//! needs two witnesses, because anyone who can create a Node, or provide the wrong file, can name any instance of the
//! account.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::aws::Instance;
use crate::membership::Apart;
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::tags;

use super::{ClusterView, Member, instance_clusters};

impl Member<'_> {
    /// True if it has the cluster's tag and no other cluster's and, if Nodes were given, is one of them.
    pub(super) fn is_certain(&self, cluster_id: &str, nodes_are_given: bool) -> bool {
        let held = &self.instance.tags;
        tags::has_cluster_tag(held, cluster_id)
            && instance_clusters(held).all(|id| id == cluster_id)
            && (!nodes_are_given || self.node.is_some_and(is_ec2_node))
    }

    /// True if its Node identifies it by more than the providerID: by an address of any interface, or by the private
    /// DNS name.
    #[must_use]
    pub fn agrees_with_its_node(&self) -> bool {
        self.node.is_some_and(|node| is_ec2_node(node) && is_told_by_address_or_name(node, self.instance))
    }
}

fn is_told_by_address_or_name(node: &KubernetesNode, instance: &Instance) -> bool {
    if instance.private_dns_name.as_deref().is_some_and(|name| !name.is_empty() && name == node.name) {
        return true;
    }
    let of_interfaces = instance.network_interfaces.iter().filter_map(|one| one.addresses.as_ref());
    let of_interfaces = of_interfaces.flat_map(|one| one.ipv4.iter().chain(&one.ipv6));
    // An IPv6 address has several spellings.
    let own: BTreeSet<IpAddr> =
        of_interfaces.chain(&instance.private_ip_address).filter_map(|address| address.parse().ok()).collect();
    node.internal_addresses
        .iter()
        .filter_map(|address| address.parse().ok())
        .any(|address: IpAddr| own.contains(&address))
}

/// True if a Node is an EC2 instance, as far as the Node shows; Nodes of EKS Hybrid Nodes, Fargate and other providers
/// are not.
fn is_ec2_node(node: &KubernetesNode) -> bool {
    match nodes::parse_provider_id(&node.provider_id) {
        Some(ProviderId::Instance(_)) => true,
        Some(ProviderId::Fargate(_) | ProviderId::Hybrid(_)) => false,
        // The name decides if the providerID is empty, or refers only to the distribution.
        Some(ProviderId::Embedded(_)) | None => {
            let scheme = node.provider_id.split_once("://").map_or("", |(scheme, _)| scheme);
            let is_open = matches!(scheme, "" | "aws" | "rke2" | "k3s");
            is_open && (nodes::instance_id_in_name(&node.name).is_some() || is_private_dns_name(&node.name))
        }
    }
}

/// The instance in a Node's providerID.
fn provider_instance_id(node: &KubernetesNode) -> Option<&str> {
    match nodes::parse_provider_id(&node.provider_id) {
        Some(ProviderId::Instance(id)) => Some(id),
        Some(ProviderId::Fargate(_) | ProviderId::Hybrid(_) | ProviderId::Embedded(_)) | None => None,
    }
}

/// True if a name has the form of EC2's private DNS names (EC2 User Guide, "EC2 instance hostnames and domains").
fn is_private_dns_name(name: &str) -> bool {
    let is_internal = name.ends_with(".ec2.internal") || name.contains(".compute.");
    name.starts_with("ip-") && is_internal
}

impl ClusterView<'_> {
    /// The contradiction between the tag and the Nodes if both name instances and have none in common; `None` if they
    /// share one, or either of them names none.
    #[must_use]
    pub fn apart(&self) -> Option<Apart> {
        let nodes = self.nodes?;
        let is_tagged = |instance: &Instance| tags::has_cluster_tag(&instance.tags, self.cluster_id);
        let tagged: Vec<&Member<'_>> = self.members().filter(|member| is_tagged(member.instance)).collect();
        if tagged.is_empty() || tagged.iter().any(|member| member.node.is_some_and(is_ec2_node)) {
            return None;
        }
        // A bastion with the tag is not a member, but a Node that names it still belongs to this cluster.
        let of_ec2 = nodes.iter().filter(|node| is_ec2_node(node));
        let named: BTreeSet<&str> = of_ec2.map(|node| provider_instance_id(node).unwrap_or(&node.name)).collect();
        let is_named = |one: &Instance| {
            named.contains(one.id.as_str()) || one.private_dns_name.as_deref().is_some_and(|name| named.contains(name))
        };
        let instances = self.regions.iter().flat_map(|region| &region.region.instances);
        if instances.filter(|one| one.state.is_live() && is_named(one)).any(is_tagged) {
            return None;
        }
        let nodes: Vec<String> = nodes.iter().filter(|node| is_ec2_node(node)).map(|node| node.name.clone()).collect();
        let tagged = tagged.iter().map(|member| member.instance.id.clone()).collect();
        (!nodes.is_empty()).then_some(Apart { tagged, nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, provider_id: &str, addresses: &[&str]) -> KubernetesNode {
        KubernetesNode {
            name: name.to_owned(),
            provider_id: provider_id.to_owned(),
            internal_addresses: addresses.iter().map(|&address| address.to_owned()).collect(),
            ..KubernetesNode::default()
        }
    }

    #[test]
    fn ignores_nodes_from_other_providers() {
        for (name, provider_id, expected) in [
            ("a", "aws:///us-east-1a/i-0a", true),
            ("ip-10-0-0-1.ec2.internal", "", true),
            ("ip-10-0-0-1.eu-west-1.compute.internal", "", true),
            ("i-0a.us-east-1.compute.internal", "", true),
            ("worker-1", "", false),
            ("mi-0a", "eks-hybrid:///us-east-1/c/mi-0a", false),
            ("fargate-ip-10-0-0-1.ec2.internal", "aws:///us-east-1a/x/fargate-ip-10-0-0-1.ec2.internal", false),
            ("ip-10-0-0-1.ec2.internal", "gce://p/z/n", false),
        ] {
            assert_eq!(is_ec2_node(&node(name, provider_id, &[])), expected, "{name} {provider_id}");
        }
    }

    #[test]
    fn matches_nodes_by_any_address_or_dns_name() {
        let instance: Instance = serde_json::from_value(serde_json::json!({
            "id": "i-0a", "state": "running", "tags": [], "security_groups": [],
            "private_dns_name": "ip-10-0-0-1.ec2.internal", "private_ip_address": "10.0.0.1",
            "network_interfaces": [{
                "id": "eni-1", "device_index": 1, "security_groups": [],
                "addresses": {"ipv4": ["10.0.1.7"], "ipv6": ["2600:1f18::7"]},
            }],
        }))
        .unwrap();
        for (name, addresses, expected) in [
            ("ip-10-0-0-1.ec2.internal", &[][..], true),
            ("worker-1", &["10.0.0.1"], true),
            ("worker-1", &["192.168.0.1", "10.0.1.7"], true),
            ("worker-1", &["2600:1f18:0:0:0:0:0:7"], true),
            ("worker-1", &["10.0.0.2"], false),
            ("worker-1", &[], false),
        ] {
            assert_eq!(
                is_told_by_address_or_name(&node(name, "", addresses), &instance),
                expected,
                "{name} {addresses:?}"
            );
        }
    }
}
