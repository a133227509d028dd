//! A finding as a report writes it.

use serde::{Deserialize, Serialize};

use crate::finding::{self, Applicability, ResourceRef, Severity, Status};
use crate::kubernetes::Place;
use crate::membership::Confidence;
use crate::transition::{self, Call};

/// A finding of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    pub severity: Severity,
    /// Confidence that its resources belong to the cluster.
    pub confidence: Confidence,
    /// The resource it is about; the first of them if one cause affects several.
    pub resource: ResourceRef,
    /// Other resources: the cause, and others that it affects.
    pub related: Vec<ResourceRef>,
    /// Places in files; empty for resources of an account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// One sentence with the facts.
    pub message: String,
    /// One sentence on what breaks.
    pub impact: String,
    /// Proposed fix.
    pub fix: Fix,
    /// Caveats to know before it is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// Stable over runs: rule, resource or cause, and the defect; no times, no order.
    pub fingerprint: String,
    /// Status relative to an earlier report.
    pub status: Status,
    /// Severity in the earlier report that this one is compared with, if it was different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_severity: Option<Severity>,
    /// True if the earlier report that this one is compared with did not run the rule: the rule is new, not the defect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rule_is_new: bool,
    /// Waiver of the finding, valid or expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<finding::Waiver>,
    /// Monthly cost of resources that were left behind, if prices were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly_cost: Option<finding::MonthlyCost>,
    /// Actions that it is about, also as patterns; empty if it is not about certain actions, or read from a file.
    #[serde(skip)]
    pub(crate) actions: Unwritten<Vec<String>>,
}

/// A fact that a report does not write. Findings are equal if what they write is equal: one that was read back is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unwritten<Fact>(pub(crate) Fact);

impl<Fact> PartialEq for Unwritten<Fact> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<Fact> Eq for Unwritten<Fact> {}

impl Finding {
    /// Change since the report that this one is compared with, in a word or two.
    #[must_use]
    pub fn change(&self) -> Option<String> {
        match (self.status, self.previous_severity) {
            (Status::Waived, _) => None,
            (Status::New, _) if self.rule_is_new => Some("new rule".to_owned()),
            (Status::New, _) => Some("new".to_owned()),
            (_, Some(before)) => Some(format!("was {}", before.name())),
            (_, None) => None,
        }
    }

    /// True if it is new, or worse than it was.
    #[must_use]
    pub fn is_new_or_worse(&self) -> bool {
        let is_worse = self.previous_severity.is_some_and(|before| before < self.severity);
        self.is_open() && (self.status == Status::New || is_worse)
    }

    /// Place in a file, or the resource.
    #[must_use]
    pub fn place(&self) -> String {
        match self.locations.first() {
            Some(location) => format!("{}:{}:{}", location.file, location.line, location.column),
            None => self.resource.id.clone(),
        }
    }

    /// True if it needs action: it is present and not waived.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.status {
            Status::New | Status::Unchanged => true,
            Status::Resolved | Status::Unknown | Status::Waived => false,
        }
    }

    /// Number of further resources of the same kind that it affects.
    #[must_use]
    pub fn more(&self) -> usize {
        self.related.iter().filter(|related| related.kind == self.resource.kind).count()
    }
}

impl From<&finding::Finding> for Finding {
    fn from(finding: &finding::Finding) -> Self {
        Self {
            rule: finding.rule.to_owned(),
            severity: finding.severity,
            confidence: finding.confidence,
            resource: finding.resource.clone(),
            related: finding.related.clone(),
            locations: finding.locations.iter().map(Location::from).collect(),
            message: finding.message.clone(),
            impact: finding.impact.clone(),
            fix: Fix {
                applicability: finding.fix.applicability,
                summary: finding.fix.summary.clone(),
                changes: transition::calls(&finding.commands),
                choices: finding.fix.choices.iter().map(Choice::from).collect(),
                untried: finding.fix.untried.clone(),
            },
            caveats: finding
                .caveats
                .iter()
                .map(|caveat| Caveat { kind: caveat.kind(), message: caveat.to_string() })
                .collect(),
            fingerprint: finding.fingerprint.clone(),
            status: finding.status,
            previous_severity: None,
            rule_is_new: false,
            waiver: finding.waiver.clone(),
            monthly_cost: finding.monthly_cost.clone(),
            actions: Unwritten(finding.actions.clone()),
        }
    }
}

/// A caveat to know before a finding is fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    pub kind: finding::CaveatKind,
    /// One sentence.
    pub message: String,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, as it was named.
    pub file: String,
    /// Address of the document in the file, for templates and plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Zero-based position of the statement, for policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
    /// One-based line on which it begins.
    pub line: usize,
    /// One-based column at which it begins, in characters.
    pub column: usize,
    /// One-based line on which it ends.
    pub end_line: usize,
    /// One-based column after its last character.
    pub end_column: usize,
}

impl From<&Place> for Location {
    fn from(place: &Place) -> Self {
        Self {
            file: place.file.to_string(),
            address: None,
            statement: None,
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
        }
    }
}

/// Proposed fix of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// Applicability: who decides on the fix.
    pub applicability: Applicability,
    /// One sentence on what to do.
    pub summary: String,
    /// Calls that apply it, as far as they are known and passed a trial on a copy of the account.
    pub changes: Vec<Call>,
    /// Answers to choose from, if there is a question.
    pub choices: Vec<Choice>,
    /// Commands that were not tried, because no copy of the account shows their effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<String>,
}

impl Fix {
    /// The fix in words, with the commands that were not tried: for formats that have no place for commands.
    #[must_use]
    pub fn described(&self) -> String {
        finding::described(&self.summary, &self.untried)
    }

    /// Shell lines to copy: tried commands first, then untried ones, marked as such.
    #[must_use]
    pub fn shown_commands(&self) -> Vec<String> {
        let tried = self.changes.iter().flat_map(Call::shown_commands);
        let untried = self.untried.iter().flat_map(|command| ["# not tried".to_owned(), command.clone()]);
        tried.chain(untried).collect()
    }
}

/// One of the answers to a question that only the operator can decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The answer.
    pub value: String,
    /// Meaning of the answer.
    pub summary: String,
    /// Calls that follow from it; empty if the tool cannot write it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Call>,
}

impl From<&finding::Choice> for Choice {
    fn from(choice: &finding::Choice) -> Self {
        let refused = choice.refused.as_ref();
        Self {
            value: choice.value.clone(),
            summary: refused
                .map_or_else(|| choice.summary.clone(), |why| format!("{} (refused: {why})", choice.summary)),
            changes: if refused.is_some() { Vec::new() } else { transition::calls(&choice.changes) },
        }
    }
}
