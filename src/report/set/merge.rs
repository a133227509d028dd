//! Joins the reports of shards: in whatever order, however often the same one, and never less than was asked for.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::report::{NotAudited, Tool};
use crate::target::Target;

use super::{ReportSet, Shards, TargetOutcome, TargetReport};

/// A file to join.
#[derive(Debug)]
pub enum MergeInput {
    /// A set, or a report as a set of one.
    Set(ReportSet),
    /// A file that cannot be read as one.
    Unreadable {
        /// Its name.
        file: String,
        /// Why.
        reason: String,
    },
}

/// Why reports cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They are parts of different runs.
    #[error("there are shards of a run with {one}, and of one with {other}")]
    OtherRun {
        /// Number of shards of one of them.
        one: u32,
        /// Number of shards of the other.
        other: u32,
    },
}

/// What a missing shard is called among what was not audited.
const SHARD: &str = "shard";

impl ReportSet {
    /// Joins sets. Of two reports of the same target the later one counts; one that is older than the newest by more than
    /// `max_age` is of another run, and counts as missing.
    ///
    /// # Errors
    /// When they are shards of runs with different numbers of shards.
    pub fn merge(
        inputs: impl IntoIterator<Item = MergeInput>,
        max_age: Option<SignedDuration>,
    ) -> Result<Self, MergeError> {
        let mut shards: Option<(u32, BTreeSet<u32>)> = None;
        let mut not_audited: Vec<NotAudited> = Vec::new();
        let mut targets: Vec<TargetReport> = Vec::new();
        for input in inputs {
            let set = match input {
                MergeInput::Set(set) => set,
                MergeInput::Unreadable { file, reason } => {
                    not_audited.push(entry("report", Some(file), "Unreadable", reason));
                    continue;
                }
            };
            if let Some(Shards { count, present }) = set.shards {
                let (known, all) = shards.get_or_insert((count, BTreeSet::new()));
                if *known != count {
                    return Err(MergeError::OtherRun { one: count.min(*known), other: count.max(*known) });
                }
                all.extend(present);
            }
            // Which shards are missing is seen when all are there.
            not_audited.extend(set.not_audited.into_iter().filter(|entry| entry.what != SHARD));
            targets.extend(set.targets);
        }
        if let Some((count, present)) = &shards {
            for index in (0..*count).filter(|index| !present.contains(index)) {
                let message = format!("no report of shard {index} of {count} is among the files");
                not_audited.push(entry(SHARD, Some(format!("{index}/{count}")), "Missing", message));
            }
        }
        let targets = latest(targets, max_age);
        let shards = shards.map(|(count, present)| Shards { count, present: present.into_iter().collect() });
        let mut set = Self::new(targets, shards, not_audited);
        set.tool = Tool::this();
        Ok(set)
    }

    /// Says of each target that should be there and is not that it was not audited.
    pub fn expect(&mut self, targets: &[Target]) {
        for target in targets {
            let is_there = |one: &TargetReport| {
                one.account_ids.contains(&target.account_id)
                    && (one.cluster_ids.is_empty() || target.cluster_ids.iter().all(|id| one.cluster_ids.contains(id)))
                    && (one.regions.is_empty() || target.regions.iter().all(|region| one.regions.contains(region)))
            };
            if self.targets.iter().any(is_there) {
                continue;
            }
            let message = format!("no report of the account {} is among the files", target.account_id);
            let mut missing = TargetReport::from(target);
            let entry =
                NotAudited { account_id: Some(target.account_id.clone()), ..entry("report", None, "Missing", message) };
            missing.not_audited.push(entry);
            missing.outcome = TargetOutcome::NotAudited;
            self.targets.push(missing);
        }
        self.finish();
    }
}

impl From<&Target> for TargetReport {
    /// A target of which nothing is known yet.
    fn from(target: &Target) -> Self {
        Self {
            account_ids: vec![target.account_id.clone()],
            name: target.name.clone(),
            role: target.role.clone(),
            regions: target.regions.clone(),
            cluster_ids: target.cluster_ids.clone(),
            collected_at: None,
            outcome: TargetOutcome::Audited,
            why: None,
            not_audited: Vec::new(),
            gone_cluster_ids: Vec::new(),
            reports: Vec::new(),
        }
    }
}

fn entry(what: &str, resource: Option<String>, reason: &str, message: String) -> NotAudited {
    NotAudited {
        what: what.to_owned(),
        resource,
        account_id: None,
        region: None,
        reason: reason.to_owned(),
        message,
        rules: Vec::new(),
    }
}

/// Of each target the latest report; what is too old is not audited.
fn latest(targets: Vec<TargetReport>, max_age: Option<SignedDuration>) -> Vec<TargetReport> {
    let at = |target: &TargetReport| target.collected_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    let newest = targets.iter().filter_map(at).max();
    let mut by_key: BTreeMap<_, TargetReport> = BTreeMap::new();
    for target in targets {
        let (account_ids, role, regions, cluster_ids) = target.key();
        let key = (account_ids.to_vec(), role.map(str::to_owned), regions.to_vec(), cluster_ids.to_vec());
        let is_later = |known: &TargetReport| {
            // What is of the same moment is told apart by what it says: the order of the files decides nothing.
            let weight = |one: &TargetReport| (at(one), serde_json::to_string(one).unwrap_or_default());
            at(known) < at(&target) || (at(known) == at(&target) && weight(known) < weight(&target))
        };
        if by_key.get(&key).is_none_or(is_later) {
            by_key.insert(key, target);
        }
    }
    by_key
        .into_values()
        .map(|target| match (at(&target), newest, max_age) {
            (Some(read), Some(newest), Some(max_age)) if newest.duration_since(read) > max_age => stale(target, newest),
            _ => target,
        })
        .collect()
}

/// A target whose report is of another run.
fn stale(target: TargetReport, newest: Timestamp) -> TargetReport {
    let read = target.collected_at.clone().unwrap_or_default();
    let message = format!("its report is of {read}, too long before the newest ({newest:.0})");
    let not_audited =
        NotAudited { account_id: target.account_ids.first().cloned(), ..entry("report", None, "TooOld", message) };
    TargetReport {
        outcome: TargetOutcome::NotAudited,
        why: None,
        not_audited: vec![not_audited],
        reports: Vec::new(),
        ..target
    }
}
