//! How far a cluster is on its way to the external cloud controller, for programs.

use serde::{Deserialize, Serialize};

use crate::migration::{Migration, Stage};

use super::Tool;

/// Schema of [`MigrationReport`]; `docs/migration.schema.json` describes it.
pub const MIGRATION_SCHEMA: &str = "tagaudit.migration/1";

/// How far a cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationReport {
    /// [`MIGRATION_SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// What made the cluster.
    pub made_with: String,
    /// The version of Kubernetes, where it is known.
    pub kubernetes_version: Option<String>,
    /// The stage, where it can be told.
    pub stage: Option<StageReport>,
    /// Why it cannot.
    pub unknown: Option<String>,
    /// By what it is told.
    pub signals: Vec<String>,
    /// Lists of the cluster that were not read, and why.
    pub not_read: Vec<NotReadReport>,
    /// What to do next, in this order.
    pub next: Vec<StepReport>,
    /// What must not be done yet.
    pub not_yet: Vec<String>,
    /// What has to be right before the switch, or after it.
    pub checks: Vec<CheckReport>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// `S0` to `S7`, or `X1` to `X3` for what is no stage of the way.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What it means.
    pub meaning: String,
}

/// A list that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotReadReport {
    /// The list, as `kubernetes:list nodes`.
    pub what: String,
    /// The reason of the API, or a word of ours.
    pub reason: String,
    /// What happened, for a person.
    pub message: String,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// What to do.
    pub title: String,
    /// What to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Texts to apply.
    pub apply: Vec<SnippetReport>,
}

/// A text to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetReport {
    /// Where it goes, or where it is run.
    pub place: String,
    /// The text.
    pub text: String,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// `P1` to `P8` before the switch, `V1` to `V6` after it.
    pub id: String,
    /// What has to be right.
    pub title: String,
    /// `passed`, `failed`, `not_audited`, or `by_hand` for what only a person can do.
    pub state: String,
    /// Why.
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
