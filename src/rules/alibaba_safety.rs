//! What a fix in Alibaba Cloud has to be careful about. A rule says what would fix the finding; here it is decided whether that may
//! happen without asking.

use std::collections::BTreeSet;

use crate::alibaba::view::{SCALING_GROUP_TAG, cluster_ids};
use crate::alibaba::{CLUSTER_TAG, ClusterView, Evidence, Member, RegionView, TAG_QUOTA, provider_id};
use crate::finding::{Applicability, Caveat};
use crate::inventory::Read;
use crate::tags::{self, Tag};
use crate::text;
use crate::transition::{Transition, Value};

use super::Violation;

/// System tag of what a stack of the Resource Orchestration Service makes. It is documented in no page that was read; where it is not
/// set, nothing is said.
const STACK_TAG: &str = "acs:ros:stackId";

/// Who makes a resource again from a template of its own, as far as tags tell. Terraform leaves no mark.
fn manager(resource_tags: &[Tag]) -> Option<String> {
    let value = |key: &str| tags::value(resource_tags, key).map(text::printable);
    let stack = value(STACK_TAG).map(|stack| format!("the ROS stack `{stack}`"));
    stack.or_else(|| value(SCALING_GROUP_TAG).map(|group| format!("the scaling group `{group}`")))
}

/// What the operator has to know about the resources of a fix; takes `safe` from it where that is not provable.
pub(super) fn check(violation: &mut Violation, view: &ClusterView<'_>) -> Vec<Caveat> {
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
        let others: BTreeSet<String> =
            cluster_ids(held).filter(|id| *id != view.cluster_id).map(str::to_owned).collect();
        if !others.is_empty() {
            caveats.insert(Caveat::TaggedForOthers(others.into_iter().collect()));
        }
        match member.node {
            None => {
                caveats.insert(Caveat::NotNamedByNodes);
            }
            // Machines elsewhere may have the address too: that of another VPC says nothing.
            Some(_) if !is_in_known_vpc(region, member) => {
                caveats.insert(Caveat::NamedByAddress);
            }
            Some(_) => {}
        }
        is_safe &= key == CLUSTER_TAG
            && *value == view.cluster_id
            && tags::value(held, key).is_none()
            && held.len() < TAG_QUOTA
            && !is_unread(view, &account, &region.region.name);
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

/// Whether a node that is the cluster's beyond doubt is in the VPC of an instance: one with the tag of the cluster, or that a providerID
/// names. The controller looks in one VPC.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP`.
fn is_in_known_vpc(region: &RegionView<'_>, member: &Member<'_>) -> bool {
    let names = |one: &Member<'_>| one.node.is_some_and(|node| provider_id::parse(&node.provider_id).is_some());
    let is_known = |one: &&Member<'_>| one.evidence == Evidence::ClusterTag || names(one);
    let vpc = member.instance.vpc_id.as_deref();
    vpc.is_some() && region.members.iter().filter(is_known).any(|one| one.instance.vpc_id.as_deref() == vpc)
}

/// Whether instances of the region are unknown: one of them may have the address as well.
fn is_unread(view: &ClusterView<'_>, account: &str, region: &str) -> bool {
    view.inventory.gaps.iter().any(|gap| {
        gap.read == Read::EcsDescribeInstances
            && gap.is_of_account(account)
            && gap.region.as_ref().is_none_or(|name| name == region)
    })
}
