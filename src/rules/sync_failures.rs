//! Load balancers that their controller does not finish, as the model of the controllers decides.

use crate::kubernetes::Place;
use crate::model::any_account::failures_in_any_account;
use crate::model::failures::{Failure, certain_failures};
use crate::model::simulate::{ObjectKind, SimulationError};

use super::aws::Context;
use super::prelude::*;

/// The lists on which the decisions depend.
pub(super) const READS: &[Read] = &[
    Read::DescribeAvailabilityZones,
    Read::DescribeInstances,
    Read::DescribeRouteTables,
    Read::DescribeSecurityGroups,
    Read::DescribeSubnets,
];

/// Longest error that is repeated, in characters.
const LONGEST: usize = 400;

/// An object at which a controller stops.
pub(super) struct Stopped<'f> {
    pub(super) failure: &'f Failure,
    /// `NAMESPACE/NAME`.
    pub(super) name: String,
}

/// Reason for no result if the Nodes are not in a single region.
pub(super) const SEVERAL_REGIONS: &str = "the nodes are not in one region";

/// Runs a check on each load balancer of one kind of objects that a controller does not finish.
pub(super) fn check(
    context: &Context<'_>,
    kind: ObjectKind,
    none: &'static str,
    violation: impl Fn(&Stopped<'_>) -> Violation,
) -> CheckResult {
    let version = context.on_kubernetes().aws_controller_version();
    let failures = certain_failures(context.view, context.kubernetes, kind, version);
    reported(failures, (SEVERAL_REGIONS, none), |stopped| Some(violation(stopped)))
}

/// Runs a check on each load balancer that the controller cannot create in any account. The check returns `None` for an
/// object that it does not apply to.
pub(super) fn check_files(
    context: &KubernetesContext<'_>,
    kind: ObjectKind,
    none: &'static str,
    violation: impl Fn(&Stopped<'_>) -> Option<Violation>,
) -> CheckResult {
    let version = context.aws_controller_version();
    let failures = failures_in_any_account(context.evidence, kind, context.cluster_id, version);
    reported(failures, (NOT_MODELLED, none), violation)
}

/// Reason for no result for files.
pub(super) const NOT_MODELLED: &str = "the version of the controller is not modelled";

/// Findings for the failures. `undecided` is the reason if the simulation fails, `none` the reason if there is no
/// object.
pub(super) fn reported(
    failures: Result<(usize, Vec<Failure>), SimulationError>,
    (undecided, none): (&'static str, &'static str),
    violation: impl Fn(&Stopped<'_>) -> Option<Violation>,
) -> CheckResult {
    let Ok((taken, failures)) = failures else { return CheckResult::not_applicable(undecided) };
    if taken == 0 {
        return CheckResult::not_applicable(none);
    }
    let found = failures.iter().filter_map(|failure| {
        let object = &failure.decision.object;
        violation(&Stopped { failure, name: format!("{}/{}", object.namespace, object.name) })
    });
    CheckResult::counted(taken, found)
}

impl Stopped<'_> {
    /// The finding about the object.
    pub(super) fn violation(
        &self,
        noun: &str,
        resource: ResourceRef,
        has_address: bool,
        place: Option<&Place>,
    ) -> Violation {
        let error = text::printable(&self.failure.error);
        let short: String = error.chars().take(LONGEST).collect();
        let end = if short.len() < error.len() { "…" } else { "" };
        let versions = match &self.failure.versions {
            Some((first, last)) => format!(", in every version from {first} to {last},"),
            None => format!(" ({})", self.failure.decision.version),
        };
        let controller = self.failure.controller.describe();
        // The words are those of the newest version.
        let of = match &self.failure.versions {
            Some((_, last)) if self.failure.has_other_errors => format!(" ({last}; others report another error)"),
            _ => String::new(),
        };
        let message =
            format!("the {controller}{versions} stops at {noun} {}: `{short}{end}`{of}", text::printable(&self.name));
        let impact = match (has_address, self.failure.decision.created) {
            (true, _) => "the existing load balancer does not follow any change of the object or of the Nodes",
            (false, true) => "the load balancer exists, but listeners, rules or targets are missing",
            (false, false) => "no load balancer is created",
        };
        let fix = Fix::none("correct what the error names; `tagaudit simulate` shows the steps before it");
        let violation = Violation::new(Severity::Error, resource, message, fix).impact(Some(impact.to_owned()));
        match place {
            Some(place) => violation.at(place),
            None => violation,
        }
    }
}
