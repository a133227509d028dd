//! Security groups of the nodes, and the choice that a plan leaves among them.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::Region;
use crate::aws::view::ClusterView;
use crate::tags;
use crate::transition::Target;

/// Security groups of the nodes at instance level, by region and node. Every intermediate state of the plan must leave
/// the controllers one group to choose.
#[derive(Default)]
pub(super) struct NodeGroups {
    nodes: BTreeMap<(String, String), Vec<String>>,
}

/// Choice among the security groups of a node, by how many are tagged.
#[derive(PartialEq, Eq, Clone, Copy)]
enum GroupChoice {
    One,
    NoneOfSeveral,
    Several,
}

impl NodeGroups {
    pub(super) fn new(view: &ClusterView<'_>) -> Self {
        let mut nodes = BTreeMap::new();
        for region in &view.regions {
            for member in &region.members {
                let key = (region.region.name.clone(), member.instance.id.clone());
                nodes.insert(key, member.instance.security_groups.clone());
            }
        }
        Self { nodes }
    }

    fn nodes_with_group<'s>(&'s self, target: &'s Target) -> impl Iterator<Item = (&'s str, &'s [String])> {
        let nodes = self
            .nodes
            .iter()
            .filter(|((region, _), groups)| Some(region) == target.region.as_ref() && groups.contains(&target.id));
        nodes.map(|((_, id), groups)| (id.as_str(), groups.as_slice()))
    }

    /// Other groups on the nodes that have this one.
    pub(super) fn siblings<'s>(&'s self, target: &'s Target) -> BTreeSet<&'s str> {
        let all = self.nodes_with_group(target).flat_map(|(_, groups)| groups.iter().map(String::as_str));
        all.filter(|id| *id != target.id).collect()
    }

    /// Describes a node that a change of a group's tags would leave without one group to choose.
    pub(super) fn broken(&self, target: &Target, cluster_id: &str, before: &Region, after: &Region) -> Option<String> {
        let choice = |region: &Region, groups: &[String]| -> GroupChoice {
            let tagged = groups
                .iter()
                .filter(|id| region.tags_of(id).is_some_and(|held| tags::has_cluster_tag(held, cluster_id)))
                .count();
            match (tagged, groups.len()) {
                (1, _) | (0, 0 | 1) => GroupChoice::One,
                (0, _) => GroupChoice::NoneOfSeveral,
                _ => GroupChoice::Several,
            }
        };
        self.nodes_with_group(target).find_map(|(node, groups)| {
            let (from, to) = (choice(before, groups), choice(after, groups));
            let what = match to {
                GroupChoice::One => return None,
                _ if to == from => return None,
                GroupChoice::Several => "several tagged security groups",
                GroupChoice::NoneOfSeveral => "several security groups and none of them tagged",
            };
            Some(format!("instance {node} would have {what}"))
        })
    }
}
