//! A finding as a report writes it.

use serde::{Deserialize, Serialize};

use crate::finding::{self, Applicability, ResourceRef, Severity, Status};
use crate::kubernetes::Place;
use crate::transition::{self, Call};
use crate::view::Confidence;

/// A finding of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// How sure it is that what it speaks of belongs to the cluster.
    pub confidence: Confidence,
    /// The resource it is about; the first of them when one cause shows on many.
    pub resource: ResourceRef,
    /// Other resources: what causes it, and where else it shows.
    pub related: Vec<ResourceRef>,
    /// Places in files; empty for resources of an account.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// One sentence with the facts.
    pub message: String,
    /// One sentence: what breaks.
    pub impact: String,
    /// What would fix it.
    pub fix: Fix,
    /// What a person has to know before it is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
    /// Stable over runs: rule, resource or cause, and what is wrong; no times, no order.
    pub fingerprint: String,
    /// Whether it was there before.
    pub status: Status,
    /// How bad it was in the report that this one is compared with, where that was something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_severity: Option<Severity>,
    /// True if the report that this one is compared with did not run the rule: what is new is the rule, not what it found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rule_is_new: bool,
    /// The decision to leave it as it is, or that it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<finding::Waiver>,
}

impl Finding {
    /// What has changed since the report that this one is compared with, in a word or two.
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

    /// Whether it is new, or worse than it was.
    #[must_use]
    pub fn is_new_or_worse(&self) -> bool {
        let is_worse = self.previous_severity.is_some_and(|before| before < self.severity);
        self.is_open() && (self.status == Status::New || is_worse)
    }

    /// Where it stands: the place in a file, or the resource.
    #[must_use]
    pub fn place(&self) -> String {
        match self.locations.first() {
            Some(location) => format!("{}:{}:{}", location.file, location.line, location.column),
            None => self.resource.id.clone(),
        }
    }

    /// Whether something is to be done about it: it is there, and not waived.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.status {
            Status::New | Status::Unchanged => true,
            Status::Resolved | Status::Unknown | Status::Waived => false,
        }
    }

    /// On how many more resources of the same kind it shows.
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
        }
    }
}

/// What a person has to know before a finding is fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// Its kind.
    pub kind: finding::CaveatKind,
    /// One sentence.
    pub message: String,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, as it was named.
    pub file: String,
    /// Which document of the file, for templates and plans.
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
    /// One-based column behind its last character.
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

/// What would fix a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// Who decides.
    pub applicability: Applicability,
    /// What to do, one sentence.
    pub summary: String,
    /// The calls that make it, as far as they are known and held when they were tried on a copy of the account.
    pub changes: Vec<Call>,
    /// The answers to choose from, when there is a question.
    pub choices: Vec<Choice>,
    /// Commands that were not tried, because no copy of the account shows their effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<String>,
}

impl Fix {
    /// What to do, with the commands that were not tried: for formats that have no place for commands.
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
    /// What it means.
    pub summary: String,
    /// The calls that follow from it; none where it is nothing that the tool could write.
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
