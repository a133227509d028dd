//! View of a report for the formats of other tools: of a cluster, of policies in files, or of a comparison.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use sha2::{Digest, Sha256};

use crate::finding::{Severity, Waiver};
use crate::policy::lint::CHECKS;
use crate::rules::{self, Outcome};
use crate::text;

use super::{
    Comparison, Configuration, Finding, GoneFinding, LintReport, NotAudited, PolicyDiffFindings, PolicyLintReport,
    Report, ReportSet, RuleOutcome, TargetOutcome, Tool,
};

/// A finding and its cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'r> {
    /// The cluster, if there are reports of several.
    pub cluster_id: Option<&'r str>,
    pub finding: &'r Finding,
}

impl Deref for Found<'_> {
    type Target = Finding;

    fn deref(&self) -> &Finding {
        self.finding
    }
}

/// Changes since an earlier report.
#[derive(Debug)]
pub(crate) struct Changes<'r> {
    /// Changes in a few words.
    pub description: String,
    /// Findings that are no longer found.
    pub resolved: Vec<Gone<'r>>,
    /// Findings that were not checked again.
    pub unknown: Vec<Gone<'r>>,
}

/// A finding of an earlier report that is not in this one, with its cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone<'r> {
    /// The finding as it was.
    pub found: Found<'r>,
    /// Reason why it is not known if it is still there.
    pub why: Option<&'r str>,
}

impl<'r> Found<'r> {
    /// Unique key: two clusters may have the same finding on a resource that they share.
    #[must_use]
    pub(crate) fn key(&self) -> Cow<'r, str> {
        let Some(cluster_id) = self.cluster_id else { return Cow::Borrowed(&self.finding.fingerprint) };
        let mut hash = Sha256::new();
        hash.update((cluster_id.len() as u64).to_be_bytes());
        hash.update(cluster_id);
        hash.update(&self.finding.fingerprint);
        Cow::Owned(text::hex(&hash.finalize(), 16))
    }

    /// Its place, and its cluster.
    #[must_use]
    pub(crate) fn full_place(&self) -> String {
        match self.cluster_id {
            Some(cluster_id) => format!("{cluster_id}: {}", self.place()),
            None => self.place(),
        }
    }
}

/// Findings of a report, and the gaps in them.
#[derive(Debug)]
pub(crate) struct ReportView<'r> {
    /// Tool that wrote it.
    pub tool: &'r Tool,
    /// Subject of the audit, in words.
    pub subject: String,
    /// The cluster, if it is only one.
    pub cluster_id: Option<&'r str>,
    /// Distinguishes it from other reports of the tool; the same in every run.
    pub category: &'r str,
    /// Configuration files that the findings were made with, each with the severities that it changes.
    pub configurations: Vec<String>,
    /// Time at which the evidence was read, if it is known.
    pub collected_at: Option<&'r str>,
    /// True if everything could be audited.
    pub complete: bool,
    /// Parts that could not be audited.
    pub not_audited: Cow<'r, [NotAudited]>,
    /// True if there was nothing to audit at all.
    pub is_nothing: bool,
    /// Targets in which there was nothing to audit.
    pub nothing: Vec<NotAudited>,
    /// Findings, in the order of the report.
    pub findings: Vec<Found<'r>>,
    /// Changes since an earlier report.
    pub changes: Option<Changes<'r>>,
    /// Outcome of each rule, by id.
    pub rules: Cow<'r, [RuleOutcome]>,
}

impl<'r> From<&'r Report> for ReportView<'r> {
    fn from(report: &'r Report) -> Self {
        Self {
            tool: &report.tool,
            subject: format!("cluster {}", report.cluster_id),
            category: &report.cluster_id,
            configurations: report.configuration.iter().map(Configuration::describe).collect(),
            collected_at: report.source.collected_at.as_deref(),
            complete: report.complete,
            not_audited: Cow::Borrowed(&report.not_audited),
            is_nothing: report.nothing_to_audit,
            nothing: report.nothing_entry().into_iter().collect(),
            findings: alone(&report.findings),
            cluster_id: Some(&report.cluster_id),
            changes: report.comparison.as_ref().map(|comparison| Changes {
                description: comparison.describe(),
                resolved: gone(None, &comparison.resolved).collect(),
                unknown: gone(None, &comparison.unknown).collect(),
            }),
            rules: Cow::Borrowed(&report.rules),
        }
    }
}

impl<'r> From<&'r PolicyLintReport> for ReportView<'r> {
    fn from(report: &'r PolicyLintReport) -> Self {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &report.findings {
            *found.entry(&finding.rule).or_default() += 1;
        }
        // A text that is not a policy cannot be checked further.
        let unreadable: BTreeSet<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "syntax")
            .map(|finding| finding.resource.id.as_str())
            .collect();
        let checked = report.policies.len() - unreadable.len().min(report.policies.len());
        let rules = CHECKS.iter().map(|(check, _, _)| RuleOutcome {
            rule: (*check).into(),
            outcome: match (found.contains_key(check), checked) {
                (true, _) => Outcome::Failed,
                (false, 0) if report.policies.is_empty() => Outcome::NotApplicable,
                (false, 0) => Outcome::NotAudited,
                (false, _) => Outcome::Passed,
            },
            checked: if *check == "syntax" { report.policies.len() } else { checked },
            why: match (report.policies.len(), unreadable.len()) {
                (0, _) => Some("there is no policy".into()),
                (_, 0) => None,
                (_, number) => Some(format!("{} could not be read", text::count(number, "policy document")).into()),
            },
        });
        let left_out = report.left_out.iter().map(|what| ("skipped", what.clone()));
        let without =
            report.without_policies.iter().map(|file| ("no policies", format!("no policies found in {file}")));
        let not_audited =
            left_out.chain(without).map(|(reason, message)| NotAudited::for_policy(reason, message, Vec::new()));
        Self {
            tool: &report.tool,
            subject: text::count(checked, "policy document"),
            category: "policy-lint",
            configurations: Vec::new(),
            collected_at: None,
            complete: report.left_out.is_empty() && report.without_policies.is_empty(),
            not_audited: not_audited.collect(),
            is_nothing: false,
            nothing: Vec::new(),
            findings: alone(&report.findings),
            cluster_id: None,
            changes: None,
            rules: rules.collect(),
        }
    }
}

impl<'r> From<&'r LintReport> for ReportView<'r> {
    fn from(report: &'r LintReport) -> Self {
        let left_out = report.left_out.iter();
        let not_audited = left_out.map(|what| NotAudited::for_policy("skipped", what.clone(), Vec::new()));
        Self {
            tool: &report.tool,
            subject: text::count(report.files.len(), "file"),
            category: "lint",
            configurations: Vec::new(),
            collected_at: None,
            complete: report.left_out.is_empty(),
            not_audited: not_audited.collect(),
            is_nothing: false,
            nothing: Vec::new(),
            findings: alone(&report.findings),
            cluster_id: None,
            changes: None,
            rules: Cow::Borrowed(&report.rules),
        }
    }
}

impl<'r> From<&'r PolicyDiffFindings> for ReportView<'r> {
    fn from(diff: &'r PolicyDiffFindings) -> Self {
        Self {
            tool: &diff.tool,
            subject: text::count(diff.roles, "role"),
            category: "policy-diff",
            configurations: Vec::new(),
            collected_at: None,
            complete: diff.not_audited.is_empty(),
            not_audited: Cow::Borrowed(&diff.not_audited),
            is_nothing: false,
            nothing: Vec::new(),
            findings: alone(&diff.findings),
            cluster_id: None,
            changes: None,
            rules: Cow::Borrowed(&diff.rules),
        }
    }
}

/// Findings of one report.
fn alone(findings: &[Finding]) -> Vec<Found<'_>> {
    findings.iter().map(|finding| Found { cluster_id: None, finding }).collect()
}

impl<'r> From<&'r ReportSet> for ReportView<'r> {
    fn from(set: &'r ReportSet) -> Self {
        let found = |report: &'r Report| {
            let cluster_id = Some(report.cluster_id.as_str());
            report.findings.iter().map(move |finding| Found { cluster_id, finding })
        };
        let mut findings: Vec<Found<'r>> = set.reports().flat_map(found).collect();
        // Each report has its own order; the worst of all comes first.
        findings.sort_by(|a, b| (b.severity, &a.rule, a.cluster_id).cmp(&(a.severity, &b.rule, b.cluster_id)));
        Self {
            tool: &set.tool,
            subject: format!(
                "{} in {}",
                text::count(set.summary.clusters, "cluster"),
                text::count(
                    set.count_targets(TargetOutcome::Audited) + set.count_targets(TargetOutcome::Empty),
                    "target"
                )
            ),
            category: "targets",
            configurations: configurations(set),
            collected_at: set.targets.iter().filter_map(|target| target.collected_at.as_deref()).max(),
            complete: set.complete,
            not_audited: set.unread().cloned().collect(),
            is_nothing: set.is_nothing(),
            nothing: set.nothing(),
            findings,
            cluster_id: None,
            changes: changes(set),
            rules: outcomes(set).into(),
        }
    }
}

/// The configurations of all reports of a set, each once.
fn configurations(set: &ReportSet) -> Vec<String> {
    let used = set.reports().filter_map(|report| report.configuration.as_ref());
    let described: BTreeSet<String> = used.map(Configuration::describe).collect();
    described.into_iter().collect()
}

fn changes(set: &ReportSet) -> Option<Changes<'_>> {
    let of = |list: fn(&Comparison) -> &Vec<GoneFinding>| {
        let compared = set.reports().filter_map(|report| Some((report, report.comparison.as_ref()?)));
        compared.flat_map(move |(report, comparison)| gone(Some(&report.cluster_id), list(comparison))).collect()
    };
    Some(Changes { description: set.changes()?, resolved: of(|one| &one.resolved), unknown: of(|one| &one.unknown) })
}

fn gone<'r>(cluster_id: Option<&'r str>, list: &'r [GoneFinding]) -> impl Iterator<Item = Gone<'r>> {
    list.iter().map(move |gone| Gone { found: Found { cluster_id, finding: &gone.finding }, why: gone.why.as_deref() })
}

/// Outcome of each rule over all reports of a set: the worst one.
fn outcomes(set: &ReportSet) -> Vec<RuleOutcome> {
    /// Reports by outcome, resources, and the first reason of each outcome.
    #[derive(Default)]
    struct Together<'r> {
        reports: BTreeMap<&'static str, (usize, Option<&'r str>)>,
        checked: usize,
    }
    let mut rules: BTreeMap<&str, Together<'_>> = BTreeMap::new();
    for rule in set.reports().flat_map(|report| &report.rules) {
        let together = rules.entry(&rule.rule).or_default();
        together.checked = together.checked.saturating_add(rule.checked);
        let (number, why) = together.reports.entry(rule.outcome.name()).or_default();
        *number += 1;
        *why = why.or(rule.why.as_deref());
    }
    let worst_first = [Outcome::Failed, Outcome::NotAudited, Outcome::Passed, Outcome::NotApplicable];
    let outcome = |(rule, together): (&str, Together<'_>)| {
        let worst = worst_first.into_iter().find(|outcome| together.reports.contains_key(outcome.name()));
        let outcome = worst.unwrap_or(Outcome::NotApplicable);
        let all: usize = together.reports.values().map(|(number, _)| number).sum();
        let (number, why) = together.reports.get(outcome.name()).copied().unwrap_or_default();
        RuleOutcome {
            rule: rule.into(),
            outcome,
            checked: together.checked,
            why: why.map(|why| match all {
                1 => why.into(),
                all => format!("in {number} of {all} clusters: {why}").into(),
            }),
        }
    };
    rules.into_iter().map(outcome).collect()
}

impl ReportView<'_> {
    /// Findings that need action.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Found<'_>> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// Waived findings, each with its waiver.
    pub(crate) fn waived(&self) -> impl Iterator<Item = (&Found<'_>, &Waiver)> {
        let waived = self.findings.iter().filter(|finding| !finding.is_open());
        waived.filter_map(|finding| Some((finding, finding.waiver.as_ref()?)))
    }

    /// Number of rules with an outcome.
    #[must_use]
    pub(crate) fn count_rules(&self, outcome: rules::Outcome) -> usize {
        self.rules.iter().filter(|rule| rule.outcome == outcome).count()
    }

    /// The verdict in parts; without complete evidence it holds only for what was read.
    #[must_use]
    pub(crate) fn verdict(&self) -> Vec<VerdictPart> {
        let mut verdict: Vec<VerdictPart> = Vec::new();
        for severity in Severity::WORST_FIRST {
            let number = self.open().filter(|finding| finding.severity == severity).count();
            if number > 0 {
                verdict.push(VerdictPart::Found(severity, number));
            }
        }
        if verdict.is_empty() {
            verdict.push(match (self.is_nothing, self.complete) {
                (true, _) => VerdictPart::NothingToAudit,
                (false, true) => VerdictPart::NothingFound,
                (false, false) => VerdictPart::NothingFoundInPart,
            });
        }
        let waived = self.findings.len() - self.open().count();
        if waived > 0 {
            verdict.push(VerdictPart::Waived(waived));
        }
        if !self.complete {
            verdict.push(VerdictPart::NotAudited(self.not_audited.len()));
        }
        verdict
    }
}

/// Part of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerdictPart {
    /// Number of open findings of a severity.
    Found(Severity, usize),
    /// No cluster was found.
    NothingToAudit,
    /// Everything was audited.
    NothingFound,
    /// Not everything was audited.
    NothingFoundInPart,
    /// Number of waived findings.
    Waived(usize),
    /// Number of entries that were not audited.
    NotAudited(usize),
}

impl VerdictPart {
    /// The severity that its display has.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Self::Found(severity, _) => Some(severity),
            Self::NothingToAudit | Self::NotAudited(_) => Some(Severity::Warning),
            Self::NothingFound | Self::NothingFoundInPart | Self::Waived(_) => None,
        }
    }
}
