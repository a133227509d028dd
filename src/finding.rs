//! What a rule found: on which resource, what it breaks, and what would fix it.

mod caveat;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::kubernetes::Place;
use crate::resource::{ResourceKey, ResourceKind};
use crate::transition::Transition;
use crate::view::Confidence;

pub use caveat::{Caveat, CaveatKind};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// Something will break, or works by luck.
    Warning,
    /// The controller fails, or silently leaves something out.
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

    /// What a finding of it is called in a sentence.
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
    /// What it is.
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
    /// Account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

impl ResourceRef {
    /// A reference by kind and id alone, as in `related`.
    #[must_use]
    pub fn bare(kind: ResourceKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), arn: None, name: None, region: None, account_id: None }
    }

    /// What it is within its account and region.
    #[must_use]
    pub fn key(&self) -> ResourceKey<'_> {
        ResourceKey::new(self.kind, &self.id)
    }

    /// The same without what the main resource of a finding already says.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self { name: self.name.clone(), ..Self::bare(self.kind, self.id.clone()) }
    }
}

/// Who decides whether a fix is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// There is nothing the tool could write.
    None,
    /// Right only with a choice that the tool cannot make.
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
    /// What it means.
    pub summary: String,
    /// The writes that follow from it; none where it is nothing that the tool could write.
    pub changes: Vec<Transition>,
    /// Why these writes must not be made as things are; `None` where the trial on a copy held.
    pub refused: Option<String>,
}

impl Choice {
    /// An answer after which a person has to act.
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

/// What would fix a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Who decides.
    pub applicability: Applicability,
    /// What to do, one sentence.
    pub summary: String,
    /// The writes, when they are known; a report names the calls that make them.
    pub changes: Vec<Transition>,
    /// The answers to choose from, when there is a question.
    pub choices: Vec<Choice>,
    /// Commands for a person whose effect no copy of the account shows: they are not tried.
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

    /// The same with a command that no copy of the account can try.
    #[must_use]
    pub fn untried(mut self, command: impl Into<String>) -> Self {
        self.untried.push(command.into());
        self
    }
}

/// What to do, with the commands that were not tried, for where commands have no place of their own.
pub(crate) fn described(summary: &str, untried: &[String]) -> String {
    if untried.is_empty() {
        return summary.to_owned();
    }
    format!("{summary} (not tried: {})", untried.join("; "))
}

/// Whether a finding was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not known from an earlier report.
    New,
    /// In the earlier report as well.
    Unchanged,
    /// In the earlier report, and looked for in vain.
    Resolved,
    /// In the earlier report, and not looked for.
    Unknown,
    /// Left as it is, as the configuration says.
    Waived,
}

/// A decision of the configuration, or of a comment in a file, to leave a finding as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// Why.
    pub reason: String,
    /// Who decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The last day on which it holds, in UTC; comments in files hold on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Where it stands: file and line.
    pub place: String,
    /// Whether that day is over, so that the finding is open again.
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
    /// How bad.
    pub severity: Severity,
    /// How sure it is that what it speaks of belongs to the cluster: as sure as the weakest evidence for an instance that it
    /// names as a node.
    pub confidence: Confidence,
    /// The resource it is about; the first of them when one cause shows on many.
    pub resource: ResourceRef,
    /// Other resources: what causes it, and where else it shows.
    pub related: Vec<ResourceRef>,
    /// Where it stands in files.
    pub locations: Vec<Place>,
    /// One sentence with the facts.
    pub message: String,
    /// One sentence: what breaks.
    pub impact: String,
    /// What would fix it.
    pub fix: Fix,
    /// The writes that a report prints as commands: at first those of the fix, then what of them the trial on a copy leaves.
    pub commands: Vec<Transition>,
    /// What a person has to know before it is fixed.
    pub caveats: Vec<Caveat>,
    /// Stable over runs: rule, resource or cause, and what is wrong; no times, no order.
    pub fingerprint: String,
    /// New, or waived.
    pub status: Status,
    /// The decision to leave it as it is, or that it is over.
    pub waiver: Option<Waiver>,
}

impl Finding {
    /// What would fix it and what has to be known before, in one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        self.with_caveats(&described(&self.fix.summary, &self.fix.untried))
    }

    /// A sentence with what has to be known before it is done.
    #[must_use]
    pub fn with_caveats(&self, summary: &str) -> String {
        self.caveats.iter().fold(summary.to_owned(), |advice, caveat| format!("{advice}; {caveat}"))
    }
}

/// Part of the identity of a finding: ids, names and keys as the cloud writes them, never text for display.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<String>);

impl Key {
    /// A key of several parts, in their order.
    pub fn of<Part: Into<String>>(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().map(Into::into).collect())
    }

    /// This key followed by the parts of another one.
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

/// The fingerprint of a rule, the account and region, and the cause on a resource: the first 128 bits of a SHA-256 in
/// hexadecimal.
#[must_use]
pub fn fingerprint(rule: &str, scope: &str, cause: &Cause, resource: &str) -> String {
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
        // The number keeps keys of several parts apart; a key of one part is hashed as it is.
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
            of("a", "b", Cause::Pair(Key::of(one.iter().copied()), Key::of(other.iter().copied())))
        };
        assert_ne!(pair(&["vpc-1"], &["x y"]), pair(&["vpc-1 x"], &["y"]));
        assert_ne!(pair(&["vpc-1", "x"], &["y"]), pair(&["vpc-1"], &["x", "y"]));
        assert_ne!(pair(&["vpc-1", "x"], &["y"]), pair(&["vpc-1 x"], &["y"]));
    }
}
