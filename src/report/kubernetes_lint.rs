//! Findings on the files of a cluster, as the report of a scan has them.

use serde::{Deserialize, Serialize};

use crate::kubernetes_lint::KubernetesLint;

use super::{Finding, RuleOutcome, Tool};

/// Schema of [`LintReport`]; `docs/lint.schema.json` describes it.
pub const LINT_SCHEMA: &str = "tagaudit.lint/1";

/// What is wrong with the files of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintReport {
    /// [`LINT_SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Files in which there is something to look at.
    pub files: Vec<String>,
    /// Files in which there is nothing.
    pub without: Vec<String>,
    /// What was not looked at, and why.
    pub left_out: Vec<String>,
    /// Findings, in the order of the files and their texts.
    pub findings: Vec<Finding>,
    /// What became of each rule, by its id.
    pub rules: Vec<RuleOutcome>,
}

impl LintReport {
    /// The report of what was found.
    #[must_use]
    pub fn new(lint: &KubernetesLint) -> Self {
        Self {
            schema: LINT_SCHEMA.to_owned(),
            tool: Tool::this(),
            files: lint.files.clone(),
            without: lint.without.clone(),
            left_out: lint.left_out.clone(),
            findings: lint.findings.iter().map(Finding::from).collect(),
            rules: lint.rules.iter().map(RuleOutcome::from).collect(),
        }
    }
}
