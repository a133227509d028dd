//! Safety of fixes in Alibaba Cloud. A rule states the fix of a finding; this module decides whether it may run without
//! confirmation.

use std::collections::BTreeSet;

use crate::alibaba::view::{SCALING_GROUP_TAG, STACK_TAG, cluster_ids};
use crate::alibaba::{CLUSTER_TAG, ClusterView, Evidence, Member, RegionView, TAG_QUOTA, provider_id};
use crate::finding::{Applicability, Caveat};
use crate::inventory::Read;
use crate::tags::{self, Tag};
use crate::text;
use crate::transition::{Transition, Value};

use crate::rules::violation::Violation;

/// Manager that re-creates a resource from its own template, as far as tags show it. Terraform leaves no mark.
fn manager(resource_tags: &[Tag]) -> Option<String> {
    let value = |key: &str| tags::value(resource_tags, key).map(text::printable);
    let stack = value(STACK_TAG).map(|stack| format!("the ROS stack `{stack}`"));
    stack.or_else(|| value(SCALING_GROUP_TAG).map(|group| format!("the scaling group `{group}`")))
}

/// Caveats about the resources of a fix. A `safe` fix that is not provably safe becomes one to confirm.
pub(in crate::rules) fn check(violation: &mut Violation, view: &ClusterView<'_>) -> Vec<Caveat> {
    let mut caveats: BTreeSet<Caveat> = BTreeSet::new();
    let mut is_safe = true;
    let mut managers: BTreeSet<String> = BTreeSet::new();
    let account = violation.resource.account_id.clone().unwrap_or_default();
    for change in &violation.fix.changes {
        let (Some((region, member)), Some((key, Some(Value::Text(value))))) =
            (find(view, &account, change), change.tag())
        else {
            is_safe = false;
            continue;
        };
        let held = &member.instance.tags;
        managers.extend(manager(held));
        // Another id on a machine of the same list of Nodes means that this id is the wrong one.
        let listed = view.members().filter(|one| one.node.is_some());
        let listed = listed.filter_map(|one| tags::value(&one.instance.tags, CLUSTER_TAG));
        let others: BTreeSet<String> =
            cluster_ids(held).chain(listed).filter(|id| *id != view.cluster_id).map(str::to_owned).collect();
        if !others.is_empty() {
            caveats.insert(Caveat::TaggedForOthers(others.into_iter().collect()));
        }
        match member.node {
            None => {
                caveats.insert(Caveat::NotNamedByNodes);
            }
            // Machines elsewhere may have the address too: a match in another VPC proves nothing.
            Some(_) if !is_in_known_vpc(view, region, member) => {
                caveats.insert(Caveat::NamedByAddress);
            }
            Some(_) if !has_certain_member(view) => {
                caveats.insert(Caveat::NoCertainMember);
            }
            Some(node)
                if !node.internal_addresses.iter().any(|one| member.instance.private_addresses.contains(one)) =>
            {
                caveats.insert(Caveat::NamedByIdAlone);
            }
            Some(_) => {}
        }
        is_safe &= key == CLUSTER_TAG
            && *value == view.cluster_id
            && tags::value(held, key).is_none()
            && held.len() < TAG_QUOTA
            && !is_unread(view, &account);
    }
    if !managers.is_empty() {
        caveats.insert(Caveat::ManagedBy(managers.into_iter().collect()));
    }
    if violation.fix.applicability == Applicability::Safe && !(is_safe && caveats.is_empty()) {
        violation.fix.applicability = Applicability::Confirm;
    }
    caveats.into_iter().collect()
}

fn find<'v, 'a>(
    view: &'v ClusterView<'a>,
    account: &str,
    change: &Transition,
) -> Option<(&'v RegionView<'a>, &'v Member<'a>)> {
    let here =
        |region: &&RegionView<'_>| region.account.account_id == account && region.region.name == change.target.region();
    let region = view.regions.iter().find(here)?;
    Some((region, region.members.iter().find(|member| member.instance.id == change.target.id)?))
}

/// True if the VPC of an instance has all nodes that are certainly the cluster's, because they have its tag or a
/// providerID names them, and there is at least one. The controller searches one VPC.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP`.
fn is_in_known_vpc(view: &ClusterView<'_>, region: &RegionView<'_>, member: &Member<'_>) -> bool {
    let names = |one: &Member<'_>| one.node.is_some_and(|node| provider_id::parse(&node.provider_id).is_some());
    let is_known = |one: &&Member<'_>| one.evidence == Evidence::ClusterTag || names(one);
    let places = view.regions.iter().flat_map(|here| {
        let known = here.members.iter().filter(is_known);
        known.map(move |one| (here.region.name.as_str(), one.instance.vpc_id.as_deref()))
    });
    let places: BTreeSet<(&str, Option<&str>)> = places.collect();
    let here = (region.region.name.as_str(), member.instance.vpc_id.as_deref());
    here.1.is_some() && places.len() == 1 && places.contains(&here)
}

/// True if an instance has the cluster's tag and is one of the Nodes, so that both belong to one cluster.
fn has_certain_member(view: &ClusterView<'_>) -> bool {
    view.members().any(|member| member.evidence == Evidence::ClusterTag && member.node.is_some())
}

/// True if instances of the account are unknown: one of them may have the same address.
fn is_unread(view: &ClusterView<'_>, account: &str) -> bool {
    view.inventory.gaps.iter().any(|gap| gap.read == Read::EcsDescribeInstances && gap.concerns_account(account))
}
