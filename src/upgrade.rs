//! The steps of an upgrade that was rehearsed: what must be corrected before, the upgrade itself, and what it changes.

use serde::Serialize;

use crate::controller::ControllerVersion;
use crate::finding::{self, Severity};
use crate::model::rehearsal::Rehearsed;
use crate::model::simulate::AskedController;
use crate::report::{Cause, Finding};
use crate::rules::{self, Prerequisite};

/// A rehearsal with its steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Upgrade {
    #[serde(flatten)]
    pub(crate) rehearsed: Rehearsed,
    /// In the order in which they are made; none without a target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<Step>,
}

/// A step of an upgrade.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    /// Findings that the target version causes: permissions first, then flags and objects.
    Correct { findings: Vec<Cause> },
    /// The upgrade itself: what is upgraded, each with its version.
    Upgrade { to: Vec<String> },
    /// Load balancers that differ afterwards.
    Expect { load_balancers: usize },
}

impl Upgrade {
    /// A simulation without a target.
    pub(crate) fn none(rehearsed: Rehearsed) -> Self {
        Self { rehearsed, steps: Vec::new() }
    }

    /// The steps to the target: `today` and `then` are the findings without and with it.
    pub(crate) fn new(
        rehearsed: Rehearsed,
        kubernetes: Option<ControllerVersion>,
        today: &[finding::Finding],
        then: &[finding::Finding],
    ) -> Self {
        let is_worse = |one: &&finding::Finding| {
            let held = today.iter().find(|old| old.fingerprint == one.fingerprint);
            one.severity > Severity::Info && held.is_none_or(|old| one.severity > old.severity)
        };
        let mut findings: Vec<&finding::Finding> = then.iter().filter(is_worse).collect();
        let takes_rights = |one: &finding::Finding| rules::prerequisite(one.rule) == Some(Prerequisite::Policies);
        findings.sort_by_key(|one| (!takes_rights(one), std::cmp::Reverse(one.severity)));
        let findings: Vec<Cause> = findings.into_iter().map(|one| Cause::from(&Finding::from(one))).collect();
        let controllers = rehearsed.target.iter().flat_map(|target| &target.controllers);
        let held = |one: &&AskedController| {
            let mut today = rehearsed.today.controllers.iter();
            today.any(|old| old.controller == one.controller && old.version == one.version)
        };
        let controllers = controllers.filter(|one| !held(one));
        let controllers = controllers.map(|one| format!("{} {}", one.controller.describe(), one.version));
        let to: Vec<String> =
            kubernetes.iter().map(|version| format!("Kubernetes {version}")).chain(controllers).collect();
        let differing = rehearsed.target.as_ref().map_or(0, |target| target.differences.len());
        let correct = (!findings.is_empty()).then_some(Step::Correct { findings });
        let expect = (differing > 0).then_some(Step::Expect { load_balancers: differing });
        let upgrade = (!to.is_empty()).then_some(Step::Upgrade { to });
        let steps = correct.into_iter().chain(upgrade).chain(expect).collect();
        Self { rehearsed, steps }
    }
}
