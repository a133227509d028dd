//! A finding of a rule: the resource, the impact, and the fix.

mod caveat;
mod cost;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::kubernetes::Place;
use crate::membership::Confidence;
use crate::resource::{ResourceKey, ResourceKind};
use crate::transition::Transition;

pub(crate) use caveat::Caveat;
pub use caveat::CaveatKind;
pub(crate) use cost::{Amount, MonthlyCost};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// It will break, or works only by chance.
    Warning,
    /// The controller fails, or silently skips something.
    Error,
}

impl Severity {
    /// All severities, worst first.
    pub const WORST_FIRST: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// The word used in reports and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The noun for a finding of this severity.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Info => "note",
            Self::Warning | Self::Error => self.name(),
        }
    }
}

/// A resource in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceRef {
    pub kind: ResourceKind,
    /// Its id; the ARN for IAM resources.
    pub id: String,
    /// ARN, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arn: Option<String>,
    /// `Name` tag or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Region, for regional resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

impl ResourceRef {
    /// A reference with kind and id only, as in `related`.
    #[must_use]
    pub fn bare(kind: ResourceKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), arn: None, name: None, region: None, account_id: None }
    }

    /// Key of the resource within its account and region.
    #[must_use]
    pub fn key(&self) -> ResourceKey<'_> {
        ResourceKey::new(self.kind, &self.id)
    }

    /// The reference without the fields that the main resource of a finding already has.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self { name: self.name.clone(), ..Self::bare(self.kind, self.id.clone()) }
    }
}

/// Required consent before a fix is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// The tool has nothing to write.
    None,
    /// Correct only with a choice that the tool cannot make.
    Choice,
    /// Deterministic, but it overwrites, deletes or widens something.
    Confirm,
    /// Adds what is missing, with the one valid value.
    Safe,
}

impl Applicability {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Choice => "choice",
            Self::Confirm => "confirm",
            Self::Safe => "safe",
        }
    }
}

/// One of the answers to a question that only the operator can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The answer.
    pub value: String,
    /// Its meaning.
    pub summary: String,
    /// The resulting writes; empty if the tool has nothing to write.
    pub changes: Vec<Transition>,
    /// Reason why these writes must not be made in the current state; `None` if the trial on a copy passed.
    pub refused: Option<String>,
}

impl Choice {
    /// An answer that requires manual action.
    #[must_use]
    pub fn advice(value: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { value: value.into(), summary: summary.into(), changes: Vec::new(), refused: None }
    }

    /// An answer with its writes.
    #[must_use]
    pub fn with(value: impl Into<String>, summary: impl Into<String>, changes: Vec<Transition>) -> Self {
        Self { value: value.into(), summary: summary.into(), changes, refused: None }
    }
}

/// Proposed fix of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Required consent.
    pub applicability: Applicability,
    /// The action, in one sentence.
    pub summary: String,
    /// The writes, if they are known; a report lists the calls that make them.
    pub changes: Vec<Transition>,
    /// The answers to choose from, if there is a question.
    pub choices: Vec<Choice>,
    /// Commands to run manually whose effect a copy of the account cannot show: they are not tried.
    pub untried: Vec<String>,
}

impl Fix {
    /// Advice without a write.
    #[must_use]
    pub fn none(summary: impl Into<String>) -> Self {
        Self::with(Applicability::None, summary, Vec::new())
    }

    /// A fix with its writes.
    #[must_use]
    pub fn with(applicability: Applicability, summary: impl Into<String>, changes: Vec<Transition>) -> Self {
        Self { applicability, summary: summary.into(), changes, choices: Vec::new(), untried: Vec::new() }
    }

    /// A question with its answers, the proposed one first: its writes are shown as those of the fix.
    #[must_use]
    pub fn choose(summary: impl Into<String>, choices: Vec<Choice>) -> Self {
        let changes = choices.first().map(|choice| choice.changes.clone()).unwrap_or_default();
        Self { choices, ..Self::with(Applicability::Choice, summary, changes) }
    }

    /// Adds a command that cannot be tried on a copy of the account.
    #[must_use]
    pub fn untried(mut self, command: impl Into<String>) -> Self {
        self.untried.push(command.into());
        self
    }
}

/// The summary with its untried commands, for formats without a separate place for commands.
pub(crate) fn described(summary: &str, untried: &[String]) -> String {
    if untried.is_empty() {
        return summary.to_owned();
    }
    format!("{summary} (not tried: {})", untried.join("; "))
}

/// Status of a finding relative to an earlier report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not in the earlier report.
    New,
    /// In the earlier report as well.
    Unchanged,
    /// In the earlier report, and no longer found.
    Resolved,
    /// In the earlier report, and not checked in this run.
    Unknown,
    /// Accepted in the configuration.
    Waived,
}

/// A decision to accept a finding, from the configuration or from a comment in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    pub reason: String,
    /// Person who decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The last valid day, in UTC; comments in files do not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// File and line of the waiver.
    pub place: String,
    /// True if that day has passed, so that the finding is open again.
    pub expired: bool,
}

impl Waiver {
    /// The decision in a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        let owner = self.owner.as_deref().map(|owner| format!(" by {owner}")).unwrap_or_default();
        let word = if self.expired { "waived until" } else { "until" };
        let until = self.expires.as_deref().map(|day| format!("{word} {day}{owner}, ")).unwrap_or_default();
        format!("{} ({until}{})", self.reason, self.place)
    }
}

impl Status {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unchanged => "unchanged",
            Self::Resolved => "resolved",
            Self::Unknown => "unknown",
            Self::Waived => "waived",
        }
    }
}

/// A finding of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Rule id.
    pub rule: &'static str,
    pub severity: Severity,
    /// Confidence that the finding's resources belong to the cluster: that of the weakest evidence for an instance that
    /// the finding names as a node.
    pub confidence: Confidence,
    /// The affected resource; the first of them if one cause affects several.
    pub resource: ResourceRef,
    /// Other resources: the cause, and further affected resources.
    pub related: Vec<ResourceRef>,
    /// Places in files.
    pub locations: Vec<Place>,
    /// One sentence with the facts.
    pub message: String,
    /// The impact, in one sentence.
    pub impact: String,
    /// Proposed fix.
    pub fix: Fix,
    /// The writes that a report prints as commands: initially those of the fix, later those that passed the trial on a
    /// copy.
    pub commands: Vec<Transition>,
    /// Facts to know before the fix is applied.
    pub caveats: Vec<Caveat>,
    /// Stable across runs: hash of rule, resource or cause, and defect; no times, no order.
    pub fingerprint: String,
    /// New, or waived.
    pub status: Status,
    /// The waiver, valid or expired.
    pub waiver: Option<Waiver>,
    /// The cost of resources that were left behind, if their prices were given.
    pub monthly_cost: Option<MonthlyCost>,
    /// Actions that it is about, also as patterns; empty if it is not about certain actions.
    pub actions: Vec<String>,
}

impl Finding {
    /// The fix and its caveats, in one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        self.with_caveats(&described(&self.fix.summary, &self.fix.untried))
    }

    /// A summary with its caveats, in one sentence.
    #[must_use]
    pub fn with_caveats(&self, summary: &str) -> String {
        self.caveats.iter().fold(summary.to_owned(), |advice, caveat| format!("{advice}; {caveat}"))
    }
}

/// Part of the identity of a finding: ids, names and keys as the cloud writes them, never text for display.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<String>);

impl Key {
    /// Creates a key of several parts, in their order.
    pub fn from_parts<Part: Into<String>>(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// Appends the parts of another key.
    #[must_use]
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        self.0.extend(other.into().0);
        self
    }
}

impl<Part: Into<String>> From<Part> for Key {
    fn from(part: Part) -> Self {
        Self(vec![part.into()])
    }
}

/// Identity of a finding within its rule, account and region. Severity, wording and the number of resources are not part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The resource of the finding.
    Resource,
    /// A property that several resources share: an Auto Scaling group, an instance profile, a VPC, their kind.
    Group(Key),
    /// A resource or a shared property together with something else: another cluster, a zone, a key.
    Pair(Key, Key),
}

/// The fingerprint of a rule, account and region, and cause on a resource: the first 128 bits of a SHA-256 in
/// hexadecimal.
#[must_use]
pub(crate) fn fingerprint(rule: &str, scope: &str, cause: &Cause, resource: &str) -> String {
    let of_resource = Key::from(resource);
    let (kind, keys): (&str, &[&Key]) = match cause {
        Cause::Resource => ("resource", &[&of_resource]),
        Cause::Group(group) => ("group", &[group]),
        Cause::Pair(one, other) => ("pair", &[one, other]),
    };
    let mut hash = Sha256::new();
    let mut push = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    };
    for part in [rule, scope, kind] {
        push(part);
    }
    for Key(parts) in keys {
        // The number keeps keys of several parts distinct; a key of one part is hashed unchanged.
        if parts.len() != 1 {
            push(&parts.len().to_string());
        }
        for part in parts {
            push(part);
        }
    }
    crate::text::hex(&hash.finalize(), 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_do_not_run_parts_together() {
        let of = |rule: &str, scope: &str, cause: Cause| fingerprint(rule, scope, &cause, "i-1");
        assert_ne!(of("a", "bc", Cause::Resource), of("ab", "c", Cause::Resource));
        assert_ne!(of("a", "b", Cause::Resource), of("a", "b", Cause::Group("i-1".into())));
        let pair = |one: &[&str], other: &[&str]| {
            of("a", "b", Cause::Pair(Key::from_parts(one.iter().copied()), Key::from_parts(other.iter().copied())))
        };
        assert_ne!(pair(&["vpc-1"], &["x y"]), pair(&["vpc-1 x"], &["y"]));
        assert_ne!(pair(&["vpc-1", "x"], &["y"]), pair(&["vpc-1"], &["x", "y"]));
        assert_ne!(pair(&["vpc-1", "x"], &["y"]), pair(&["vpc-1 x"], &["y"]));
    }
}
