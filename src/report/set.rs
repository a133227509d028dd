//! Reports of many targets: the audits and gaps of each, and the combined result.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::finding::{Severity, Status};
use crate::inventory::Provider;
use crate::json_input;

use super::compare::PickError;
use super::read::{BOM, SET_SCHEMA, probe_schema};
use super::{Account, GoneFinding, NotAudited, Report, ReportError, SCHEMA, Tool};

mod compare;
mod merge;
mod origin;
mod target;
mod whole;

pub use target::TargetReport;

pub use merge::{MergeInput, MergeLimits};
pub(crate) use origin::Origin;
pub(crate) use whole::{Keep, SharedTexts, Whole};

/// Reports of many targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportSet {
    pub schema: String,
    /// Tool that wrote it.
    pub tool: Tool,
    /// True if everything could be audited, in every target.
    pub complete: bool,
    /// Parts of a run that it holds, if the run was spread over several processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// Entries that could not be audited and belong to no target: missing shards, unreadable files.
    pub not_audited: Vec<NotAudited>,
    /// The targets, by account.
    pub targets: Vec<TargetReport>,
    /// Counts.
    pub summary: SetSummary,
}

/// Parts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shards {
    /// Number of shards of the run.
    pub count: u32,
    /// Shards that are present, by index.
    pub present: Vec<PresentShard>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresentShard {
    pub index: u32,
    /// Time of its run: it may hold no account, and so no other date.
    pub collected_at: String,
}

impl Shards {
    /// True if shards are missing.
    fn is_partial(&self) -> bool {
        u32::try_from(self.present.len()).is_ok_and(|present| present < self.count)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetOutcome {
    /// Audited; remaining gaps are listed in the target's reports.
    Audited,
    /// Read, but no cluster was found: there was nothing to audit, which is not the same as nothing wrong.
    #[serde(rename = "nothing_to_audit")]
    Empty,
    /// Could not be audited.
    NotAudited,
    /// Deliberately not audited.
    Skipped,
}

impl TargetOutcome {
    pub const ALL: [Self; 4] = [Self::Audited, Self::Empty, Self::NotAudited, Self::Skipped];

    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Audited => "audited",
            Self::Empty => "nothing_to_audit",
            Self::NotAudited => "not_audited",
            Self::Skipped => "skipped",
        }
    }

    /// The outcome in words, for display.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Audited => "audited",
            Self::Empty => "nothing to audit",
            Self::NotAudited => "not audited",
            Self::Skipped => "skipped",
        }
    }

    /// True if the target was read.
    #[must_use]
    pub fn is_read(self) -> bool {
        matches!(self, Self::Audited | Self::Empty)
    }
}

/// Counts of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSummary {
    /// Targets by outcome.
    pub targets: BTreeMap<String, usize>,
    /// Clusters that were audited.
    pub clusters: usize,
    /// Open findings, by severity.
    pub findings: BTreeMap<String, usize>,
    /// Findings waived by configuration.
    pub waived: usize,
    /// Everything that could not be audited, in all targets.
    pub not_audited: usize,
}

/// True if a text is the id of an account of any cloud.
fn is_account_id(id: &str) -> bool {
    [Provider::Aws, Provider::Alibaba].iter().any(|provider| provider.is_account_id(id))
}

impl From<Report> for ReportSet {
    fn from(report: Report) -> Self {
        Self::new(vec![TargetReport::from_report(report)], None, Vec::new())
    }
}

impl ReportSet {
    /// Creates a set of these targets, sorted and counted.
    #[must_use]
    pub fn new(targets: Vec<TargetReport>, shards: Option<Shards>, not_audited: Vec<NotAudited>) -> Self {
        let mut set = Self {
            schema: SET_SCHEMA.to_owned(),
            tool: Tool::this(),
            complete: false,
            shards,
            not_audited,
            targets,
            summary: SetSummary::default(),
        };
        set.finish();
        set
    }

    /// Sorts everything, and counts.
    fn finish(&mut self) {
        for target in &mut self.targets {
            target.sort();
        }
        self.targets.sort_by(|a, b| a.key().cmp(&b.key()));
        let place = |entry: &NotAudited| (entry.what.clone(), entry.resource.clone(), entry.message.clone());
        self.not_audited.sort_by_key(place);
        self.not_audited.dedup();
        self.complete = self.is_complete();
        self.summary = self.counted();
    }

    fn is_complete(&self) -> bool {
        self.not_audited.is_empty() && self.targets.iter().all(TargetReport::is_complete)
    }

    fn counted(&self) -> SetSummary {
        let mut summary = SetSummary::default();
        for outcome in TargetOutcome::ALL {
            summary.targets.insert(outcome.name().to_owned(), self.count_targets(outcome));
        }
        let reports: Vec<&Report> = self.reports().collect();
        for severity in Severity::WORST_FIRST {
            let number = reports.iter().map(|report| report.count_findings(severity)).sum();
            summary.findings.insert(severity.name().to_owned(), number);
        }
        summary.clusters = self.audited().count();
        summary.waived = reports.iter().map(|report| report.summary.waived).sum();
        summary.not_audited = self.unread().count();
        summary
    }

    /// Every report, by account and cluster.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.each_once().into_iter().map(|(_, report)| report)
    }

    /// Every report with its target. A cluster that two targets hold, such as a set and a single report, occurs once:
    /// in the one that was read later, or in the worse one if both were read at the same time.
    fn each_once(&self) -> Vec<(&TargetReport, &Report)> {
        self.told_apart().0
    }

    /// Reports that are shown, and those of clusters that another report shows.
    fn told_apart(&self) -> (Vec<(&TargetReport, &Report)>, Vec<(&TargetReport, &Report)>) {
        let all = || self.targets.iter().flat_map(|target| target.reports.iter().map(move |report| (target, report)));
        let rank = |target: &TargetReport, report: &Report| {
            (merge::read_at(target), report.worst(), !report.complete, target.cluster_ids.is_empty())
        };
        let mut held: BTreeMap<_, (usize, _)> = BTreeMap::new();
        for (index, (target, report)) in all().enumerate() {
            let rank = rank(target, report);
            let holder = held.entry(report.identity()).or_insert_with(|| (index, rank));
            if holder.1 < rank {
                *holder = (index, rank);
            }
        }
        let held: BTreeSet<usize> = held.into_values().map(|(index, _)| index).collect();
        let (shown, hidden): (Vec<_>, Vec<_>) = all().enumerate().partition(|(index, _)| held.contains(index));
        let without_index = |list: Vec<(usize, _)>| list.into_iter().map(|(_, one)| one).collect();
        (without_index(shown), without_index(hidden))
    }

    /// Reports of clusters that were audited, each with its target.
    pub fn audited(&self) -> impl Iterator<Item = (&TargetReport, &Report)> {
        // The remainder of an earlier report is not an audit.
        let is_audit = |(target, report): &(&TargetReport, &Report)| {
            target.outcome == TargetOutcome::Audited && !report.is_left_over()
        };
        self.each_once().into_iter().filter(is_audit)
    }

    /// Reports of clusters that were audited, those with the worst findings first.
    #[must_use]
    pub fn worst_first(&self) -> Vec<(&TargetReport, &Report)> {
        let mut rows: Vec<_> = self.audited().collect();
        rows.sort_by_key(|(_, report)| std::cmp::Reverse((report.worst(), report.not_audited.len())));
        rows
    }

    /// Everything that could not be audited, in all targets.
    pub fn unread(&self) -> impl Iterator<Item = &NotAudited> {
        let of_targets = self.targets.iter().flat_map(|target| &target.not_audited);
        // A gap in either of two reports of a cluster counts, whichever report is shown.
        let of_reports = self.targets.iter().flat_map(|target| &target.reports).flat_map(|report| &report.not_audited);
        self.not_audited.iter().chain(of_targets).chain(of_reports)
    }

    /// Number of targets with an outcome.
    #[must_use]
    pub fn count_targets(&self, outcome: TargetOutcome) -> usize {
        self.targets.iter().filter(|target| target.outcome == outcome).count()
    }

    /// Number of findings of a severity.
    #[must_use]
    pub fn count_findings(&self, severity: Severity) -> usize {
        self.summary.findings.get(severity.name()).copied().unwrap_or(0)
    }

    /// Reports for formats in which every entry belongs to one: entries without a cluster are in reports for any
    /// cluster.
    #[must_use]
    pub fn with_unread(&self) -> Vec<Cow<'_, Report>> {
        let mut all: Vec<Cow<'_, Report>> = self.reports().map(Cow::Borrowed).collect();
        let region = self.reports().flat_map(|report| &report.accounts).flat_map(|account| &account.regions).next();
        let region = || region.cloned().unwrap_or_else(|| "us-east-1".to_owned());
        let newest = self.targets.iter().filter_map(|target| target.collected_at.clone()).max();
        let mut add = |account_ids: &[String], regions: &[String], at: Option<String>, entries: &[NotAudited]| {
            if !entries.is_empty() {
                let regions = if regions.is_empty() { vec![region()] } else { regions.to_vec() };
                let account = |id: &String| Account {
                    account_id: id.clone(),
                    partition: "aws".to_owned(),
                    regions: regions.clone(),
                    caller: None,
                };
                let accounts = account_ids.iter().map(account).collect();
                all.push(Cow::Owned(Report::unread(accounts, at.or_else(|| newest.clone()), entries)));
            }
        };
        for target in &self.targets {
            let nothing = (target.outcome == TargetOutcome::Empty)
                .then(|| NotAudited::nothing(target.account_ids.first(), target.regions.first(), target.reason()));
            let entries: Vec<NotAudited> = target.not_audited.iter().cloned().chain(nothing).collect();
            add(&target.account_ids, &target.regions, target.collected_at.clone(), &entries);
        }
        for (target, report) in self.told_apart().1 {
            add(&target.account_ids, &target.regions, target.collected_at.clone(), &report.not_audited);
        }
        let first = self.targets.iter().map(|target| target.account_ids.as_slice()).next().unwrap_or_default();
        add(first, &[], None, &self.not_audited);
        all
    }

    /// Targets in which no cluster was found.
    pub fn empty(&self) -> impl Iterator<Item = &TargetReport> {
        self.targets.iter().filter(|target| target.outcome == TargetOutcome::Empty)
    }

    /// True if no cluster was found in any target, and none of them failed. A part of a run may be empty: the result of
    /// the run is known when its parts are merged.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let is_part = self.shards.as_ref().is_some_and(Shards::is_partial);
        !is_part
            && self.not_audited.is_empty()
            && self.targets.iter().all(|target| matches!(target.outcome, TargetOutcome::Empty | TargetOutcome::Skipped))
            && self.audited().next().is_none()
    }

    /// Targets in which there was nothing to audit, each as an entry for formats without targets.
    #[must_use]
    pub fn nothing(&self) -> Vec<NotAudited> {
        let of = |target: &TargetReport| {
            NotAudited::nothing(target.account_ids.first(), target.regions.first(), target.reason())
        };
        self.empty().map(of).collect()
    }

    /// True if nothing of any target could be read.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        let mut audited = self.targets.iter().filter(|target| target.outcome == TargetOutcome::Audited);
        let is_seen = |target: &TargetReport| {
            target.is_complete() || target.reports.iter().any(|report| !report.is_empty_handed())
        };
        // One part of a run may have nothing to do.
        let is_part = self.shards.as_ref().is_some_and(Shards::is_partial) && self.complete;
        !is_part && !self.is_nothing() && !audited.any(is_seen)
    }

    /// Dates at which the evidence was read, in words.
    #[must_use]
    pub fn evidence(&self) -> String {
        let read = || self.targets.iter().filter(|target| target.outcome != TargetOutcome::Skipped);
        let dates = || read().filter_map(|target| target.collected_at.as_deref());
        match (dates().min(), dates().max()) {
            (Some(first), Some(last)) if first == last => format!("of {first}"),
            (Some(first), Some(last)) => format!("of {first} to {last}"),
            _ => "without a date".to_owned(),
        }
    }

    /// Changes since the reports that these were compared with, in a few words.
    #[must_use]
    pub fn changes(&self) -> Option<String> {
        let compared: Vec<_> = self.reports().filter_map(|report| report.comparison.as_ref()).collect();
        if compared.is_empty() {
            return None;
        }
        let new: usize =
            self.reports().flat_map(|report| &report.findings).filter(|one| one.status == Status::New).count();
        let unchanged = compared.iter().fold(0_usize, |all, comparison| all.saturating_add(comparison.unchanged));
        let gone = |of: fn(&super::Comparison) -> &Vec<GoneFinding>| {
            compared.iter().map(|comparison| of(comparison).len()).sum::<usize>()
        };
        let (resolved, unknown) = (gone(|one| &one.resolved), gone(|one| &one.unknown));
        let since = compared.iter().filter_map(|comparison| comparison.collected_at.as_deref()).min();
        let since = since.unwrap_or("reports without a date");
        Some(format!("{new} new, {unchanged} unchanged, {resolved} resolved, {unknown} unknown since {since}"))
    }

    /// Picks the one report of a cluster.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn pick(&self, cluster_id: &str, account_id: Option<&str>, region: Option<&str>) -> Result<Report, PickError> {
        let is_meant = |report: &Report| {
            report.cluster_id == cluster_id
                && account_id.is_none_or(|id| report.accounts.iter().any(|account| account.account_id == id))
                && region.is_none_or(|region| report.regions().contains(region))
        };
        let mut found: Vec<Report> = self.reports().filter(|report| is_meant(report)).cloned().collect();
        let place = |account: &Account| format!("{} ({})", account.account_id, account.regions.join(", "));
        let accounts: Vec<String> = found.iter().flat_map(|report| report.accounts.iter().map(place)).collect();
        match (found.pop(), found.is_empty()) {
            (Some(report), true) => Ok(report),
            (Some(_), false) => Err(PickError::Several { cluster_id: cluster_id.to_owned(), accounts }),
            (None, _) => Err(PickError::None { cluster_id: cluster_id.to_owned() }),
        }
    }

    /// True if the bytes declare the schema of a set.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        probe_schema(bytes).as_deref() == Some(SET_SCHEMA)
    }

    /// Reads a saved set, or a saved report as a set of one; `file` is only used in errors.
    ///
    /// # Errors
    /// When it is neither, one of another schema, or one that contradicts itself.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, ReportError> {
        if !Self::is_one(bytes) {
            return Report::from_slice(file, bytes).map(Self::from);
        }
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        let set: Self = json_input::parse_complete(bytes)
            .map_err(|error| ReportError::Malformed { file: file.to_owned(), error })?;
        match set.contradiction() {
            Some((pointer, reason)) => Err(ReportError::Contradiction { file: file.to_owned(), pointer, reason }),
            None => Ok(set),
        }
    }

    /// The first contradiction in a set, with its JSON pointer.
    fn contradiction(&self) -> Option<(String, String)> {
        for (index, target) in self.targets.iter().enumerate() {
            for (number, report) in target.reports.iter().enumerate() {
                let schema = || ("/schema".to_owned(), format!("is not `{SCHEMA}`"));
                let age = || ("/source/collected_at".to_owned(), "differs from the date of the target".to_owned());
                let is_audit = target.outcome == TargetOutcome::Audited && !report.is_left_over();
                let wrong = (report.schema != SCHEMA)
                    .then(schema)
                    .or_else(|| report.contradiction())
                    .or_else(|| (is_audit && report.source.collected_at != target.collected_at).then(age));
                if let Some((pointer, reason)) = wrong {
                    return Some((format!("/targets/{index}/reports/{number}{pointer}"), reason));
                }
            }
            let is_date = |at: &String| at.parse::<Timestamp>().is_ok();
            let reason = match target.outcome {
                TargetOutcome::NotAudited if target.not_audited.is_empty() => "is not audited, but has no reason",
                TargetOutcome::Skipped if target.why.is_none() => "is skipped, but has no reason",
                _ if !target.account_ids.iter().all(|id| is_account_id(id)) => "has an invalid account",
                _ if target.account_ids.is_empty() && !target.reports.is_empty() => "names no account",
                _ if !target.collected_at.iter().all(is_date) => "has an invalid date",
                _ => continue,
            };
            return Some((format!("/targets/{index}"), reason.to_owned()));
        }
        if let Some(shards) = &self.shards
            && !(shards.count > 0
                && shards.present.is_sorted_by(|one, other| one.index < other.index)
                && shards
                    .present
                    .iter()
                    .all(|shard| shard.index < shards.count && shard.collected_at.parse::<Timestamp>().is_ok()))
        {
            return Some(("/shards".to_owned(), "are not parts of one run".to_owned()));
        }
        if self.complete != self.is_complete() {
            return Some(("/complete".to_owned(), "contradicts the entries that were not audited".to_owned()));
        }
        (self.summary != self.counted()).then(|| ("/summary".to_owned(), "does not match the content".to_owned()))
    }
}
