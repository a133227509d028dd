//! Nodes that contradict the lists of the cloud: their instances were not requested, or are missing from a list that
//! must hold them.

use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::{ClusterView, RegionView};
use crate::inventory::{Gap, REASON_CONTRADICTED, REASON_NOT_PROVIDED, REASON_NOTHING_SEEN, Read};
use crate::membership::Apart;
use crate::nodes::{self, ProviderId};
use crate::text;

/// The instances of one region that Nodes name.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    /// Nodes that name one.
    pub(super) nodes: usize,
    /// Instances that the list of the region lacks.
    pub(super) missing: BTreeSet<&'a str>,
}

/// The state of the list of instances of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// Its instances were not requested.
    NotAsked,
    /// A gap already marks the list as incomplete.
    Incomplete,
    /// The list is complete and holds no instance.
    Empty,
    /// The list is complete.
    Whole,
}

/// Gaps of instance lists that contradict the Nodes. A few Nodes whose instance was terminated are a fact, which a rule
/// covers; if most are missing, the list is from another account, region or filter, or the Nodes belong to another
/// cluster.
pub(super) fn gaps(read: Read, named: BTreeMap<&str, Named<'_>>, listing: impl Fn(&str) -> Listing) -> Vec<Gap> {
    let gap = |region: &str, reason: &str, message: String| Gap {
        read,
        account_id: None,
        region: Some(region.to_owned()),
        resource: None,
        policy: None,
        reason: reason.to_owned(),
        message,
    };
    let of_region = |(region, named): (&str, Named<'_>)| {
        let nodes = text::count(named.nodes, "Node");
        let verb = if named.nodes == 1 { "names an instance" } else { "name instances" };
        match listing(region) {
            Listing::NotAsked => {
                let message = format!("{nodes} {verb} there, but the region was not read: name it with --region");
                Some(gap(region, REASON_NOT_PROVIDED, message))
            }
            Listing::Empty if !named.missing.is_empty() => {
                let message = format!(
                    "the response holds no instance, but {nodes} {verb} there: the caller may not be allowed to see any"
                );
                Some(gap(region, REASON_NOTHING_SEEN, message))
            }
            Listing::Whole if named.missing.len() * 2 > named.nodes => {
                let missing: Vec<&str> = named.missing.iter().copied().collect();
                let message = format!(
                    "{nodes} {verb} there, but the list lacks {}: it was filtered or is from another account, or the Nodes belong to another cluster",
                    text::list(&missing, 3)
                );
                Some(gap(region, REASON_CONTRADICTED, message))
            }
            Listing::Incomplete | Listing::Empty | Listing::Whole => None,
        }
    };
    named.into_iter().filter_map(of_region).collect()
}

/// Gaps of the instance lists of AWS. Nodes without a providerID count if no instance was seen at all: each of them is
/// one.
pub(super) fn aws_gaps(view: &ClusterView<'_>) -> Vec<Gap> {
    let given = view.nodes.unwrap_or_default();
    let read_regions: BTreeSet<&str> = view.regions.iter().map(|region| region.region.name.as_str()).collect();
    let here = |name: &str| -> Vec<&RegionView<'_>> {
        view.regions.iter().filter(|region| region.region.name == name).collect()
    };
    let mut named: BTreeMap<&str, Named<'_>> = BTreeMap::new();
    for node in given {
        let id = match nodes::parse_provider_id(&node.provider_id) {
            Some(ProviderId::Instance(id)) => Some(id),
            None if node.provider_id.is_empty() => None,
            Some(ProviderId::Fargate(_) | ProviderId::Hybrid(_) | ProviderId::Embedded(_)) | None => continue,
        };
        // An instance that was read exists, whatever zone its Node names.
        let found = id.and_then(|id| view.regions.iter().find(|one| one.region.instance(id).is_some()));
        if let Some(found) = found {
            named.entry(&found.region.name).or_default().nodes += 1;
            continue;
        }
        let zone = node.provider_id.rsplit('/').nth(1).unwrap_or_default();
        let region = read_regions.iter().find(|region| !zone.is_empty() && zone.starts_with(**region)).copied();
        let only = || read_regions.first().copied().filter(|_| read_regions.len() == 1 && !nodes::is_zone(zone));
        let Some(region) = region.or_else(only).or_else(|| nodes::region_from_zone(zone)) else { continue };
        let entry = named.entry(region).or_default();
        match id {
            Some(id) => {
                entry.nodes += 1;
                if !here(region).iter().any(|one| one.region.gone.iter().any(|gone| gone == id)) {
                    entry.missing.insert(id);
                }
            }
            // The instance is unknown, but it exists.
            None if here(region).iter().all(|one| one.region.instances.is_empty()) => {
                entry.nodes += 1;
                entry.missing.insert(&node.name);
            }
            None => {}
        }
    }
    named.retain(|_, one| one.nodes > 0);
    let mut found = gaps(Read::DescribeInstances, named, |region| {
        let is_said = view.inventory.gaps.iter().any(|gap| {
            gap.read == Read::DescribeInstances
                && gap.concerns_list()
                && gap.region.as_deref().is_none_or(|name| name == region)
        });
        if is_said {
            Listing::Incomplete
        } else if !read_regions.contains(region) {
            Listing::NotAsked
        } else if here(region).iter().all(|one| one.region.instances.is_empty()) {
            Listing::Empty
        } else {
            Listing::Whole
        }
    });
    found.extend(view.apart().map(|apart| contradiction(Read::DescribeInstances, &apart)));
    found
}

/// Gap of Nodes that have no instance in common with the cluster's tag: it is unknown which of the two belongs to the
/// cluster.
pub(super) fn contradiction(read: Read, apart: &Apart) -> Gap {
    Gap {
        read,
        account_id: None,
        region: None,
        resource: None,
        policy: None,
        reason: REASON_CONTRADICTED.to_owned(),
        message: format!("{apart}: check that --cluster-id and the Nodes belong to one cluster"),
    }
}
