//! Inputs and expectations for the tests that stand in the file of each rule.
//!
//! `fires` states the defect that a rule finds. `silent` states its nearest neighbour that is right, and proves that the
//! rule was checked there: a rule that does not apply is not silent.

use crate::audit::{Audit, Auditor};
use crate::estate::EstateRef;
use crate::finding::Finding;
use crate::kubernetes::{Evidence, Kept};
use crate::rules::{Outcome, Rule};
use crate::tags::Tag;

pub(crate) mod alibaba;
pub(crate) mod aws;
pub(crate) mod controllers;
pub(crate) mod lint;
pub(crate) mod load_balancers;

/// Sets a tag.
pub(crate) fn tag(tags: &mut Vec<Tag>, key: &str, value: &str) {
    untag(tags, key);
    tags.push(Tag { key: key.to_owned(), value: value.to_owned() });
}

/// Removes a tag.
pub(crate) fn untag(tags: &mut Vec<Tag>, key: &str) {
    tags.retain(|tag| tag.key != key);
}

/// Audits the objects of files. A recording of the same objects, which is also what a scan of a live cluster reads, must
/// give the same findings: a rule that checks a part that is not recorded would take it for missing there.
#[track_caller]
fn audit_as_recorded(
    files: &[(&str, &str)],
    audit: impl Fn(Evidence) -> (Vec<Finding>, Outcome),
) -> (Vec<Finding>, Outcome) {
    let (mut given, mut kept) = (Evidence::default(), Kept::default());
    for (name, text) in files.iter().filter(|(_, text)| !text.is_empty()) {
        given = given.and(Evidence::parse(name, text.as_bytes().to_vec()).unwrap());
        kept.add(name, text.as_bytes().to_vec()).unwrap();
    }
    // Configurations are not objects of the API.
    let is_whole = kept.left_out == 0;
    let seen_at = given.seen_at;
    let found = audit(given);
    if is_whole {
        let mut recorded = kept.recording().evidence();
        recorded.seen_at = seen_at;
        let recorded = audit(recorded);
        let essence = |(findings, outcome): &(Vec<Finding>, Outcome)| {
            let mut all: Vec<_> =
                findings.iter().map(|one| (one.resource.id.clone(), one.severity, one.confidence)).collect();
            all.sort();
            (all, *outcome)
        };
        assert_eq!(essence(&recorded), essence(&found), "the recording (left) and the files (right)");
    }
    found
}

/// Runs the one rule of an auditor; returns its findings and its outcome.
fn audit_rule(auditor: &Auditor<'_>, estate: EstateRef<'_>) -> (Vec<Finding>, Outcome) {
    let [rule] = auditor.rules else { panic!("one rule") };
    let Audit { mut findings, rules, .. } = auditor.audit(estate).unwrap();
    findings.retain(|finding| finding.rule == rule.id);
    (findings, rules.first().expect("the outcome of the rule").outcome)
}

/// Asserts that a rule has findings, and that its entry announces their severities, fixes and resources.
#[track_caller]
fn assert_fires(rule: &Rule, (findings, outcome): &(Vec<Finding>, Outcome)) {
    let Rule { id, severity, .. } = rule;
    assert!(!findings.is_empty(), "{id} finds nothing: {outcome:?}");
    for finding in findings {
        let note = severity.note.unwrap_or_default();
        let is_announced = finding.severity == severity.default || note.contains(finding.severity.name());
        assert!(is_announced, "{id} does not announce the severity {}", finding.severity.name());
        assert!(
            finding.fix.applicability <= rule.applicability,
            "{id} does not announce a fix that is {:?}",
            finding.fix
        );
        let kind = finding.resource.kind;
        assert!(rule.resources.contains(&kind), "{id} does not announce findings about {kind:?}");
    }
}

/// Asserts that a rule was checked without findings.
#[track_caller]
fn assert_silent(rule: &Rule, (findings, outcome): &(Vec<Finding>, Outcome)) {
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(messages.is_empty(), "{} finds {messages:?}", rule.id);
    assert_eq!(*outcome, Outcome::Passed, "{} was not checked", rule.id);
}
