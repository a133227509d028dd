//! Policies compared with a baseline, without an account.

use serde::Serialize;

use crate::finding::{Applicability, Cause, ResourceRef, Status, fingerprint};
use crate::membership::Confidence;
use crate::policy::Verdict;
use crate::resource::ResourceKind;
use crate::rules::{COMPARED, Outcome, Rule};
use crate::text;

use super::finding::Unwritten;
use super::{Finding, Fix, Location, NotAudited, RoleReport, RuleOutcome, Tool};

/// Schema of [`PolicyDiff`]; `docs/policy-diff.schema.json` describes it.
pub(crate) const POLICY_DIFF_SCHEMA: &str = "tagaudit.policy-diff/1";

/// Maximum number of names in a message before the rest is counted.
const NAMED: usize = 6;

/// Policies compared with a baseline, without an account.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PolicyDiff {
    pub schema: &'static str,
    /// One entry for each set of policies.
    pub roles: Vec<RoleReport>,
    /// The file of each set of policies.
    #[serde(skip)]
    pub files: Vec<String>,
    /// Parts that were not compared.
    #[serde(skip)]
    pub unknown: Vec<String>,
}

/// Findings of a comparison, for other formats.
#[derive(Debug)]
pub(crate) struct PolicyDiffFindings {
    pub(super) tool: Tool,
    pub(super) roles: usize,
    pub(super) findings: Vec<Finding>,
    pub(super) not_audited: Vec<NotAudited>,
    pub(super) rules: Vec<RuleOutcome>,
}

impl PolicyDiff {
    /// Creates a comparison from the roles, each with its file, and the parts that were not compared.
    #[must_use]
    pub(crate) fn new(roles: Vec<RoleReport>, files: Vec<String>, unknown: Vec<String>) -> Self {
        Self { schema: POLICY_DIFF_SCHEMA, roles, files, unknown }
    }

    /// Permissions that are not granted, or go beyond the baseline, as findings of the rules of a scan.
    #[must_use]
    pub(crate) fn findings(&self) -> PolicyDiffFindings {
        let mut findings = Vec::new();
        let mut not_audited: Vec<NotAudited> =
            self.unknown.iter().map(|what| unread("not compared", what.clone())).collect();
        for (index, role) in self.roles.iter().enumerate() {
            let file = self.files.get(index).map_or("", String::as_str);
            let of = |verdict: Verdict| -> Vec<&str> {
                let actions = role.actions.iter().filter(|action| action.verdict == verdict);
                actions.map(|action| action.action.as_str()).collect()
            };
            for (rule, words, verdict) in [
                (COMPARED.missing, "lacks", Verdict::Missing),
                (COMPARED.denied, "is denied", Verdict::Denied),
                (COMPARED.partial, "has only in part", Verdict::Partial),
            ] {
                let actions = of(verdict);
                if !actions.is_empty() {
                    let (number, all) = (actions.len(), text::count(role.actions.len(), "action"));
                    let named = text::list(&actions, NAMED);
                    let message = format!("`{}` {words} {number} of {all} of {}: {named}", role.role, role.baseline);
                    findings.push(finding(rule, role, file, message));
                }
            }
            let undecided = of(Verdict::Undecided);
            if !undecided.is_empty() {
                let named = text::list(&undecided, NAMED);
                not_audited
                    .push(unread("undecided", format!("the permissions of `{}` are not known: {named}", role.role)));
            }
            if !role.excess.is_empty() {
                let excess: Vec<&str> = role.excess.iter().map(|excess| excess.action.as_str()).collect();
                let named = text::list(&excess, NAMED);
                let message = format!("`{}` goes beyond {}: {named}", role.role, role.baseline);
                findings.push(finding(COMPARED.excess, role, file, message));
            }
            if !role.escalation_paths.is_empty() {
                let number = text::count(role.escalation_paths.len(), "privilege escalation path");
                let message = format!("`{}` opens {number} beyond {}", role.role, role.baseline);
                findings.push(finding(COMPARED.escalation, role, file, message));
            }
        }
        let rules = COMPARED.all().map(|rule| RuleOutcome {
            rule: rule.id.into(),
            outcome: if findings.iter().any(|finding| finding.rule == rule.id) {
                Outcome::Failed
            } else if !not_audited.is_empty() {
                Outcome::NotAudited
            } else if self.roles.is_empty() {
                Outcome::NotApplicable
            } else {
                Outcome::Passed
            },
            checked: self.roles.len(),
            why: (!not_audited.is_empty()).then(|| "something could not be compared".into()),
        });
        findings.sort_by(|a, b| (b.severity, &a.rule, &a.resource.id).cmp(&(a.severity, &b.rule, &b.resource.id)));
        PolicyDiffFindings { tool: Tool::this(), roles: self.roles.len(), findings, not_audited, rules: rules.into() }
    }
}

fn unread(reason: &str, message: String) -> NotAudited {
    NotAudited::for_policy(reason, message, COMPARED.all().map(|rule| rule.id.to_owned()).into())
}

fn finding(rule: &Rule, compared: &RoleReport, file: &str, message: String) -> Finding {
    let cause = Cause::Pair(compared.role.as_str().into(), compared.baseline.as_str().into());
    Finding {
        rule: rule.id.to_owned(),
        severity: rule.severity.default,
        confidence: Confidence::Certain,
        resource: ResourceRef::bare(ResourceKind::Role, compared.role.clone()),
        related: Vec::new(),
        locations: vec![Location {
            file: file.to_owned(),
            address: Some(compared.role.clone()).filter(|address| address != file),
            statement: None,
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 1,
        }],
        message,
        impact: rule.impact.to_owned(),
        fix: Fix {
            applicability: Applicability::None,
            summary: "`--format table` shows each action with the statement that decides it".to_owned(),
            changes: Vec::new(),
            choices: Vec::new(),
            untried: Vec::new(),
        },
        caveats: Vec::new(),
        fingerprint: fingerprint(rule.id, &compared.role, &cause, &compared.role),
        status: Status::New,
        previous_severity: None,
        rule_is_new: false,
        waiver: None,
        monthly_cost: None,
        actions: Unwritten::default(),
    }
}
