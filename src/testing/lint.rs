//! Rules on manifests and configurations.

use crate::kubernetes::{Evidence, Target};
use crate::kubernetes_lint::KubernetesLint;
use crate::rules::{Outcome, Rule};

/// The manifests of a cluster that upgrades to versions in which every removal has happened.
fn lint(rule: &'static Rule, manifests: &str) -> KubernetesLint {
    let target = Target { kubernetes: "1.33".parse().ok(), controller: "1.36".parse().ok() };
    let evidence = Evidence::parse("f.yaml", manifests.as_bytes().to_vec()).unwrap().towards(target);
    let mut lint = KubernetesLint::default();
    lint.check(&[evidence], &[rule]);
    lint
}

/// Asserts that the rule has findings in the manifests.
#[track_caller]
pub(crate) fn fires(rule: &'static Rule, manifests: &str) {
    let lint = lint(rule, manifests);
    assert!(!lint.findings.is_empty(), "{} finds nothing: {:?}", rule.id, lint.rules);
}

/// Asserts that the rule passes once `from` in the manifests is replaced.
#[track_caller]
pub(crate) fn silent(rule: &'static Rule, manifests: &str, from: &str, to: &str) {
    let outcome = outcome_after(rule, manifests, from, to);
    assert_eq!(outcome, Outcome::Passed, "{} was not checked", rule.id);
}

/// Asserts that nothing is left that the rule checks once `from` in the manifests is replaced.
#[track_caller]
pub(crate) fn does_not_apply(rule: &'static Rule, manifests: &str, from: &str, to: &str) {
    let outcome = outcome_after(rule, manifests, from, to);
    assert_eq!(outcome, Outcome::NotApplicable, "{} applies", rule.id);
}

#[track_caller]
fn outcome_after(rule: &'static Rule, manifests: &str, from: &str, to: &str) -> Outcome {
    assert!(manifests.contains(from), "the manifests do not hold `{from}`");
    let lint = lint(rule, &manifests.replace(from, to));
    let messages: Vec<&str> = lint.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(messages.is_empty(), "{} finds {messages:?}", rule.id);
    lint.rules.first().expect("the outcome of the rule").outcome
}
