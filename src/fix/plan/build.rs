//! Builds a plan from findings.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::baseline::BaselineError;
use crate::estate::{EstateRef, SourceKind};
use crate::finding::Finding;
use crate::nodes::KubernetesNode;
use crate::rules::Rule;
use crate::text;

use super::approvals::{self, ApprovalError, Approvals, SkipReason, Skipped};
use super::attempts::{Attempts, Audit};
use super::limit::Limit;
use super::{FixedFinding, Kind, Plan, PlanEvidence, SCHEMA};

/// Cluster, times, evidence and limits of a plan.
#[derive(Debug)]
pub struct Scope<'a> {
    pub cluster_id: &'a str,
    /// Creation time, RFC 3339 in UTC.
    pub created_at: String,
    /// Time after which it may no longer be applied.
    pub expires_at: String,
    /// `live` or `inventory`.
    pub evidence: &'static str,
    /// Kubernetes Nodes, if given: they determine which instances are nodes.
    pub nodes: Option<&'a [KubernetesNode]>,
    /// Ids of the selected rules: findings of other rules are not fixed.
    pub rules: Vec<&'static str>,
    /// Options that determine the evidence; applying the plan requires the same ones.
    pub options: Vec<String>,
    /// Approved plan; this one contains nothing beyond it.
    pub within: Option<&'a Plan>,
}

impl<'a> Scope<'a> {
    /// Scope of a preview plan. Previews are never saved and carry no timestamps.
    pub(crate) fn preview(
        cluster_id: &'a str,
        source: SourceKind,
        nodes: Option<&'a [KubernetesNode]>,
        rules: &[&'static Rule],
    ) -> Self {
        Self {
            cluster_id,
            created_at: String::new(),
            expires_at: String::new(),
            evidence: source.name(),
            nodes,
            rules: rules.iter().map(|rule| rule.id).collect(),
            options: Vec::new(),
            within: None,
        }
    }
}

/// A plan, and the findings that it skips.
#[derive(Debug)]
pub struct Planned {
    /// The plan; it must not be applied if it is rejected.
    pub plan: Plan,
    /// Skipped findings, in the order of the report.
    pub skipped: Vec<Skipped>,
    /// Reasons the plan as a whole must not be applied; empty if it may be.
    pub rejected: Vec<String>,
    /// Approvals that had no effect.
    pub notes: Vec<String>,
}

impl Planned {
    /// True if the plan was rejected or a requested fix was refused.
    #[must_use]
    pub fn has_refusals(&self) -> bool {
        !self.rejected.is_empty() || self.skipped.iter().any(|left| matches!(left.reason, SkipReason::Refused(_)))
    }
}

/// Error that prevents a plan from being made.
#[derive(Debug, Error)]
pub enum BuildError {
    /// An approval that matches no rule or no answer.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// More or fewer accounts than one were read.
    #[error("a fix is planned for one account at a time, but {} were read", text::count(*number, "account"))]
    Accounts {
        /// Accounts that were read.
        number: usize,
    },
    /// The state after a change cannot be audited.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// Makes a plan. Refusals are part of the result; only invalid approvals are an error.
///
/// # Errors
/// If an answer or a rule does not exist; the error lists the existing ones.
pub fn build(
    estate: EstateRef<'_>,
    findings: &[Finding],
    scope: &Scope<'_>,
    approvals: &Approvals,
    audit: &Audit<'_>,
) -> Result<Planned, BuildError> {
    let notes = approvals::check(findings, approvals)?;
    let identities = estate.identities();
    let [identity] = identities.as_slice() else {
        return Err(BuildError::Accounts { number: identities.len() });
    };
    let limit = scope.within.map(Limit::new);
    let of_limit: Vec<Finding>;
    let findings = match &limit {
        Some(limit) => {
            of_limit = findings.iter().filter(|finding| limit.is_about(finding.rule)).cloned().collect();
            of_limit.as_slice()
        }
        None => findings,
    };
    let attempts = Attempts {
        identity,
        estate,
        approvals,
        limit: limit.as_ref(),
        cluster_id: scope.cluster_id,
        rules: &scope.rules,
        nodes: scope.nodes,
        audit,
        before: std::cell::RefCell::default(),
    };
    let (planner, changes) = attempts.resolve(findings)?;
    let indexes: BTreeSet<usize> = changes.iter().flat_map(|(_, findings)| findings.iter().copied()).collect();
    let fixes = indexes.iter().filter_map(|index| findings.get(*index)).map(|finding| FixedFinding {
        rule: finding.rule.to_owned(),
        severity: finding.severity,
        resource: finding.resource.id.clone(),
        fingerprint: finding.fingerprint.clone(),
    });
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Fix,
        account_id: identity.account_id.clone(),
        partition: identity.partition.clone(),
        caller_arn: identity.caller_arn.clone(),
        cluster_id: scope.cluster_id.to_owned(),
        regions: identity.regions.clone(),
        created_at: scope.created_at.clone(),
        expires_at: scope.expires_at.clone(),
        evidence: PlanEvidence {
            kind: scope.evidence.to_owned(),
            collected_at: estate.collected_at(),
            options: scope.options.clone(),
            gaps: estate.gaps().to_vec(),
        },
        approved: scope.within.map(|plan| plan.digest.clone()),
        fixes: fixes.collect(),
        changes: changes.into_iter().map(|(change, _)| change).collect(),
        digest: String::new(),
    };
    plan.seal();
    Ok(Planned { plan, skipped: planner.skipped, rejected: planner.rejected, notes })
}
