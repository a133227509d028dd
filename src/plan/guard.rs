//! Reasons to refuse a plan: limits of the clouds, gaps in the evidence, and findings that it would create.

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba;
use crate::estate::EstateRef;
use crate::finding::{Finding, Severity};
use crate::inventory::{Gap, Inventory, Provider, Read, Region};
use crate::resource::ResourceKind;
use crate::rules;
use crate::tags;
use crate::text;
use crate::transition::{Attribute, Target, Transition};
use crate::view::{ClusterView, Neighbour, instance_clusters};

use super::PlannedChange;
use super::state::Observed;

/// Longest tag key (EC2 API model, `Tag`; the User Guide states 128).
pub(super) const MAX_KEY: usize = 127;
/// Longest tag value (EC2 API model, `Tag`).
pub(super) const MAX_VALUE: usize = 256;

/// Longest tag value in ECS (ECS 2014-05-26, `TagResources`, `Tag.N.Value`).
const MAX_ECS_VALUE: usize = 128;

/// Reason ECS would refuse a tag. Source: ECS 2014-05-26, `TagResources`, `Tag.N`.
fn ecs_limit(new: Option<&crate::transition::Value>, found: &Observed) -> Option<String> {
    let value = new?.to_string();
    let begins = |prefix: &str| value.get(..prefix.len()).is_some_and(|text| text.eq_ignore_ascii_case(prefix));
    if value.chars().count() > MAX_ECS_VALUE {
        return Some(format!("an ECS tag value has at most {MAX_ECS_VALUE} characters"));
    }
    if begins("aliyun") || begins("acs:") || value.contains("http://") || value.contains("https://") {
        return Some(format!("ECS accepts no tag value like `{}`", text::printable(&value)));
    }
    if found.value.is_none() && found.free_tag_slots == Some(0) {
        return Some(format!("it has {} tags already, as many as ECS allows", alibaba::TAG_QUOTA));
    }
    None
}

/// Reason the cloud would refuse a transition; `None` if none is known.
pub(super) fn limit(transition: &Transition, found: &Observed) -> Option<String> {
    let (key, new) = transition.tag()?;
    if transition.target.provider == Provider::Alibaba {
        return ecs_limit(new, found);
    }
    if key.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("aws:")) {
        return Some(format!("only AWS sets and removes tags like `{}`", text::printable(key)));
    }
    let length = new?.to_string().chars().count();
    if key.is_empty() || key.chars().count() > MAX_KEY {
        return Some(format!("a tag key has 1 to {MAX_KEY} characters, but this one has {}", key.chars().count()));
    }
    if length > MAX_VALUE {
        return Some(format!("a tag value has at most {MAX_VALUE} characters"));
    }
    if found.value.is_none() && found.free_tag_slots == Some(0) {
        return Some(format!("it has {} tags already, as many as EC2 allows", crate::tags::QUOTA));
    }
    if transition.target.kind == ResourceKind::Instance
        && found.instance_metadata_tags.as_deref() == Some("enabled")
        && key.contains(['/', ' '])
    {
        return Some(
            "with instance metadata tags on, EC2 accepts no key with a slash: --allow imds-instance-tags-enabled first"
                .to_owned(),
        );
    }
    None
}

/// Gap in the evidence that a change depends on; `is_added` states that there was no value before.
pub(super) fn touching<'g>(
    gaps: &'g [Gap],
    account_id: &str,
    target: &Target,
    attribute: &Attribute,
    is_added: bool,
) -> Option<&'g Gap> {
    let of_account = |gap: &Gap| gap.concerns_account(account_id);
    let here = |gap: &Gap| gap.region.is_none() || gap.region == target.region;
    let (nodes, listed): (&[Read], &[Read]) = match target.provider {
        Provider::Aws => (&[Read::DescribeInstances], &[Read::DescribeInstances, Read::DescribeSecurityGroups]),
        Provider::Alibaba => {
            (&[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole], &[Read::EcsDescribeInstances])
        }
    };
    gaps.iter().filter(|gap| of_account(gap)).find(|gap| {
        if attribute.is_iam() {
            let role = gap.resource.as_deref().is_none_or(|resource| resource.ends_with(&format!("/{}", target.id)));
            // The nodes of a role are read from EC2 or ECS, in every region.
            return (gap.read.is_iam() && role) || (gap.concerns_list() && nodes.contains(&gap.read));
        }
        let of_it = here(gap) && gap.resource.as_deref() == Some(target.id.as_str());
        let Attribute::Tag { key } = attribute else { return of_it };
        let own = target.kind.listed_by().filter(|_| target.provider == Provider::Aws);
        // A policy condition on a cluster tag can be ruled out only if all policies were read.
        let condition = gap.read.is_iam() && tags::is_membership(key);
        of_it
            || (here(gap) && gap.concerns_list() && (listed.contains(&gap.read) || own == Some(gap.read)))
            // Adding a tag breaks no condition on it.
            || (condition && !is_added)
    })
}

/// Security groups of the nodes at instance level, by region and node. Every intermediate state of the plan must leave
/// the controllers one group to choose.
#[derive(Default)]
pub(super) struct NodeGroups {
    nodes: BTreeMap<(String, String), Vec<String>>,
}

/// Choice among the security groups of a node, by how many are tagged.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Choice {
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
        let choice = |region: &Region, groups: &[String]| -> Choice {
            let tagged = groups
                .iter()
                .filter(|id| region.tags_of(id).is_some_and(|held| tags::has_cluster_tag(held, cluster_id)))
                .count();
            match (tagged, groups.len()) {
                (1, _) | (0, 0 | 1) => Choice::One,
                (0, _) => Choice::NoneOfSeveral,
                _ => Choice::Several,
            }
        };
        self.nodes_with_group(target).find_map(|(node, groups)| {
            let (from, to) = (choice(before, groups), choice(after, groups));
            let what = match to {
                Choice::One => return None,
                _ if to == from => return None,
                Choice::Several => "several tagged security groups",
                Choice::NoneOfSeveral => "several security groups and none of them tagged",
            };
            Some(format!("instance {node} would have {what}"))
        })
    }
}

/// Findings after a plan that were absent or less severe before. Findings are compared by rule and resource, since
/// their wording changes with what they cover. A finding that replaces a more severe one on the same resource does not
/// count; `is_own` states that the findings belong to the cluster of the plan.
#[must_use]
pub fn created(before: &[Finding], mut after: Vec<Finding>, is_own: bool) -> Vec<Finding> {
    if !is_own {
        after.retain(|finding| rules::find(finding.rule).is_none_or(|rule| !rule.spares_neighbours));
    }
    let by_resource = |findings: &[Finding]| {
        let mut worst: BTreeMap<(&'static str, String), Severity> = BTreeMap::new();
        for finding in findings {
            for id in resources(finding) {
                let severity = worst.entry((finding.rule, id.to_owned())).or_insert(finding.severity);
                *severity = (*severity).max(finding.severity);
            }
        }
        worst
    };
    let (known, now) = (by_resource(before), by_resource(&after));
    let mut fixed: BTreeMap<&str, Severity> = BTreeMap::new();
    for (key, severity) in known.iter().filter(|(key, _)| !now.contains_key(*key)) {
        let worst = fixed.entry(&key.1).or_insert(*severity);
        *worst = (*worst).max(*severity);
    }
    let is_new = |finding: &Finding| {
        resources(finding).any(|id| {
            let new = known.get(&(finding.rule, id.to_owned())).is_none_or(|severity| *severity < finding.severity);
            new && fixed.get(id).is_none_or(|severity| *severity <= finding.severity)
        })
    };
    after.into_iter().filter(is_new).collect()
}

fn resources(finding: &Finding) -> impl Iterator<Item = &str> {
    let same = finding.related.iter().filter(|related| related.kind == finding.resource.kind);
    std::iter::once(finding.resource.id.as_str()).chain(same.map(|related| related.id.as_str()))
}

/// Other clusters that a plan could harm: those named on the changed resources, or with nodes in the same VPC.
pub(super) fn neighbours(estate: EstateRef<'_>, own: &str, changes: &[&PlannedChange]) -> BTreeSet<String> {
    match estate {
        EstateRef::Aws(inventory) => aws_neighbours(inventory, own, changes),
        EstateRef::Alibaba(inventory) => {
            let vpcs: BTreeSet<&str> = changes.iter().filter_map(|change| change.expect.vpc_id.as_deref()).collect();
            let touched: BTreeSet<&str> = changes.iter().map(|change| change.transition.target.id.as_str()).collect();
            let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
            let near = regions.flat_map(|region| &region.instances).filter(|instance| {
                touched.contains(instance.id.as_str())
                    || instance.vpc_id.as_deref().is_some_and(|vpc| vpcs.contains(vpc))
            });
            let ids = near.flat_map(|instance| alibaba::view::cluster_ids(&instance.tags));
            ids.filter(|id| *id != own).map(str::to_owned).collect()
        }
    }
}

fn aws_neighbours(inventory: &Inventory, own: &str, changes: &[&PlannedChange]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for region in inventory.accounts.iter().flat_map(|account| &account.regions) {
        let touched: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.transition.target.region.as_ref() == Some(&region.name))
            .map(|change| change.transition.target.id.as_str())
            .collect();
        if touched.is_empty() {
            continue;
        }
        let vpcs: BTreeSet<&str> = changes
            .iter()
            .filter_map(|change| change.expect.vpc_id.as_deref())
            .chain(touched.iter().copied())
            .collect();
        for id in &touched {
            found.extend(region.tags_of(id).into_iter().flat_map(instance_clusters).map(str::to_owned));
        }
        let all = crate::view::neighbours_by_vpc(region, own);
        let near = all.into_iter().filter(|(vpc, _)| vpcs.contains(vpc)).flat_map(|(_, here)| here.into_keys());
        found.extend(near.filter_map(|neighbour| match neighbour {
            Neighbour::Cluster(name) => Some(name),
            Neighbour::LoadBalancer(_) | Neighbour::Unnamed(_) => None,
        }));
    }
    found.retain(|id| id != own && !tags::is_slip(id, own));
    found
}
