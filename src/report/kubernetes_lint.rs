//! Findings on the files of a cluster, as the report of a scan has them.

use serde::{Deserialize, Serialize};

use crate::kubernetes_lint::KubernetesLint;

use super::{Finding, RuleOutcome, Tool};

/// Schema of [`LintReport`]; `docs/lint.schema.json` describes it.
pub const LINT_SCHEMA: &str = "tagaudit.lint/1";

/// Findings on the files of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LintReport {
    pub schema: String,
    /// Tool that wrote it.
    pub tool: Tool,
    /// Files with content to check.
    pub files: Vec<String>,
    /// Files without content to check.
    pub without: Vec<String>,
    /// Parts that were not checked, with the reason.
    pub left_out: Vec<String>,
    /// Findings, in the order of the files and their texts.
    pub findings: Vec<Finding>,
    /// Outcome of each rule, by id.
    pub rules: Vec<RuleOutcome>,
}

impl LintReport {
    /// Creates the report of the findings.
    #[must_use]
    pub(crate) fn new(lint: &KubernetesLint) -> Self {
        Self {
            schema: LINT_SCHEMA.to_owned(),
            tool: Tool::this(),
            files: lint.files.clone(),
            without: lint.without.clone(),
            left_out: lint.skipped.clone(),
            findings: lint.findings.iter().map(Finding::from).collect(),
            rules: lint.rules.iter().map(RuleOutcome::from).collect(),
        }
    }
}
