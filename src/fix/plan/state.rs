//! The state of a resource, compared with the one that a plan expects.

use crate::aws::grant;
use crate::aws::leftovers::Stays;
use crate::estate::EstateRef;
use crate::transition::{Transition, Value};

use super::cloud::{self, Quotas, cluster_tags, observe, role_id};
use super::{PlannedChange, Sibling};

/// Comparison of a change with the current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The state is as planned.
    AsPlanned,
    /// The new value is already set.
    Done,
    /// Something that is about to let go still uses it; displayable reason.
    Busy(String),
    /// No longer in the planned state; displayable reason.
    Stale(String),
}

/// Compares a change with the state that was just read.
#[must_use]
pub fn fit(estate: EstateRef<'_>, change: &PlannedChange) -> Fit {
    let stale = |why: String| Fit::Stale(why);
    let Transition { target, attribute, old, new } = &change.transition;
    let Some(found) = observe(estate, target, attribute) else {
        return stale("it does not exist, or is not visible to this caller".to_owned());
    };
    let expect = &change.expect;
    if found.is_gone {
        return stale("the instance is shutting down or terminated".to_owned());
    }
    let found_role = match &expect.for_role {
        Some(name) => role_id(estate, name),
        None => found.role_id.clone(),
    };
    if expect.role_id.is_some() && expect.role_id != found_role {
        return stale("the role has been deleted and re-created".to_owned());
    }
    if found.is_protected {
        return stale(format!("only {} changes that role", target.provider.describe()));
    }
    if found.value == *new {
        return Fit::Done;
    }
    if found.value != *old && change.transition.is_deletion() {
        return stale("it has changed since".to_owned());
    }
    if found.value != *old {
        return stale(format!("it is {} now, not {}", shown(found.value.as_ref()), shown(old.as_ref())));
    }
    if change.transition.is_deletion()
        && let Some(why) = found.in_use
    {
        return if matches!(why, Stays::Leaving(_)) { Fit::Busy(why.to_string()) } else { stale(why.to_string()) };
    }
    if expect.addresses.is_some() && expect.addresses != found.addresses {
        return stale("its addresses have changed since".to_owned());
    }
    if expect.vpc_id.is_some() && expect.vpc_id != found.vpc_id {
        return stale("it is in another VPC now".to_owned());
    }
    if expect.instance_metadata_tags.is_some() && expect.instance_metadata_tags != found.instance_metadata_tags {
        return stale(
            "instance metadata tags have been switched: with them on, EC2 accepts no key with a slash".to_owned(),
        );
    }
    if expect.cluster_tags.as_ref().is_some_and(|planned| *planned != found.cluster_tags) {
        return stale("its cluster tags have changed since".to_owned());
    }
    if let Some(why) = beside_changed(estate, change) {
        return stale(why);
    }
    let adds_tag = change.transition.tag().is_some() && old.is_none();
    if adds_tag && found.free_tag_slots == Some(0) {
        return stale(format!("it has {} tags already", cloud::quotas(target.provider).tags));
    }
    let grows = new.as_ref().and_then(Value::document).map_or(0, grant::counted);
    if found.inline_characters_left.is_some_and(|left| grows > left) {
        return stale(format!("the inline policies of the role would exceed {} characters", grant::INLINE_QUOTA));
    }
    if expect.policy_sha256.is_some() && expect.policy_sha256 != found.policy_sha256 {
        return stale("the policy to attach does not exist, or its document has changed".to_owned());
    }
    if new.is_some() && found.attachments_left == Some(0) {
        let Quotas { attached, attached_kind, .. } = cloud::quotas(target.provider);
        return stale(format!("the role has {attached} {attached_kind} policies already"));
    }
    Fit::AsPlanned
}

fn beside_changed(estate: EstateRef<'_>, change: &PlannedChange) -> Option<String> {
    // Only AWS security groups have to be checked together.
    let region = cloud::aws_account(estate).and_then(|account| cloud::find_region(account, &change.transition.target));
    change.expect.siblings.iter().find_map(|Sibling { id, cluster_tags: planned }| {
        let found = region.and_then(|region| region.tags_of(id)).map(cluster_tags);
        (found.as_ref() != Some(planned))
            .then(|| format!("the cluster tags of {id}, which is on the same nodes, have changed since"))
    })
}

fn shown(value: Option<&Value>) -> String {
    match value.map(ToString::to_string) {
        None => "absent".to_owned(),
        Some(text) if text.len() > 60 => "another text".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}
