//! The report as it is written and read back: version 1. It owns everything, so that a saved report can be shown again
//! and internal changes do not affect it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::audit::{Configuration, RoleReport, UsedRole};
use crate::estate::{Account, Source};
use crate::finding::Severity;
use crate::inventory::Provider;
use crate::json_input;
use crate::resource::ResourceKind;
use crate::rules;
use crate::text;
use crate::topology::VpcTopology;

use super::finding::Finding;
use super::read::{BOM, ReportError, SCHEMA, probe_schema};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    /// Tool that wrote it.
    pub tool: Tool,
    /// Cloud.
    pub provider: Provider,
    /// Audited cluster id.
    pub cluster_id: String,
    /// Accounts and regions that were read.
    pub accounts: Vec<Account>,
    /// Origin of the evidence.
    pub source: Source,
    /// Options of the scan that change the findings, if they are not the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Configuration that was used, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// True if everything could be audited.
    pub complete: bool,
    /// True if nothing of the cluster was found and no finding reports that: there was nothing to audit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_to_audit: bool,
    /// Parts that could not be audited.
    pub not_audited: Vec<NotAudited>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The roles of the nodes, compared with their baselines.
    pub roles: Vec<RoleReport>,
    /// The roles of the controllers next to the cloud controller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<UsedRole>,
    /// Outcomes of the selected rules, by rule id.
    pub rules: Vec<RuleOutcome>,
    /// VPCs in which nodes live, in enough detail to draw a map.
    pub topology: Vec<VpcTopology>,
    /// Comparison with an earlier report, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Counts.
    pub summary: Summary,
}

/// Comparison of a report with an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Time at which the evidence of the earlier report was read, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<String>,
    /// The version of the tool that wrote it.
    pub version: String,
    /// Findings that were not in it.
    pub new: usize,
    /// Findings among these by rules that it did not run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub by_new_rules: usize,
    /// Findings that were in it.
    pub unchanged: usize,
    /// Findings that were in it and are no longer found.
    pub resolved: Vec<GoneFinding>,
    /// Findings that were in it and were not checked again.
    pub unknown: Vec<GoneFinding>,
}

impl Comparison {
    /// Changes, in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        let since = self.collected_at.as_deref().unwrap_or("a report without a date");
        let (resolved, unknown) = (self.resolved.len(), self.unknown.len());
        let by_new_rules = match self.by_new_rules {
            0 => String::new(),
            number => format!(" ({number} by rules that did not run then)"),
        };
        format!(
            "{} new{by_new_rules}, {} unchanged, {resolved} resolved, {unknown} unknown since {since}",
            self.new, self.unchanged
        )
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A finding of an earlier report that is not in this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneFinding {
    #[serde(flatten)]
    pub finding: Finding,
    /// Reason why it is not known if it is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The tool and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `tagaudit`.
    pub name: String,
    pub version: String,
}

impl Tool {
    /// This version.
    #[must_use]
    pub fn this() -> Self {
        Self { name: "tagaudit".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A part of the estate that could not be audited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAudited {
    /// IAM name of the call, or a name for a part that is not a call.
    pub what: String,
    /// The resource; absent when a whole list is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Error code.
    pub reason: String,
    /// Error message.
    pub message: String,
    /// Rules that were not checked because of it, or not on the resources that it would have shown.
    pub rules: Vec<String>,
}

impl NotAudited {
    /// A target in which no cluster was found, for formats without another place for it.
    pub(super) fn nothing(account_id: Option<&String>, region: Option<&String>, message: String) -> Self {
        Self {
            what: "clusters".to_owned(),
            resource: None,
            account_id: account_id.cloned(),
            region: region.cloned(),
            reason: "NothingToAudit".to_owned(),
            message,
            rules: Vec::new(),
        }
    }

    /// An entry about policies in files.
    pub(super) fn for_policy(reason: &str, message: String, rules: Vec<String>) -> Self {
        Self {
            what: "policy".to_owned(),
            resource: None,
            account_id: None,
            region: None,
            reason: reason.to_owned(),
            message,
            rules,
        }
    }
}

/// The outcome of a rule over all regions, accounts and roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOutcome {
    /// Rule id.
    pub rule: Arc<str>,
    pub outcome: rules::Outcome,
    /// Number of resources that it was checked on.
    pub checked: usize,
    /// Reason why it was not checked, or not everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
}

/// Kinds of resources without any of which nothing of a cluster's surroundings was read.
pub(super) const SURROUNDINGS: [ResourceKind; 4] =
    [ResourceKind::Instance, ResourceKind::Subnet, ResourceKind::Vpc, ResourceKind::SecurityGroup];

/// Counts of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Resources read, by kind.
    pub resources: BTreeMap<String, usize>,
    /// Nodes of the cluster, by role set.
    pub nodes: BTreeMap<String, usize>,
    /// Open findings, by severity.
    pub findings: BTreeMap<String, usize>,
    /// Findings waived by configuration.
    pub waived: usize,
    /// Entries of `not_audited`.
    pub not_audited: usize,
}

impl Report {
    /// Findings that need action.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// Number of findings of a severity.
    #[must_use]
    pub fn count_findings(&self, severity: Severity) -> usize {
        self.summary.findings.get(severity.name()).copied().unwrap_or(0)
    }

    /// Number of findings by severity, the worst first.
    #[must_use]
    pub(super) fn worst(&self) -> [usize; 3] {
        Severity::WORST_FIRST.map(|severity| self.count_findings(severity))
    }

    /// Number of rules with an outcome.
    #[must_use]
    pub fn count_rules(&self, outcome: rules::Outcome) -> usize {
        self.rules.iter().filter(|rule| rule.outcome == outcome).count()
    }

    /// The entries that were not audited, and one if there was nothing to audit.
    #[must_use]
    pub fn not_audited_entries(&self) -> Vec<NotAudited> {
        self.not_audited.iter().cloned().chain(self.nothing_entry()).collect()
    }

    /// Entry for a report in which there was nothing to audit, else `None`.
    pub(super) fn nothing_entry(&self) -> Option<NotAudited> {
        let account = self.accounts.first();
        let region = account.and_then(|account| account.regions.first());
        let message =
            || format!("nothing that was read belongs to the cluster `{}`", text::printable(&self.cluster_id));
        self.nothing_to_audit
            .then(|| NotAudited::nothing(account.map(|account| &account.account_id), region, message()))
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.summary.nodes.values().fold(0, |all, number| all.saturating_add(*number))
    }

    /// Regions of the cluster; all that were read if these are not known.
    #[must_use]
    pub fn regions(&self) -> BTreeSet<&str> {
        let here: BTreeSet<&str> = self.topology.iter().map(|vpc| vpc.region.as_str()).collect();
        if here.is_empty() {
            return self.accounts.iter().flat_map(|account| &account.regions).map(String::as_str).collect();
        }
        here
    }

    /// True if nothing of the cluster's surroundings could be read.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        let seen = |kind: ResourceKind| self.summary.resources.get(kind.name()).is_some_and(|number| *number > 0);
        !self.complete && !SURROUNDINGS.into_iter().any(seen)
    }

    /// Reads a saved report; `file` is only used in errors.
    ///
    /// # Errors
    /// When it is not a report, one of another schema, or one that contradicts itself.
    pub fn from_slice(file: &str, bytes: &[u8]) -> Result<Self, ReportError> {
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        if let Some(found) = probe_schema(bytes).filter(|schema| schema != SCHEMA) {
            return Err(ReportError::Schema { file: file.to_owned(), found });
        }
        let report: Self = json_input::parse_complete(bytes)
            .map_err(|error| ReportError::Malformed { file: file.to_owned(), error })?;
        match report.contradiction() {
            Some((pointer, reason)) => Err(ReportError::Contradiction { file: file.to_owned(), pointer, reason }),
            None => Ok(report),
        }
    }
}

impl From<&rules::RuleOutcome> for RuleOutcome {
    fn from(outcome: &rules::RuleOutcome) -> Self {
        Self {
            rule: outcome.rule.into(),
            outcome: outcome.outcome,
            checked: outcome.checked,
            why: outcome.why.as_deref().map(Arc::from),
        }
    }
}
