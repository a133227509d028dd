//! The gate before the first write: the approved plan is a limit, and writes are planned again from an account that was
//! just read.

use std::collections::BTreeMap;

use crate::aws::Tagged;
use crate::aws::scaling_groups::groups_of_cluster;
use crate::aws::view::{ClusterView, instance_clusters};
use crate::estate::EstateRef;
use crate::nodes::KubernetesNode;
use crate::resource::ResourceKind;
use crate::tags::{self, Tag};
use crate::transition::{Attribute, Transition, Value, tag_specifications};

use super::approvals::SkipReason;
use super::cloud::{self, observe};
use super::guard;
use super::state::{Fit, fit};
use super::{Plan, Planned, PlannedChange};

/// Reason an approved change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// Its new value is already set.
    InPlace,
    /// It is not in the new plan; displayable reason.
    NotPlanned(String),
}

/// Changes of an approved plan that the new plan lacks, each with the reason, in the order of the approved plan.
#[must_use]
pub(crate) fn left_out<'p>(
    approved: &'p Plan,
    again: &Planned,
    estate: EstateRef<'_>,
    options: &[String],
) -> Vec<(&'p PlannedChange, LeftOut)> {
    let held: BTreeMap<&str, &Transition> =
        again.plan.changes.iter().map(|change| (change.id.as_str(), &change.transition)).collect();
    let missing: Vec<&str> =
        approved.evidence.options.iter().filter(|option| !options.contains(option)).map(String::as_str).collect();
    let left = approved.changes.iter().filter(|change| held.get(change.id.as_str()) != Some(&&change.transition));
    left.map(|change| (change, reason(change, again, estate, &missing))).collect()
}

fn reason(change: &PlannedChange, again: &Planned, estate: EstateRef<'_>, missing: &[&str]) -> LeftOut {
    let Transition { target, attribute, new, .. } = &change.transition;
    let found = observe(estate, target, attribute);
    if found.is_some_and(|found| !found.is_gone && found.value == *new) {
        return LeftOut::InPlace;
    }
    // Options that were given when the plan was made, and not now.
    let unsaid = if missing.is_empty() {
        String::new()
    } else {
        format!("; the plan was made with {}, which this command line lacks", missing.join(" "))
    };
    let of_rule = || again.skipped.iter().filter(|left| change.rules.iter().any(|rule| rule == left.rule));
    let skipped = of_rule().find(|left| left.resource == target.id).or_else(|| of_rule().next());
    let why = skipped.and_then(|left| match &left.reason {
        SkipReason::Allow => Some(format!("it now needs --allow {}: {}{unsaid}", left.rule, left.what)),
        SkipReason::Leftover => Some(format!("it needs --fix-leftovers{unsaid}")),
        SkipReason::Question(_) => {
            Some(format!("it needs an answer: --choose {}:{}=VALUE{unsaid}", left.rule, left.resource))
        }
        SkipReason::Refused(why) | SkipReason::ByHand(why) => Some(format!("{why}{unsaid}")),
        SkipReason::BeyondApproved => (left.resource == target.id)
            .then(|| "a new scan plans another change of this resource than the approved one".to_owned()),
    });
    let is_added = change.transition.old.is_none();
    let unread = guard::touching(estate.gaps(), &again.plan.account_id, target, attribute, is_added);
    if let Some(gap) = unread {
        return LeftOut::NotPlanned(format!("{} was not read: {}", gap.read, gap.reason));
    }
    let stale = || match fit(estate, change) {
        Fit::Stale(why) | Fit::Busy(why) => Some(why),
        Fit::AsPlanned | Fit::Done => None,
    };
    let why = why.or_else(stale);
    LeftOut::NotPlanned(why.unwrap_or_else(|| format!("a new scan does not plan it{unsaid}")))
}

/// Changes of an undo that need `--allow`, in their order, each with the reason. A journal does not prove who wrote it:
/// a change of another cluster's tag, or of a resource that does not belong to this cluster, needs the operator's
/// consent.
///
/// Plans for Alibaba Cloud contain no such change: they write only this cluster's tag and tagaudit's own policies.
#[must_use]
pub(crate) fn undo_needs_consent<'p>(
    undo: &'p Plan,
    estate: EstateRef<'_>,
    nodes: Option<&[KubernetesNode]>,
    allow: &[String],
) -> Vec<(&'p PlannedChange, String)> {
    let Some(inventory) = cloud::aws_inventory(estate) else { return Vec::new() };
    let view = ClusterView::new(inventory, &undo.cluster_id, nodes, &[]);
    let asked = undo.changes.iter().filter(|change| !change.rules.iter().any(|rule| allow.contains(rule)));
    let reason = |change: &'p PlannedChange| {
        // What an interrupted undo already restored is not written again.
        let Transition { target, attribute, new, .. } = &change.transition;
        if observe(estate, target, attribute).is_some_and(|found| found.value == *new) {
            return None;
        }
        let why = if writes_foreign_tag(change, &undo.cluster_id) {
            "it changes the tag of another cluster"
        } else if !belongs(&view, change) {
            "the resource does not belong to the cluster"
        } else {
            return None;
        };
        let rules: Vec<String> = change.rules.iter().map(|rule| format!("--allow {rule}")).collect();
        let how = if rules.is_empty() { String::new() } else { format!("; agree with {}", rules.join(" or ")) };
        Some((change, format!("{why}{how}")))
    };
    asked.filter_map(reason).collect()
}

fn writes_foreign_tag(change: &PlannedChange, cluster_id: &str) -> bool {
    let Transition { attribute, old, new, .. } = &change.transition;
    if let Attribute::TemplateTags { .. } = attribute {
        let tags = |value: &Option<Value>| -> Vec<Tag> {
            let all = value.as_ref().and_then(|value| tag_specifications::parse(&value.to_string()));
            all.unwrap_or_default().into_iter().flat_map(|one| one.tags).collect()
        };
        let held = tags(old);
        let mut added = tags(new).into_iter().filter(|tag| !held.contains(tag));
        return added.any(|tag| instance_clusters(&[tag]).any(|other| other != cluster_id));
    }
    let Some((key, _)) = change.transition.tag() else { return false };
    let is_other_legacy = || [old, new].into_iter().flatten().any(|value| value.to_string() != cluster_id);
    tags::is_membership(key) && key != tags::cluster_key(cluster_id) && (key != tags::LEGACY_TAG || is_other_legacy())
}

/// True if a resource carries the cluster's tag or a near miss of it, is an instance that a Node names, or is part of
/// the network of members. Roles and policies always count: a plan changes only what tagaudit wrote in them.
fn belongs(view: &ClusterView<'_>, change: &PlannedChange) -> bool {
    let Transition { target, attribute, .. } = &change.transition;
    if attribute.is_iam() {
        return true;
    }
    let Some(region) = view.regions.iter().find(|one| Some(&one.region.name) == target.region.as_ref()) else {
        return false;
    };
    if target.kind == ResourceKind::AutoScalingGroup {
        let mut groups = region.region.auto_scaling_groups.iter().flatten();
        let is_member = |id: &String| region.member(id).is_some();
        return groups.find(|group| group.name == target.id).is_some_and(|group| {
            tags::has_cluster_tag(&group.tags, view.cluster_id) || group.instances.iter().any(is_member)
        });
    }
    if target.kind == ResourceKind::LaunchTemplate {
        let groups = groups_of_cluster(region, view.cluster_id).unwrap_or_default();
        return groups.iter().any(|group| group.known().any(|next| next.template.id == target.id));
    }
    let Some(found) = region.region.find(&target.id) else { return false };
    if tags::has_cluster_tag(found.tags(), view.cluster_id)
        || found.tags().iter().any(|tag| tags::is_certain_near_miss(tag, view.cluster_id))
    {
        return true;
    }
    let vpc_id = match found {
        Tagged::Instance(_) => return region.member(&target.id).is_some_and(|member| member.node.is_some()),
        Tagged::Vpc(vpc) => Some(vpc.id.as_str()),
        other => other.vpc_id(),
    };
    vpc_id.is_some_and(|vpc| region.member_vpcs().contains(vpc))
}

/// First change in which an undo of a journal and the inverse of its run differ.
#[must_use]
pub fn unlike_inverse<'p>(undo: &'p Plan, inverse: &'p Plan) -> Option<&'p PlannedChange> {
    fn beyond<'p>(plan: &'p Plan, other: &Plan) -> Option<&'p PlannedChange> {
        let known: BTreeMap<&str, &PlannedChange> =
            other.changes.iter().map(|change| (change.id.as_str(), change)).collect();
        plan.changes.iter().find(|change| {
            known
                .get(change.id.as_str())
                .is_none_or(|other| other.transition != change.transition || other.expect != change.expect)
        })
    }
    beyond(undo, inverse).or_else(|| beyond(inverse, undo))
}
