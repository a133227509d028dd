//! Rules on manifests and configurations.

use crate::finding::Finding;
use crate::kubernetes::Target;
use crate::kubernetes_lint::KubernetesLint;
use crate::rules::{Outcome, Rule};

use super::{assert_fires, assert_silent, audit_as_recorded};

/// The cloud controller of Alibaba Cloud at a version, with more of its container.
macro_rules! alibaba_controller {
    ($version:literal, $container:literal) => {
        concat!(
            "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:",
            $version,
            $container
        )
    };
}
pub(crate) use alibaba_controller;

/// Findings and outcome in the manifests of a cluster that upgrades to versions in which every removal has happened.
pub(crate) fn outcome(rule: &'static Rule, manifests: &str) -> (Vec<Finding>, Outcome) {
    let target = Target { kubernetes: "1.33".parse().ok(), controller: "1.36".parse().ok() };
    audit_as_recorded(&[("f.yaml", manifests)], |evidence| {
        let mut lint = KubernetesLint::default();
        lint.check(&[evidence.towards(target)], &[rule]);
        (lint.findings, lint.rules.first().expect("the outcome of the rule").outcome)
    })
}

/// Findings of several rules in manifests.
pub(crate) fn findings(rules: &[&'static Rule], manifests: &str) -> Vec<Finding> {
    audit_as_recorded(&[("f.yaml", manifests)], |evidence| {
        let mut lint = KubernetesLint::default();
        lint.check(&[evidence], rules);
        (lint.findings, lint.rules.first().expect("the outcome of a rule").outcome)
    })
    .0
}

/// Asserts that the rule has findings in the manifests.
#[track_caller]
pub(crate) fn fires(rule: &'static Rule, manifests: &str) {
    assert_fires(rule, &outcome(rule, manifests));
}

/// Asserts that the rule passes once `from` in the manifests is replaced.
#[track_caller]
pub(crate) fn silent(rule: &'static Rule, manifests: &str, from: &str, to: &str) {
    assert!(manifests.contains(from), "the manifests do not hold `{from}`");
    assert_silent(rule, &outcome(rule, &manifests.replace(from, to)));
}

/// Asserts that the rule has nothing to check in the manifests.
#[track_caller]
pub(crate) fn does_not_apply(rule: &'static Rule, manifests: &str) {
    let (findings, outcome) = outcome(rule, manifests);
    assert!(findings.is_empty() && outcome == Outcome::NotApplicable, "{} applies: {outcome:?}", rule.id);
}
