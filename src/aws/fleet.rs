//! Assignment of Nodes to a cluster of an account, for scans of many clusters.

use std::collections::BTreeSet;

use super::inventory::Inventory;
use super::view::instance_clusters;
use crate::membership::NodesPlace;
use crate::nodes::{self, KubernetesNode, ProviderId};

/// Finds the cluster of which most instances are Nodes. Only ids of instances count, which are unique in all accounts:
/// names and addresses are not.
#[must_use]
pub(crate) fn place_of_nodes(inventory: &Inventory, nodes: &[KubernetesNode]) -> NodesPlace {
    let named: BTreeSet<&str> = nodes.iter().filter_map(instance_id).collect();
    if named.is_empty() {
        return NodesPlace::Unnamed;
    }
    let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
    let own = regions.flat_map(|region| named.iter().filter_map(|id| region.instance(id)));
    let clusters: Vec<BTreeSet<&str>> = own.map(|instance| instance_clusters(&instance.tags).collect()).collect();
    NodesPlace::of_instances(&clusters)
}

/// True if a Node names an instance of EC2.
#[must_use]
pub(crate) fn names_instances(nodes: &[KubernetesNode]) -> bool {
    nodes.iter().any(|node| instance_id(node).is_some())
}

fn instance_id(node: &KubernetesNode) -> Option<&str> {
    match nodes::parse_provider_id(&node.provider_id) {
        Some(ProviderId::Instance(id)) => Some(id),
        Some(ProviderId::Fargate(_) | ProviderId::Hybrid(_)) => None,
        Some(ProviderId::Embedded(_)) | None => nodes::instance_id_in_name(&node.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Tag;
    use crate::testing::aws::{self, KEY, OTHER_KEY};

    fn nodes(ids: &[&str]) -> Vec<KubernetesNode> {
        let node = |id: &&str| KubernetesNode {
            provider_id: format!("aws:///eu-central-1a/{id}"),
            ..KubernetesNode::default()
        };
        ids.iter().map(node).collect()
    }

    fn clusters(ids: &[&str]) -> NodesPlace {
        NodesPlace::Clusters(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn nodes_belong_where_most_of_their_instances_do() {
        let mut cluster = aws::Cluster::new();
        assert_eq!(place_of_nodes(&cluster.inventory, &nodes(&[aws::WORKER, "i-other"])), clusters(&[aws::ID]));
        assert_eq!(place_of_nodes(&cluster.inventory, &nodes(&["i-other"])), NodesPlace::Elsewhere);
        assert_eq!(place_of_nodes(&cluster.inventory, &[]), NodesPlace::Unnamed);
        let fargate = KubernetesNode {
            provider_id: "aws:///eu-central-1a/1b2c-3d4e/fargate-ip-10-0-0-1.eu-central-1.compute.internal".to_owned(),
            ..KubernetesNode::default()
        };
        assert_eq!(place_of_nodes(&cluster.inventory, &[fargate]), NodesPlace::Unnamed);

        let own = |cluster: &mut aws::Cluster, id: &str, key: &str| {
            let instance = cluster.region().instances.iter_mut().find(|instance| instance.id == id).unwrap();
            instance.tags = vec![Tag { key: key.to_owned(), value: "owned".to_owned() }];
        };
        own(&mut cluster, aws::WORKER, OTHER_KEY);
        assert_eq!(place_of_nodes(&cluster.inventory, &nodes(&[aws::WORKER])), clusters(&["staging"]));
        assert_eq!(
            place_of_nodes(&cluster.inventory, &nodes(&[aws::WORKER, aws::SERVER])),
            clusters(&[aws::ID, "staging"])
        );
        own(&mut cluster, aws::SERVER, KEY);
        own(&mut cluster, aws::WORKER, "Name");
        assert_eq!(place_of_nodes(&cluster.inventory, &nodes(&[aws::WORKER])), NodesPlace::Untagged(1));
        assert_eq!(place_of_nodes(&cluster.inventory, &nodes(&[aws::WORKER, aws::SERVER])), clusters(&[aws::ID]));
    }
}
