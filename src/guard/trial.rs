//! One change of a plan on the copy of an account.

use std::collections::BTreeSet;

use crate::aws::{Account, Region};
use crate::resource::ResourceKind;

use super::change::Change;
use super::plan::Plan;
use super::scope::Affected;
use super::tags::{self, TagChange};

/// The effect of one change.
#[derive(Debug, Clone, Default)]
pub(super) struct Effect {
    /// Objects that it changed, by kind and id.
    pub(super) touched: BTreeSet<(ResourceKind, String)>,
    /// Decisions that depend on values that are known only after the plan is applied.
    pub(super) undecided: Vec<String>,
    /// Effects on instances that are launched later.
    pub(super) later: Vec<String>,
    /// The part of the recording that it concerns is not there.
    pub(super) elsewhere: Option<String>,
}

impl Effect {
    /// Records a reason once.
    pub(super) fn undecided(&mut self, why: String) {
        if !self.undecided.contains(&why) {
            self.undecided.push(why);
        }
    }
}

/// One change on the copy.
#[derive(Debug)]
pub(super) struct Trial<'t> {
    pub(super) plan: &'t Plan,
    pub(super) change: &'t Change,
    pub(super) account: &'t mut Account,
    /// Index of its region in the account.
    pub(super) at: usize,
    pub(super) affected: &'t Affected,
    pub(super) effect: &'t mut Effect,
}

impl Trial<'_> {
    pub(super) fn region(&mut self) -> Option<&mut Region> {
        self.account.regions.get_mut(self.at)
    }

    pub(super) fn touch(&mut self, kind: ResourceKind, id: &str) {
        self.effect.touched.insert((kind, id.to_owned()));
    }

    /// Marks an object of EC2 as changed, of whichever kind it is.
    pub(super) fn touch_id(&mut self, id: &str) {
        let kind = self.region().and_then(|region| region.find(id)).map(crate::aws::Tagged::kind);
        if let Some(kind) = kind {
            self.touch(kind, id);
        }
    }

    pub(super) fn undecided(&mut self, why: impl Into<String>) {
        self.effect.undecided(why.into());
    }

    pub(super) fn later(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.effect.later.contains(&why) {
            self.effect.later.push(why);
        }
    }

    /// Records an attribute that is known only after the plan is applied.
    pub(super) fn open(&mut self, attribute: &str) {
        self.undecided(format!("`{attribute}` is known only after the plan is applied"));
    }
}

/// Finds an object in a sorted list, or inserts it.
pub(super) fn object<'l, T>(list: &'l mut Vec<T>, id: &str, id_of: fn(&T) -> &str, new: T) -> Option<&'l mut T> {
    let at = match list.binary_search_by(|one| id_of(one).cmp(id)) {
        Ok(at) => at,
        Err(at) => {
            list.insert(at, new);
            at
        }
    };
    list.get_mut(at)
}

/// Applies the tags of a change to an object of EC2.
pub(super) fn put_tags(trial: &mut Trial<'_>, kind: ResourceKind, id: &str) {
    let changed = tags::change(trial.plan, trial.change);
    open_tags(trial, id, &changed);
    if changed.is_empty() && !changed.is_new {
        return;
    }
    let Some(held) = trial.region().and_then(|region| region.tags_of_mut(id)) else { return };
    let kept: Vec<crate::tags::Tag> = if changed.is_new {
        // The keys that AWS sets follow from what the object is part of.
        held.iter().filter(|tag| tag.key.starts_with("aws:")).cloned().collect()
    } else {
        Vec::new()
    };
    changed.apply(held);
    held.extend(kept);
    held.sort();
    trial.touch(kind, id);
}

/// Records tags that are known only after the plan is applied, if something decides by them.
fn open_tags(trial: &mut Trial<'_>, id: &str, changed: &TagChange) {
    let is_near = trial.change.after_text("vpc_id").is_some_and(|vpc| trial.affected.vpcs.contains(vpc));
    let may_join = is_near && changed.is_new && changed.is_unknown && changed.set.is_empty();
    if !trial.affected.ids.contains(id) && !is_for_a_cluster(trial, changed) && !may_join {
        return;
    }
    changed.open().into_iter().for_each(|why| trial.undecided(why));
}

pub(super) fn is_for_a_cluster(trial: &Trial<'_>, changed: &TagChange) -> bool {
    let keys = changed.set.keys().chain(&changed.unknown);
    keys.filter_map(|key| key.strip_prefix(crate::tags::CLUSTER_TAG_PREFIX))
        .any(|id| trial.affected.clusters.contains(id))
}
