//! Remarks on policies as findings, as the report of a scan has them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::{Applicability, Cause, Key, ResourceRef, Severity, Status, fingerprint};
use crate::membership::Confidence;
use crate::policy::json::line_and_column;
use crate::policy::lint::{LintFinding, LintLevel};
use crate::policy_lint::{LintedPolicy, PolicyLint};
use crate::resource::ResourceKind;

use super::finding::Unwritten;
use super::{Finding, Fix, Location, Tool};

/// Schema of [`PolicyLintReport`]; `docs/policy-lint.schema.json` describes it.
pub const POLICY_LINT_SCHEMA: &str = "tagaudit.policy-lint/2";

/// Findings on policies in files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PolicyLintReport {
    pub schema: String,
    /// Tool that wrote it.
    pub tool: Tool,
    /// The policies that were checked, by file and address.
    pub policies: Vec<String>,
    /// Files without policies.
    pub without_policies: Vec<String>,
    /// Parts that were not checked, or only under an assumption.
    pub left_out: Vec<String>,
    /// Findings, in the order of the files and their texts.
    pub findings: Vec<Finding>,
}

impl PolicyLintReport {
    /// Creates the report of the findings.
    #[must_use]
    pub(crate) fn new(lint: &PolicyLint) -> Self {
        Self {
            schema: POLICY_LINT_SCHEMA.to_owned(),
            tool: Tool::this(),
            policies: lint.policies.iter().map(LintedPolicy::name).collect(),
            without_policies: lint.without_policies.clone(),
            left_out: lint.skipped.clone(),
            findings: lint.policies.iter().flat_map(findings).collect(),
        }
    }
}

fn findings(policy: &LintedPolicy) -> Vec<Finding> {
    // The same mark may occur twice in a statement, each with a separate finding.
    let mut seen: BTreeMap<(&str, Option<usize>, &str), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for remark in &policy.findings {
        let marked = policy.text.get(remark.span.range()).unwrap_or_default();
        let number = seen.entry((remark.check, remark.statement, marked)).or_default();
        *number += 1;
        let statement = remark.statement.map_or_else(|| "document".to_owned(), |index| format!("statement {index}"));
        let cause = Cause::Pair(statement.into(), Key::from_parts([&number.to_string(), marked]));
        found.push(finding(policy, remark, &cause));
    }
    found
}

fn finding(policy: &LintedPolicy, remark: &LintFinding, cause: &Cause) -> Finding {
    let name = policy.name();
    let (end_line, end_column) = line_and_column(&policy.text, remark.span.range().end);
    Finding {
        rule: remark.check.to_owned(),
        severity: Severity::from(remark.level),
        confidence: Confidence::Certain,
        resource: ResourceRef::bare(ResourceKind::Policy, name.clone()),
        related: Vec::new(),
        locations: vec![Location {
            file: policy.file.clone(),
            address: Some(policy.address.clone()).filter(|address| !address.is_empty()),
            statement: remark.statement,
            line: remark.line,
            column: remark.column,
            end_line,
            end_column,
        }],
        message: remark.message.clone(),
        impact: remark.level.impact().to_owned(),
        fix: Fix {
            applicability: Applicability::None,
            summary: remark.help.clone().unwrap_or_else(|| "correct the document at this place".to_owned()),
            changes: Vec::new(),
            choices: Vec::new(),
            untried: Vec::new(),
        },
        caveats: Vec::new(),
        fingerprint: fingerprint(remark.check, &name, cause, &name),
        status: Status::New,
        previous_severity: None,
        rule_is_new: false,
        waiver: None,
        monthly_cost: None,
        actions: Unwritten::default(),
    }
}

impl From<LintLevel> for Severity {
    fn from(level: LintLevel) -> Self {
        match level {
            LintLevel::Error => Self::Error,
            LintLevel::Warning => Self::Warning,
            LintLevel::Suggestion => Self::Info,
        }
    }
}
