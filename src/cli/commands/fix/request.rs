//! Builds a plan from an account as it was read.

use crate::estate::{Estate, EstateRef};
use crate::finding::Finding;
use crate::fix::plan::{self, Approvals, Plan, Planned};
use crate::report::SourceKind;
use crate::rules::Rule;

use crate::cli::io::clock::{now, stamp};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::session::Scope;

/// Options of a plan that the operator sets.
#[derive(Default)]
pub(super) struct FixRequest<'a> {
    pub(super) approvals: Approvals,
    /// Lifetime of the plan, if it is set.
    pub(super) valid_for: Option<jiff::SignedDuration>,
    /// Approved plan that limits this one.
    pub(super) within: Option<&'a Plan>,
}

/// Plans the fixes of findings. `live` states that the account was read now, not from a recording.
pub(super) fn plan(
    scope: &Scope<'_>,
    rules: &[&'static Rule],
    estate: &Estate,
    findings: &[Finding],
    asked: &FixRequest<'_>,
    live: bool,
) -> Result<Planned, Failure> {
    let created = now();
    let read_at = estate.as_ref().collected_at().and_then(|at| at.parse().ok()).map_or(created, |at| created.min(at));
    let expires = read_at.checked_add(asked.valid_for.unwrap_or(plan::LIFETIME)).unwrap_or(read_at);
    let source = if live { SourceKind::Live } else { SourceKind::Inventory };
    let for_plan = plan::Scope {
        cluster_id: scope.cluster_id,
        created_at: stamp(created),
        expires_at: stamp(expires),
        evidence: source.name(),
        nodes: scope.nodes(),
        rules: rules.iter().map(|rule| rule.id).collect(),
        options: scope.options(),
        within: asked.within,
    };
    let audit = |estate: EstateRef<'_>, cluster_id: &str| scope.auditor(rules, source).re_audit(estate, cluster_id);
    plan::build(estate.as_ref(), findings, &for_plan, &asked.approvals, &audit)
        .map_err(|error| Failure::from_error(Exit::Usage, &error))
}

/// Failure of a plan that contradicts itself or would break something.
pub(super) fn rejected(planned: &Planned) -> Failure {
    let mut failure = Failure::new(Exit::Unfixed, "the plan was refused, and nothing was written");
    failure.causes.clone_from(&planned.rejected);
    failure.help("drop the --allow or --choose that causes this, or fix it by hand first")
}
