//! Migration from the in-tree AWS provider, which ended with 1.26, to the external cloud controller: the current stage,
//! the next safe step, and actions that must wait. Nothing is written.

use std::fmt;

use crate::finding::Finding;
use crate::kubernetes::{Evidence, ListGap};
use crate::rules::RuleOutcome;

mod checks;
mod settings;
mod signals;
mod stage;
mod steps;

pub(crate) use checks::Check;
pub use checks::State;
pub(crate) use signals::{Maker, Signals};
pub use stage::Stage;
pub(crate) use stage::Told;
pub(crate) use steps::Step;

/// Audit results of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub findings: &'a [Finding],
    pub rules: &'a [RuleOutcome],
    /// True if a cloud was read.
    pub has_cloud: bool,
}

/// Migration status of a cluster.
#[derive(Debug, Clone)]
pub struct Migration {
    /// Tool that created the cluster.
    pub maker: Maker,
    /// Kubernetes version, if known.
    pub version: Option<String>,
    /// Stage, or the reason why it cannot be determined.
    pub stage: Result<Stage, &'static str>,
    /// Signals that determine the stage.
    pub signals: Vec<String>,
    /// Lists that were not read from the cluster.
    pub gaps: Vec<ListGap>,
    /// Next steps, in order.
    pub next: Vec<Step>,
    /// Actions that must wait.
    pub not_yet: Vec<String>,
    /// Checks before the switch, or after it.
    pub checks: Vec<Check>,
}

impl Migration {
    /// Assesses the migration status of a cluster.
    #[must_use]
    pub fn assess(evidence: &Evidence, judged: Judged<'_>) -> Self {
        let signals = Signals::new(evidence);
        let before = checks::before(evidence, &signals, judged);
        let after = checks::after(evidence, &signals, judged);
        let is_ready = |id: &str| before.iter().any(|check| check.id == id && check.state == State::Passed);
        let stage = stage::stage(evidence, &signals, is_ready("P7"));
        let mut checks = Vec::new();
        match stage {
            Ok(stage) if stage.is_after_switch() => checks.extend(after),
            Ok(Stage::Rolling) => checks.extend(before.into_iter().chain(after)),
            // Before the old side stops, the new one must be able to lead.
            Ok(Stage::BothRun) => {
                checks.extend(before);
                checks.extend(after.into_iter().filter(|check| check.id == "V5"));
            }
            _ => checks.extend(before),
        }
        let (next, not_yet) = match stage {
            Ok(stage) => (steps::next(stage, evidence, &signals, &checks), stage.blocked_actions(&signals)),
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

    /// True if the stage itself is a problem, or a check failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let is_wrong = self.stage.is_ok_and(Stage::is_wrong);
        is_wrong || self.checks.iter().any(|check| check.state == State::Failed)
    }

    /// True if the stage is known, all lists were read and every check was audited.
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
