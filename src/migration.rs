//! The way from Kubernetes' own AWS provider, which ended with 1.26, to the external cloud controller: how far a cluster is, the next
//! safe step, and what must wait. Nothing is written.

use std::fmt;

use crate::finding::Finding;
use crate::kubernetes::{Evidence, ListGap};
use crate::rules::RuleOutcome;

mod checks;
mod settings;
mod signals;
mod stage;
mod steps;

pub use checks::{Check, State};
pub use signals::{CloudProvider, Maker, Signals};
pub use stage::{Stage, Told};
pub use steps::{Snippet, Step};

/// What the rules say of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Findings.
    pub findings: &'a [Finding],
    /// What became of each rule.
    pub rules: &'a [RuleOutcome],
    /// Whether a cloud was asked.
    pub has_cloud: bool,
}

/// How far a cluster is.
#[derive(Debug, Clone)]
pub struct Migration {
    /// What made the cluster.
    pub maker: Maker,
    /// The version of Kubernetes, where it is known.
    pub version: Option<String>,
    /// The stage, or why it cannot be told.
    pub stage: Result<Stage, &'static str>,
    /// By what it is told.
    pub signals: Vec<String>,
    /// Lists of the cluster that were not read.
    pub gaps: Vec<ListGap>,
    /// What to do next, in this order.
    pub next: Vec<Step>,
    /// What must not be done yet.
    pub not_yet: Vec<String>,
    /// What has to be right before the switch, or after it.
    pub checks: Vec<Check>,
}

impl Migration {
    /// How far a cluster is.
    #[must_use]
    pub fn assess(evidence: &Evidence, judged: Judged<'_>) -> Self {
        let signals = Signals::of(evidence);
        let before = checks::before(evidence, &signals, judged);
        let after = checks::after(evidence, &signals, judged);
        let is_ready = |id: &str| before.iter().any(|check| check.id == id && check.state == State::Passed);
        let stage = stage::stage(evidence, &signals, is_ready("P7"));
        let mut checks = Vec::new();
        match stage {
            Ok(stage) if stage.is_after() => checks.extend(after),
            Ok(Stage::Rolling) => checks.extend(before.into_iter().chain(after)),
            // Before the old side stops, the new one has to be able to lead.
            Ok(Stage::BothRun) => {
                checks.extend(before);
                checks.extend(after.into_iter().filter(|check| check.id == "V5"));
            }
            _ => checks.extend(before),
        }
        let (next, not_yet) = match stage {
            Ok(stage) => (steps::next(stage, evidence, &signals, &checks), stage.not_yet(&signals)),
            Err(_) => (Vec::new(), Vec::new()),
        };
        Self {
            maker: signals.maker,
            version: signals.version.map(|version| version.to_string()),
            stage,
            signals: signals.told(evidence),
            gaps: evidence.gaps.clone(),
            next,
            not_yet,
            checks,
        }
    }

    /// Whether something is wrong: a stage that is none, or a check that failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let is_wrong = self.stage.is_ok_and(Stage::is_wrong);
        is_wrong || self.checks.iter().any(|check| check.state == State::Failed)
    }

    /// Whether everything that decides could be looked at.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stage.is_ok() && self.gaps.is_empty() && !self.checks.iter().any(|check| check.state == State::NotAudited)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { id, title, .. } = self.told();
        write!(formatter, "{id}, {title}")
    }
}
