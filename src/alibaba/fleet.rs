//! Assignment of Nodes to a cluster of an account, for scans of many clusters.

use std::collections::BTreeSet;

use crate::membership::NodesPlace;
use crate::nodes::KubernetesNode;

use super::inventory::Inventory;
use super::provider_id::{self, ProviderId, looks_like_one};
use super::view::cluster_ids;

/// Finds the cluster of which most instances are Nodes. Only ids of instances count, with their region: names and
/// addresses repeat in other accounts.
#[must_use]
pub(crate) fn place_of_nodes(inventory: &Inventory, nodes: &[KubernetesNode]) -> NodesPlace {
    let named: BTreeSet<(&str, &str)> = nodes.iter().filter_map(named_instance).collect();
    if named.is_empty() {
        return NodesPlace::Unnamed;
    }
    let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
    let own = regions.flat_map(|region| {
        let instances = region.instances.iter();
        instances.filter(|instance| named.contains(&(region.name.as_str(), instance.id.as_str())))
    });
    let clusters: Vec<BTreeSet<&str>> = own.map(|instance| cluster_ids(&instance.tags).collect()).collect();
    NodesPlace::of_instances(&clusters)
}

/// True if a Node names an instance of ECS.
#[must_use]
pub(crate) fn names_instances(nodes: &[KubernetesNode]) -> bool {
    nodes.iter().any(|node| named_instance(node).is_some())
}

/// Region and id of the instance that a Node names. The controller reads any text with a dot, but instances are `i-…`.
fn named_instance(node: &KubernetesNode) -> Option<(&str, &str)> {
    match provider_id::parse(&node.provider_id) {
        Some(ProviderId::Instance { region, id, .. }) => id.starts_with("i-").then_some((region, id)),
        Some(ProviderId::Hybrid) => None,
        None => looks_like_one(&node.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alibaba::{Cluster, KEY, WORKER};
    use crate::testing::tag;

    fn nodes(ids: &[&str]) -> Vec<KubernetesNode> {
        let node = |id: &&str| KubernetesNode { provider_id: (*id).to_owned(), ..KubernetesNode::default() };
        ids.iter().map(node).collect()
    }

    #[test]
    fn nodes_belong_to_the_cluster_of_their_instances() {
        let mut cluster = Cluster::new();
        let worker = format!("cn-hangzhou.{WORKER}");
        let place = |cluster: &Cluster, ids: &[&str]| place_of_nodes(&cluster.inventory, &nodes(ids));
        tag(&mut cluster.instance(WORKER).tags, KEY, "prod");
        assert_eq!(place(&cluster, &[&worker, "cn-hangzhou.i-gone"]), NodesPlace::Clusters(["prod".to_owned()].into()));
        let prefixed = format!("alicloud://{worker}");
        assert_eq!(place(&cluster, &[&prefixed]), NodesPlace::Clusters(["prod".to_owned()].into()));
        cluster.instance(WORKER).tags.clear();
        assert_eq!(place(&cluster, &[&worker]), NodesPlace::Untagged(1));
        // The id alone does not name an instance, and ids repeat in no region.
        assert_eq!(place(&cluster, &[&format!("cn-beijing.{WORKER}")]), NodesPlace::Elsewhere);
        for unnamed in [WORKER, "aws:///us-east-1a/i-0a", "ack-hybrid://x/y", "", "www.example.com"] {
            assert_eq!(place(&cluster, &[unnamed]), NodesPlace::Unnamed, "{unnamed}");
        }
    }
}
