//! Tags that a change sets and removes.
//! Source: hashicorp/terraform-provider-aws `internal/tags/key_value_tags.go`, documentation "Resource tagging":
//! `tags_all` holds the tags of the resource and the `default_tags` of the provider; it exists since version 3.38.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::tags::{self, Tag};

use super::change::{Action, Change, Setting};
use super::plan::Plan;

/// The difference that a change makes to the tags of its object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TagChange {
    pub(super) set: BTreeMap<String, String>,
    pub(super) removed: Vec<String>,
    /// Keys whose values are known only after the plan is applied.
    pub(super) unknown: Vec<String>,
    /// True if even the keys are unknown.
    pub(super) is_unknown: bool,
    /// True if the object is new: it has no other tags.
    pub(super) is_new: bool,
}

impl TagChange {
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty() && self.unknown.is_empty() && !self.is_unknown
    }

    /// The part that is known only after the plan is applied, as reasons for what cannot be decided.
    pub(super) fn open(&self) -> Vec<String> {
        let keys = self.is_unknown.then(|| "the keys of its tags are known only after the plan is applied".to_owned());
        let values = self.unknown.iter().filter(|key| decides(key));
        let values = values.map(|key| format!("the value of its tag `{key}` is known only after the plan is applied"));
        keys.into_iter().chain(values).collect()
    }

    /// Applies the known part. Tags that the plan does not know stay.
    pub(super) fn apply(&self, tags: &mut Vec<Tag>) {
        if self.is_new {
            tags.clear();
        }
        tags.retain(|tag| !self.removed.contains(&tag.key) && !self.set.contains_key(&tag.key));
        tags.extend(self.set.iter().map(|(key, value)| Tag { key: key.clone(), value: value.clone() }));
        tags.sort();
    }
}

/// The difference that a change makes to the tags of its object.
pub(super) fn change(plan: &Plan, change: &Change) -> TagChange {
    let key = if change.keys().any(|key| key == "tags_all") { "tags_all" } else { "tags" };
    let is_new = change.makes();
    let before = if is_new { BTreeMap::new() } else { known(change.before(key)) };
    let mut result = TagChange { is_new, ..TagChange::default() };
    let After { tags: after, unknown, has_unknown_keys } = after(plan, change, key);
    result.unknown = unknown;
    // A new object has at least the known ones.
    if has_unknown_keys && change.is(Action::Create) {
        return TagChange { is_unknown: true, set: after, ..result };
    }
    if has_unknown_keys {
        return TagChange { is_unknown: true, is_new: false, unknown: Vec::new(), ..result };
    }
    result.removed = before.keys().filter(|key| !after.contains_key(*key)).cloned().collect();
    result.removed.retain(|key| !result.unknown.contains(key));
    result.set = after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).collect();
    result
}

/// The tags after a change.
#[derive(Debug, Default)]
struct After {
    tags: BTreeMap<String, String>,
    /// Keys of those with unknown values.
    unknown: Vec<String>,
    /// True if there may be others.
    has_unknown_keys: bool,
}

fn after(plan: &Plan, change: &Change, key: &str) -> After {
    let unknown = open(change.unknown(key));
    match change.after(key) {
        Setting::Known(value) => After { tags: known(Some(value)), unknown, has_unknown_keys: false },
        Setting::Absent => After { unknown, ..After::default() },
        Setting::Unknown if key == "tags" => After { has_unknown_keys: true, ..After::default() },
        // One unknown value makes all of `tags_all` unknown.
        Setting::Unknown => {
            let defaults = defaults(plan, change);
            let has_unknown_keys = defaults.is_none();
            let mut all = known(defaults.map(Value::Object).as_ref());
            let own = after(plan, change, "tags");
            all.extend(own.tags);
            all.retain(|key, _| !own.unknown.contains(key));
            After { tags: all, unknown: own.unknown, has_unknown_keys: has_unknown_keys || own.has_unknown_keys }
        }
    }
}

fn defaults(plan: &Plan, change: &Change) -> Option<Map<String, Value>> {
    plan.default_tags(change).or_else(|| {
        let own = known(change.before("tags"));
        let all = change.before("tags_all")?.as_object()?;
        Some(all.iter().filter(|(key, _)| !own.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect())
    })
}

fn known(value: Option<&Value>) -> BTreeMap<String, String> {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Keys of unknown values.
fn open(unknown: Option<&Value>) -> Vec<String> {
    let pairs = unknown.and_then(Value::as_object).into_iter().flatten();
    pairs.filter(|(_, flag)| **flag == Value::Bool(true)).map(|(key, _)| key.clone()).collect()
}

/// True if a controller or a rule decides by the tag.
pub(super) fn decides(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    tags::is_membership(key)
        || ["kubernetes", "k8s", "karpenter", "kops", "ack.aliyun"].iter().any(|part| lower.contains(part))
}
