//! What the formats of other tools show of a report, whether of a cluster, of policies in files, or of a comparison.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Severity, Waiver};
use crate::policy::lint::CHECKS;
use crate::rules::{self, Outcome};
use crate::text;

use super::{Comparison, Finding, NotAudited, PolicyDiffFindings, PolicyLintReport, Report, RuleOutcome, Tool};

/// The findings of a report, and what they do not cover.
#[derive(Debug)]
pub struct ReportView<'r> {
    /// Who wrote it.
    pub tool: &'r Tool,
    /// What was audited, in words.
    pub subject: String,
    /// What tells it from other reports of the tool; the same in every run.
    pub category: &'r str,
    /// When the evidence was read, if that is known.
    pub collected_at: Option<&'r str>,
    /// Whether everything could be audited.
    pub complete: bool,
    /// What could not be.
    pub not_audited: Cow<'r, [NotAudited]>,
    /// Findings, in the order of the report.
    pub findings: &'r [Finding],
    /// What is new since an earlier report.
    pub comparison: Option<&'r Comparison>,
    /// What became of each rule, by its id.
    pub rules: Cow<'r, [RuleOutcome]>,
}

impl<'r> From<&'r Report> for ReportView<'r> {
    fn from(report: &'r Report) -> Self {
        Self {
            tool: &report.tool,
            subject: format!("cluster {}", report.cluster_id),
            category: &report.cluster_id,
            collected_at: report.source.collected_at.as_deref(),
            complete: report.complete,
            not_audited: Cow::Borrowed(&report.not_audited),
            findings: &report.findings,
            comparison: report.comparison.as_ref(),
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
        // Of a text that is no policy, nothing else can be said.
        let unreadable: BTreeSet<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "syntax")
            .map(|finding| finding.resource.id.as_str())
            .collect();
        let checked = report.policies.len() - unreadable.len().min(report.policies.len());
        let rules = CHECKS.iter().map(|(check, _, _)| RuleOutcome {
            rule: (*check).to_owned(),
            outcome: match (found.contains_key(check), checked) {
                (true, _) => Outcome::Failed,
                (false, 0) if report.policies.is_empty() => Outcome::NotApplicable,
                (false, 0) => Outcome::NotAudited,
                (false, _) => Outcome::Passed,
            },
            checked: if *check == "syntax" { report.policies.len() } else { checked },
            why: match (report.policies.len(), unreadable.len()) {
                (0, _) => Some("there is no policy".to_owned()),
                (_, 0) => None,
                (_, number) => Some(format!("{} could not be read", text::count(number, "policy document"))),
            },
        });
        let left_out = report.left_out.iter().map(|what| ("left out", what.clone()));
        let without =
            report.without_policies.iter().map(|file| ("no policies", format!("no policies found in {file}")));
        let not_audited =
            left_out.chain(without).map(|(reason, message)| NotAudited::of_policy(reason, message, Vec::new()));
        Self {
            tool: &report.tool,
            subject: text::count(checked, "policy document"),
            category: "policy-lint",
            collected_at: None,
            complete: report.left_out.is_empty() && report.without_policies.is_empty(),
            not_audited: not_audited.collect(),
            findings: &report.findings,
            comparison: None,
            rules: rules.collect(),
        }
    }
}

impl<'r> From<&'r PolicyDiffFindings> for ReportView<'r> {
    fn from(diff: &'r PolicyDiffFindings) -> Self {
        Self {
            tool: &diff.tool,
            subject: text::count(diff.roles, "role"),
            category: "policy-diff",
            collected_at: None,
            complete: diff.not_audited.is_empty(),
            not_audited: Cow::Borrowed(&diff.not_audited),
            findings: &diff.findings,
            comparison: None,
            rules: Cow::Borrowed(&diff.rules),
        }
    }
}

impl ReportView<'_> {
    /// The findings about which something is to be done.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// The findings that are left as they are, each with the decision.
    pub fn waived(&self) -> impl Iterator<Item = (&Finding, &Waiver)> {
        let waived = self.findings.iter().filter(|finding| !finding.is_open());
        waived.filter_map(|finding| Some((finding, finding.waiver.as_ref()?)))
    }

    /// How many rules came to an outcome.
    #[must_use]
    pub fn rules_of(&self, outcome: rules::Outcome) -> usize {
        self.rules.iter().filter(|rule| rule.outcome == outcome).count()
    }

    /// What it comes to, in a few words, each with how bad it is; nothing is only found in what was read.
    #[must_use]
    pub fn verdict(&self) -> Vec<(Option<Severity>, String)> {
        let mut verdict: Vec<(Option<Severity>, String)> = Vec::new();
        for severity in Severity::WORST_FIRST {
            let number = self.open().filter(|finding| finding.severity == severity).count();
            if number > 0 {
                verdict.push((Some(severity), text::count(number, severity.noun())));
            }
        }
        if verdict.is_empty() {
            let words = if self.complete { "nothing found" } else { "nothing found in what could be read" };
            verdict.push((None, words.to_owned()));
        }
        let waived = self.findings.len() - self.open().count();
        if waived > 0 {
            verdict.push((None, format!("{waived} waived")));
        }
        if !self.complete {
            verdict.push((Some(Severity::Warning), format!("{} not audited", self.not_audited.len())));
        }
        verdict
    }
}
