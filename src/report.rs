//! The report: a versioned type of its own, so that changes inside do not break the scripts of others.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::policy::StatementRef;

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
    /// Rules that were not checked because of it.
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
    /// What goes beyond the baseline.
    pub excess: Vec<ExcessReport>,
}

/// The verdict on one action.
#[derive(Debug, Clone, Serialize)]
pub struct ActionReport {
    /// Action.
    pub action: String,
    /// `granted`, `partial`, `denied` or `missing`.
    pub verdict: &'static str,
    /// Statements that decided it.
    pub because: Vec<StatementRef>,
    /// Resources it is limited to.
    pub only_on: Vec<String>,
    /// Conditions it is limited to.
    pub only_if: Vec<String>,
}

/// Something granted beyond the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct ExcessReport {
    /// Action pattern.
    pub action: String,
    /// Kind of access.
    pub access_level: &'static str,
    /// Statements that grant it.
    pub because: Vec<StatementRef>,
    /// Whether it leads to further rights.
    pub escalation: bool,
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
