//! Migration progress of a cluster towards the external cloud controller, for programs.

use serde::{Deserialize, Serialize};

use crate::migration::{Migration, Stage};

use super::Tool;

/// Schema of [`MigrationReport`]; `docs/migration.schema.json` describes it.
pub const MIGRATION_SCHEMA: &str = "tagaudit.migration/1";

/// Migration progress of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MigrationReport {
    pub schema: String,
    /// Tool that wrote it.
    pub tool: Tool,
    /// Tool that created the cluster.
    pub made_with: String,
    /// Kubernetes version, if it is known.
    pub kubernetes_version: Option<String>,
    /// The stage, if it can be determined.
    pub stage: Option<StageReport>,
    /// Reason why the stage cannot be determined.
    pub unknown: Option<String>,
    /// Signals that determine the stage.
    pub signals: Vec<String>,
    /// Lists of the cluster that were not read, with the reason.
    pub not_read: Vec<NotReadReport>,
    /// Next steps, in this order.
    pub next: Vec<StepReport>,
    /// Steps that must not be taken yet.
    pub not_yet: Vec<String>,
    /// Checks that must pass before the switch, or after it.
    pub checks: Vec<CheckReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageReport {
    /// `S0` to `S7`, or `X1` to `X3` for a state that is not a stage of the migration.
    pub id: String,
    pub title: String,
    pub meaning: String,
}

/// A list that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotReadReport {
    /// The list, as `kubernetes:list nodes`.
    pub what: String,
    /// The reason of the API, or one of tagaudit.
    pub reason: String,
    /// Error message, for display.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepReport {
    /// Action to take.
    pub title: String,
    /// Additional information about the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Texts to apply.
    pub apply: Vec<SnippetReport>,
}

/// A text to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnippetReport {
    /// Place to put it, or to run it.
    pub place: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckReport {
    /// `P1` to `P8` before the switch, `V1` to `V6` after it.
    pub id: String,
    /// Condition that must hold.
    pub title: String,
    /// `passed`, `failed`, `not_audited`, or `by_hand` for a check that only a person can do.
    pub state: String,
    /// Reasons for the state.
    pub why: Vec<String>,
}

impl From<Stage> for StageReport {
    fn from(stage: Stage) -> Self {
        let told = stage.told();
        Self { id: told.id.to_owned(), title: told.title.to_owned(), meaning: told.meaning.to_owned() }
    }
}

impl From<&Migration> for MigrationReport {
    fn from(migration: &Migration) -> Self {
        let next = migration.next.iter().map(|step| StepReport {
            title: step.title.clone(),
            about: step.about.clone(),
            apply: step
                .snippets
                .iter()
                .map(|snippet| SnippetReport { place: snippet.place.clone(), text: snippet.text.clone() })
                .collect(),
        });
        let checks = migration.checks.iter().map(|check| CheckReport {
            id: check.id.to_owned(),
            title: check.title.to_owned(),
            state: check.state.name().to_owned(),
            why: check.why.clone(),
        });
        Self {
            schema: MIGRATION_SCHEMA.to_owned(),
            tool: Tool::this(),
            made_with: migration.maker.name().to_owned(),
            kubernetes_version: migration.version.clone(),
            stage: migration.stage.ok().map(StageReport::from),
            unknown: migration.stage.err().map(str::to_owned),
            signals: migration.signals.clone(),
            not_read: migration
                .gaps
                .iter()
                .map(|gap| NotReadReport {
                    what: gap.list.what().to_owned(),
                    reason: gap.reason.clone(),
                    message: gap.message.clone(),
                })
                .collect(),
            next: next.collect(),
            not_yet: migration.not_yet.clone(),
            checks: checks.collect(),
        }
    }
}
