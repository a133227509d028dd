//! Plans: lists of intended transitions of single values, each with its precondition. A plan is plain data: it is
//! built, simulated, shown, saved and printed for review without a cloud account.

use serde::{Deserialize, Serialize};

use crate::finding::{Applicability, Severity};
use crate::inventory::{Gap, Tag};
use crate::transition::{Attribute, Target, Transition, Value};

mod approvals;
mod attempts;
mod build;
mod cloud;
mod dry_run;
mod file;
#[cfg_attr(
    not(any(feature = "aws", feature = "alibaba")),
    expect(dead_code, reason = "only builds that can write use this module")
)]
mod gate;
mod guard;
mod limit;
mod node_groups;
mod observed;
mod planner;
mod rights;
mod state;
mod trial;
mod undo;
mod validate;

pub use approvals::{Answer, Approvals, Mandate, SkipReason, Skipped};
pub(crate) use attempts::Audit;
pub use build::{BuildError, Planned, Scope, build};
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) use cloud::default_version;
pub(crate) use cloud::own_grants;
pub use cloud::{observe, simulate};
pub(crate) use dry_run::DryRunAnswer;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) use file::MAX_PLAN_BYTES;
pub use gate::unlike_inverse;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) use gate::{LeftOut, left_out, undo_needs_consent};
pub use guard::{Counting, created};
pub use state::{Fit, fit};
pub(crate) use trial::Trial;
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) use undo::can_be_undone;
pub use undo::undo;

/// The schema that this version writes; the number increases when a field changes its meaning.
pub(crate) const SCHEMA: &str = "tagaudit.plan/1";

/// Kind of plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Fixes findings.
    Fix,
    /// Undoes the changes of a fix.
    Undo,
}

/// A list of changes to one account, with their evidence and purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`SCHEMA`] of the writer.
    pub schema: String,
    /// Version of the tool that created it.
    pub tool_version: String,
    /// Fix or undo.
    pub kind: Kind,
    pub account_id: String,
    /// Partition of the account.
    pub partition: String,
    /// ARN of the caller that read the evidence.
    pub caller_arn: String,
    pub cluster_id: String,
    /// Regions that were read.
    pub regions: Vec<String>,
    /// Creation time, RFC 3339 in UTC.
    pub created_at: String,
    /// Time after which it may no longer be applied, RFC 3339 in UTC.
    pub expires_at: String,
    /// Evidence that it is based on.
    pub evidence: PlanEvidence,
    /// Digest of the approved plan, if this one was rebuilt from it just before the first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    pub fixes: Vec<FixedFinding>,
    /// The changes, in the order in which they are made.
    pub changes: Vec<PlannedChange>,
    /// SHA-256 of the canonical form without this field, in hexadecimal.
    pub digest: String,
}

/// Evidence that a plan is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanEvidence {
    /// `live`, `inventory` or `journal`.
    pub kind: String,
    /// Time of reading, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// The options that determine it, sorted by name: `--nodes`, `--baseline worker=upstream-node`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Reads that failed; no change depends on them.
    pub gaps: Vec<Gap>,
}

/// A finding that a plan fixes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedFinding {
    /// Rule id.
    pub rule: String,
    pub severity: Severity,
    /// The resource it is about.
    pub resource: String,
    /// The finding's fingerprint.
    pub fingerprint: String,
}

/// Default time for which a plan may be applied after its evidence was read.
pub(crate) const LIFETIME: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// Longest permitted lifetime, for approvals. The evidence is read again before the first write.
pub(crate) const MAX_LIFETIME: jiff::SignedDuration = jiff::SignedDuration::from_hours(7 * 24);

/// Precondition of a change, in addition to the old value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The VPC of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// `enabled` or `disabled`: readability of instance tags through the metadata service, with which keys with a slash
    /// are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_metadata_tags: Option<String>,
    /// Every cluster tag on it, new-style and legacy, those of other clusters included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_tags: Option<Vec<Tag>>,
    /// Tags that can still be added within EC2's limit of fifty, including this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_tag_slots: Option<usize>,
    /// Cluster tags of the other security groups on the same nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Sibling>,
    /// The private addresses of an ECS instance: a Node without providerID is identified by its address alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<String>>,
    /// Name of the role that a policy is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_role: Option<String>,
    /// `AROA…`: a role that was deleted and re-created has another id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<String>,
    /// Characters that the inline policies of the role may still grow by, before this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_characters_left: Option<usize>,
    /// SHA-256 of the document of the managed policy that is attached, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<String>,
    /// Number of managed policies that can still be attached, counting that of this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments_left: Option<usize>,
}

/// A security group that shares nodes with the changed one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sibling {
    pub id: String,
    /// Every cluster tag on it.
    pub cluster_tags: Vec<Tag>,
}

/// A transition with its purpose and precondition. In a file it is flat and also contains derived values, for readers
/// and other programs: its ARN, its call and its inverse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "file::ChangeInFile", into = "file::ChangeInFile")]
pub struct PlannedChange {
    /// Identifies it in journal and messages, from its target on.
    pub id: String,
    /// Rules that require it.
    pub rules: Vec<String>,
    /// ARN of its target.
    pub arn: String,
    pub transition: Transition,
    /// Required consent.
    pub class: Applicability,
    /// Purpose.
    pub reason: String,
    /// Precondition.
    pub expect: Expect,
}

impl PlannedChange {
    /// The order of a plan.
    fn order(&self) -> (u8, &Target, &Attribute) {
        (self.transition.stage(), &self.transition.target, &self.transition.attribute)
    }
}

/// Maximum number of resources per call, following Cloud Custodian; EC2 accepts up to a thousand and recommends fewer.
pub(crate) const BATCH: usize = 25;

/// Values that changes must share to be made in one call; changes without a key are made one by one.
fn batch_key(change: &PlannedChange) -> Option<(&str, &str, Option<&Value>, Option<&Value>)> {
    let Transition { target, old, new, .. } = &change.transition;
    let (key, _) = change.transition.tag()?;
    // The value of a removed tag is part of the call; that of an overwritten one is not.
    let held = if new.is_none() { old.as_ref() } else { None };
    Some((target.region(), key, held, new.as_ref()))
}

/// Groups changes into waves: changes of a wave are independent, so that it can be read once and written; the next wave
/// follows when it is verified. A stage is one wave, except for changes of cluster tags that expect the result of
/// earlier ones of the stage, on the same resource or on another security group of the same nodes: those come one at a
/// time.
#[cfg(any(feature = "aws", feature = "alibaba"))]
#[must_use]
pub(crate) fn waves<'c>(changes: &[&'c PlannedChange]) -> Vec<Vec<&'c PlannedChange>> {
    use std::collections::BTreeMap;
    let mut waves: BTreeMap<(u8, usize), Vec<&PlannedChange>> = BTreeMap::new();
    let mut depths: BTreeMap<(u8, &str, &str), usize> = BTreeMap::new();
    for &change in changes {
        let (stage, region) = (change.transition.stage(), change.transition.target.region());
        let expects_tags = change.expect.cluster_tags.is_some();
        let siblings = change.expect.siblings.iter().map(|sibling| sibling.id.as_str());
        let before = std::iter::once(change.transition.target.id.as_str()).chain(siblings).filter(|_| expects_tags);
        let depth = before.filter_map(|id| depths.get(&(stage, region, id))).map(|depth| depth + 1).max().unwrap_or(0);
        if expects_tags {
            depths.insert((stage, region, &change.transition.target.id), depth);
        }
        waves.entry((stage, depth)).or_default().push(change);
    }
    waves.into_values().collect()
}

/// Groups the changes of one wave that can be made in one call, in the order of the first of each.
#[must_use]
pub(crate) fn batches<'c>(changes: &[&'c PlannedChange]) -> Vec<Vec<&'c PlannedChange>> {
    let mut batches: Vec<Vec<&PlannedChange>> = Vec::new();
    let mut open: std::collections::BTreeMap<_, usize> = std::collections::BTreeMap::new();
    for &change in changes {
        let key = batch_key(change).map(|key| (change.transition.stage(), key));
        let room = key.as_ref().and_then(|key| open.get(key)).copied();
        if let Some(batch) = room.and_then(|at| batches.get_mut(at)).filter(|batch| batch.len() < BATCH) {
            batch.push(change);
            continue;
        }
        if let Some(key) = key {
            open.insert(key, batches.len());
        }
        batches.push(vec![change]);
    }
    batches
}

impl Plan {
    /// True if it deletes a resource.
    #[must_use]
    pub fn deletes(&self) -> bool {
        self.changes.iter().any(|change| change.transition.is_deletion())
    }

    /// The first twelve digits of the digest, which identify a plan to users and in journals.
    #[must_use]
    pub fn short_id(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }
}
