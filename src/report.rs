//! The report: a versioned type of its own, so that changes inside do not break the scripts of others.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::policy::{Assessment, Beyond, EscalationPath, Excess, LeftOver, ServiceExcess, StatementRef, Verdict};
use crate::rules::RuleOutcome;

mod json;
mod table;

pub use table::TableOptions;

/// Schema of the JSON report; `docs/report.schema.json` describes it.
pub const SCHEMA: &str = "tagaudit.report/1";

/// A report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who wrote it.
    pub tool: Tool,
    /// Cloud.
    pub provider: &'static str,
    /// Audited cluster id.
    pub cluster_id: String,
    /// Accounts and regions that were read.
    pub accounts: Vec<ReportAccount>,
    /// Where the evidence comes from.
    pub source: Source,
    /// Whether everything could be audited.
    pub complete: bool,
    /// What could not be.
    pub not_audited: Vec<NotAudited>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The roles of the nodes, compared with their baselines.
    pub roles: Vec<RoleReport>,
    /// What became of each rule that was asked for, by its id.
    pub rules: Vec<RuleOutcome>,
    /// Counts.
    pub summary: Summary,
}

/// The tool and its version.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// `tagaudit`.
    pub name: &'static str,
    /// Version.
    pub version: &'static str,
}

/// An account of the report.
#[derive(Debug, Clone, Serialize)]
pub struct ReportAccount {
    /// Account id.
    pub account_id: String,
    /// Partition.
    pub partition: String,
    /// Regions.
    pub regions: Vec<String>,
}

/// Where the evidence comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// `live` or `inventory`.
    pub kind: &'static str,
    /// When it was read, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
}

/// Something that could not be audited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotAudited {
    /// IAM name of the call, or what it is.
    pub what: String,
    /// The resource; absent when a whole list is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// Region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Error code.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// Rules that were not checked because of it, or not on what it would have shown.
    pub rules: Vec<&'static str>,
}

/// A role compared with its baseline.
#[derive(Debug, Clone, Serialize)]
pub struct RoleReport {
    /// ARN.
    pub role: String,
    /// Roles of the nodes that hold it; empty when unknown.
    pub node_roles: Vec<&'static str>,
    /// Instances that hold it.
    pub instances: Vec<String>,
    /// Name of the baseline.
    pub baseline: String,
    /// One entry per baseline action.
    pub actions: Vec<ActionReport>,
    /// What goes beyond the baseline, by pattern as granted.
    pub excess: Vec<ExcessReport>,
    /// The same by service and access level.
    pub excess_by_service: Vec<ServiceExcess>,
    /// Ways to further rights and to data that what goes beyond the baseline opens.
    pub escalation_paths: Vec<EscalationPath>,
    /// Stronger roles of the account that it may assume.
    pub assumable_roles: Vec<String>,
    /// The smallest policy that still covers the baseline, when something goes beyond it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tightened_policy: Option<serde_json::Value>,
}

impl RoleReport {
    /// The parts that come from the policies.
    #[must_use]
    pub fn of_policies(role: String, baseline: String, beyond: &Beyond, tightened: &str) -> Self {
        Self {
            role,
            node_roles: Vec::new(),
            instances: Vec::new(),
            baseline,
            actions: Vec::new(),
            excess: beyond.excess.iter().map(ExcessReport::new).collect(),
            excess_by_service: beyond.services.clone(),
            escalation_paths: beyond.paths.clone(),
            assumable_roles: Vec::new(),
            tightened_policy: if beyond.excess.is_empty() { None } else { serde_json::from_str(tightened).ok() },
        }
    }
}

/// The verdict on one action.
#[derive(Debug, Clone, Serialize)]
pub struct ActionReport {
    /// Action.
    pub action: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Statements that decided it.
    pub because: Vec<StatementRef>,
    /// Resources it is limited to.
    pub only_on: Vec<String>,
    /// Conditions it is limited to.
    pub only_if: Vec<String>,
    /// What of the baseline is not granted, each with a resource that shows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_over: Vec<LeftOver>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ActionReport {
    /// An assessment for the report.
    #[must_use]
    pub fn new(action: &str, assessment: &Assessment) -> Self {
        let undecided = assessment.verdict == Verdict::Undecided;
        Self {
            action: action.to_owned(),
            verdict: assessment.verdict,
            because: assessment.because.clone(),
            only_on: assessment.only_on(),
            only_if: assessment.only_if(),
            left_over: assessment.left_over.clone(),
            reason: undecided.then(|| assessment.undecided_by.join("; ")),
        }
    }
}

/// Something granted beyond the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct ExcessReport {
    /// Action pattern.
    pub action: String,
    /// The highest access that it gives beyond the baseline.
    pub access_level: &'static str,
    /// How many actions beyond the baseline it grants today.
    pub actions: usize,
    /// The worst of them, a few.
    pub worst: Vec<String>,
    /// Whether it will grant actions that AWS is yet to add.
    pub open_ended: bool,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
    /// Whether it is part of a way to further rights.
    pub escalation: bool,
    /// Resources on which the baseline asks for it, when the excess is that it is granted on others too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needed_on: Vec<String>,
}

impl ExcessReport {
    fn new(excess: &Excess) -> Self {
        Self {
            action: excess.action.clone(),
            access_level: excess.access_level.name(),
            actions: excess.actions,
            worst: excess.worst.clone(),
            open_ended: excess.is_open_ended,
            because: excess.because.clone(),
            escalation: excess.escalation,
            needed_on: excess.needed_on.clone(),
        }
    }
}

/// Schema of [`PolicyDiff`]; `docs/policy-diff.schema.json` describes it.
pub const POLICY_DIFF_SCHEMA: &str = "tagaudit.policy-diff/1";

/// Policies compared with a baseline, without an account.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyDiff {
    /// [`POLICY_DIFF_SCHEMA`].
    pub schema: &'static str,
    /// One entry for each set of policies.
    pub roles: Vec<RoleReport>,
}

impl PolicyDiff {
    /// A comparison.
    #[must_use]
    pub fn new(roles: Vec<RoleReport>) -> Self {
        Self { schema: POLICY_DIFF_SCHEMA, roles }
    }

    /// Writes it as JSON, or for a person at a terminal.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(&self, as_json: bool, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
        if as_json {
            let json = serde_json::to_string_pretty(self)?;
            return writeln!(out, "{}", crate::text::json_printable(&json));
        }
        table::write_roles(&self.roles, options, out)
    }
}

/// Counts of the report.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Resources read, by kind.
    pub resources: BTreeMap<&'static str, usize>,
    /// Nodes of the cluster, by role set.
    pub nodes: BTreeMap<String, usize>,
    /// Open findings, by severity.
    pub findings: BTreeMap<&'static str, usize>,
    /// Findings waived by configuration.
    pub waived: usize,
    /// Entries of `not_audited`.
    pub not_audited: usize,
}

impl Report {
    /// How many findings are at least this bad.
    #[must_use]
    pub fn at_least(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity >= severity).count()
    }

    /// Writes it as JSON.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }

    /// Writes it for a person at a terminal.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write_table(&self, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
        table::write(self, options, out)
    }
}

pub(crate) use table::{Painter, layout};
