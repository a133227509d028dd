//! Merges the reports of shards: in any order, with duplicates, and never fewer than were requested.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::finding::Severity;
use crate::report::NotAudited;
use crate::target::Target;

use super::{Origin, PresentShard, ReportSet, Shards, TargetOutcome, TargetReport};

/// A file to merge.
#[derive(Debug)]
pub enum MergeInput {
    Set(ReportSet),
    /// A file that cannot be read as one.
    Unreadable {
        /// Name of the file.
        file: String,
        /// Reason why it cannot be read.
        reason: String,
    },
}

/// Reasons why reports cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The shards come from runs with different shard counts.
    #[error("there are shards of a run with {one} shards, and of one with {other}")]
    OtherRun {
        /// Number of shards of one of them.
        one: u32,
        /// Number of shards of the other.
        other: u32,
    },
}

/// Name of a missing shard among the entries that were not audited.
const SHARD: &str = "shard";

/// Name of an entry that was not audited because of the merged files.
const REPORT: &str = "report";

/// Limits on the age of a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct MergeLimits {
    /// Maximum age relative to the newest.
    pub max_age: Option<SignedDuration>,
    /// Earliest date by the clock: if a run did not happen at all, all reports are from the one before.
    pub not_before: Option<Timestamp>,
}

/// Decides if evidence belongs to the same run.
#[derive(Debug, Clone, Copy)]
struct Freshness {
    newest: Option<Timestamp>,
    limits: MergeLimits,
}

impl Freshness {
    /// True if evidence of this date belongs to the same run as the newest. Evidence without a date does not, if other
    /// evidence has one.
    fn is_kept(self, at: Option<Timestamp>) -> bool {
        let MergeLimits { max_age, not_before } = self.limits;
        let is_of_run = match (self.newest, max_age, at) {
            (None, ..) | (_, None, _) => true,
            (Some(newest), Some(max_age), Some(at)) => newest.duration_since(at) <= max_age,
            (Some(_), Some(_), None) => false,
        };
        is_of_run && not_before.is_none_or(|limit| at.is_some_and(|at| at >= limit))
    }
}

impl ReportSet {
    /// Merges sets. Of two reports of the same target, the later one counts; one that is older than the limits allow,
    /// or has no date while others have one, belongs to another run and counts as missing.
    ///
    /// # Errors
    /// When they are shards of runs with different numbers of shards.
    pub fn merge(inputs: impl IntoIterator<Item = MergeInput>, limits: MergeLimits) -> Result<Self, MergeError> {
        let mut shards: Vec<Shards> = Vec::new();
        let mut not_audited: Vec<NotAudited> = Vec::new();
        let mut targets: Vec<TargetReport> = Vec::new();
        for input in inputs {
            let set = match input {
                MergeInput::Set(set) => set,
                MergeInput::Unreadable { file, reason } => {
                    not_audited.push(entry(REPORT, Some(file), "Unreadable", reason));
                    continue;
                }
            };
            shards.extend(set.shards);
            // Missing shards are determined when all inputs are read.
            not_audited.extend(set.not_audited.into_iter().filter(|entry| entry.what != SHARD));
            targets.extend(set.targets);
        }
        // Targets that were skipped have the date of the run before.
        let looked_at = targets.iter().filter(|target| target.outcome != TargetOutcome::Skipped);
        let dates = looked_at.filter_map(|target| target.collected_at.as_ref());
        let of_shards = shards.iter().flat_map(|shards| &shards.present).map(|shard| &shard.collected_at);
        let newest = dates.chain(of_shards).filter_map(|at| date(at)).max();
        let freshness = Freshness { newest, limits };
        let shards = present(shards, freshness)?;
        if let Some(Shards { count, present }) = &shards {
            let is_present = |index: &u32| present.iter().any(|shard| shard.index == *index);
            for index in (0..*count).filter(|index| !is_present(index)) {
                let message =
                    format!("no report of shard {index} of {count} is among the files, or it belongs to another run");
                not_audited.push(entry(SHARD, Some(format!("{index}/{count}")), "Missing", message));
            }
        }
        Ok(Self::new(latest(targets, freshness), shards, not_audited))
    }

    /// Marks each expected target without a report as not audited.
    pub fn expect(&mut self, targets: &[Target]) {
        for target in targets {
            let missing = self.missing(target);
            if missing.is_empty() {
                continue;
            }
            let mut report = TargetReport::from(target);
            let message = format!("no report of {} is among the files", missing.join(", "));
            let entry = entry(REPORT, None, "Missing", message);
            report.not_audited.push(NotAudited { account_id: Some(target.account_id.clone()), ..entry });
            report.outcome = TargetOutcome::NotAudited;
            self.targets.push(report);
        }
        self.finish();
    }

    /// Parts of a target that were neither audited nor reported as not audited, in words.
    fn missing(&self, target: &Target) -> Vec<String> {
        let there: Vec<&TargetReport> = self
            .targets
            .iter()
            .filter(|one| one.outcome != TargetOutcome::Skipped && one.account_ids.contains(&target.account_id))
            .collect();
        let account = &target.account_id;
        if there.is_empty() {
            return vec![format!("the account {account}")];
        }
        let clusters: Vec<Option<&String>> =
            if target.cluster_ids.is_empty() { vec![None] } else { target.cluster_ids.iter().map(Some).collect() };
        let regions: Vec<Option<&String>> =
            if target.regions.is_empty() { vec![None] } else { target.regions.iter().map(Some).collect() };
        let mut missing = Vec::new();
        for cluster_id in clusters {
            for region in &regions {
                let is_there = |one: &&TargetReport| {
                    let is_in = region.is_none_or(|region| one.regions.is_empty() || one.regions.contains(region));
                    is_in && cluster_id.map_or(one.cluster_ids.is_empty(), |id| covers_cluster(one, id))
                };
                if !there.iter().any(is_there) {
                    let what = cluster_id.map_or_else(|| "all clusters".to_owned(), |id| format!("the cluster `{id}`"));
                    let place = region.map_or_else(|| account.clone(), |region| format!("{account} in {region}"));
                    missing.push(format!("{what} of {place}"));
                }
            }
        }
        missing
    }
}

/// The shards of the run, each with its latest date.
fn present(shards: Vec<Shards>, freshness: Freshness) -> Result<Option<Shards>, MergeError> {
    // Shards of an earlier run determine the number of shards only if no shard of this run does.
    let is_fresh = |shards: &Shards| shards.present.iter().any(|shard| freshness.is_kept(date(&shard.collected_at)));
    let has_fresh = shards.iter().any(is_fresh);
    let mut run: Option<(u32, BTreeMap<u32, String>)> = None;
    for Shards { count, present } in shards.into_iter().filter(|shards| is_fresh(shards) || !has_fresh) {
        let (known, all) = run.get_or_insert((count, BTreeMap::new()));
        if *known != count {
            return Err(MergeError::OtherRun { one: count.min(*known), other: count.max(*known) });
        }
        for PresentShard { index, collected_at } in present {
            if freshness.is_kept(date(&collected_at)) {
                let latest = all.entry(index).or_insert_with(|| collected_at.clone());
                if date(latest) < date(&collected_at) {
                    *latest = collected_at;
                }
            }
        }
    }
    Ok(run.map(|(count, present)| {
        let present = present.into_iter().map(|(index, collected_at)| PresentShard { index, collected_at });
        Shards { count, present: present.collect() }
    }))
}

/// True if a target holds the report of a cluster, or states that there is none because it could not be audited.
fn covers_cluster(target: &TargetReport, cluster_id: &str) -> bool {
    let is_named = target.cluster_ids.is_empty() || target.cluster_ids.iter().any(|id| id == cluster_id);
    let is_told = target.outcome == TargetOutcome::NotAudited && is_named;
    is_told || target.reports.iter().any(|report| report.cluster_id == cluster_id && !report.is_left_over())
}

impl From<&Target> for TargetReport {
    /// Creates a target without results.
    fn from(target: &Target) -> Self {
        Self {
            name: target.name.clone(),
            role: target.role.clone(),
            regions: target.regions.clone(),
            cluster_ids: target.cluster_ids.clone(),
            ..Self::new(vec![target.account_id.clone()])
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

fn date(at: &str) -> Option<Timestamp> {
    at.parse().ok()
}

pub(super) fn read_at(target: &TargetReport) -> Option<Timestamp> {
    target.collected_at.as_deref().and_then(date)
}

/// Orders two reports of one target by which counts: skipped ones first, then the earlier, then the better; the
/// greatest counts. Ties are decided by content, so that the order of the files does not matter.
fn weigh(one: &TargetReport, other: &TargetReport) -> Ordering {
    let weight = |target: &TargetReport| {
        let worst = Severity::WORST_FIRST
            .map(|severity| target.reports.iter().map(|report| report.count_findings(severity)).sum::<usize>());
        (target.outcome != TargetOutcome::Skipped, read_at(target), !target.is_complete(), worst)
    };
    let text = |target: &TargetReport| serde_json::to_string(target).unwrap_or_default();
    let by_text = || if one == other { Ordering::Equal } else { text(one).cmp(&text(other)) };
    weight(one).cmp(&weight(other)).then_with(|| one.origin.by_content(&other.origin).unwrap_or_else(by_text))
}

/// The report of each target that counts; one of another run is not audited.
fn latest(targets: Vec<TargetReport>, freshness: Freshness) -> Vec<TargetReport> {
    let mut by_key: BTreeMap<_, TargetReport> = BTreeMap::new();
    for target in targets {
        let (account_ids, role, regions, cluster_ids) = target.key();
        let key = (account_ids.to_vec(), role.map(str::to_owned), regions.to_vec(), cluster_ids.to_vec());
        if by_key.get(&key).is_none_or(|known| weigh(known, &target) == Ordering::Less) {
            by_key.insert(key, target);
        }
    }
    let is_kept =
        |target: &TargetReport| target.outcome == TargetOutcome::Skipped || freshness.is_kept(read_at(target));
    by_key.into_values().map(|target| if is_kept(&target) { target } else { stale(target, freshness) }).collect()
}

/// A target whose report belongs to another run.
fn stale(target: TargetReport, freshness: Freshness) -> TargetReport {
    let newest = freshness.newest.map(|newest| format!("{newest:.0}")).unwrap_or_default();
    let (reason, message) = match &target.collected_at {
        Some(read) => ("TooOld", format!("its report of {read} belongs to another run (the newest: {newest})")),
        None => ("NoDate", format!("its report has no date, but the newest is of {newest}")),
    };
    let not_audited =
        NotAudited { account_id: target.account_ids.first().cloned(), ..entry(REPORT, None, reason, message) };
    TargetReport {
        outcome: TargetOutcome::NotAudited,
        why: None,
        not_audited: vec![not_audited],
        gone_cluster_ids: Vec::new(),
        missing_cluster_ids: Vec::new(),
        reports: Vec::new(),
        origin: Origin::default(),
        ..target
    }
}
