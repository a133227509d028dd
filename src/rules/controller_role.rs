//! Rights of the controllers next to the cloud controller: load balancers, storage, autoscaling, DNS.

use crate::aws::AutoScalingGroup;
use crate::aws::autoscaler::{groups, works_here};
use crate::aws::companion_audit::CompanionAudit;
use crate::aws::companions::{CompanionRole, CompanionRun, companions};
use crate::controller::companion::Companion;
use crate::finding::{Fix, ResourceRef, Severity};
use crate::resource::ResourceKind;
use crate::text;

use super::Rule;
use super::aws::Context;
use super::check_result::CheckResult;
use super::service_account::role_reference;
use super::violation::Violation;

mod autoscaler_bounds_outside;
mod autoscaler_discovers_nothing;
mod autoscaler_group_missing;
mod autoscaler_group_not_granted;
mod controller_action_missing;
mod controller_condition_unmet;
mod controller_escalation;
mod controller_metadata_unreachable;
mod controller_not_running;
mod controller_rights_absent;
mod controller_target_action_missing;
mod lbc_installed_twice;
mod lbc_vpc_mismatch;
mod lbc_webhook_left;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/controller_role.rs"));

/// Runs a check on each cluster autoscaler and the Auto Scaling groups of the cluster's regions. The check adds what it
/// finds and returns the number of arguments that it compared.
fn check_autoscalers(
    context: &Context<'_>,
    check: impl Fn(&CompanionRun<'_>, &[&AutoScalingGroup], &mut Vec<Violation>) -> usize,
) -> CheckResult {
    let Some(groups) = groups(context.view) else {
        return CheckResult::not_applicable("the Auto Scaling groups were not read");
    };
    let mut found = Vec::new();
    let mut checked = 0;
    for run in companions(context.kubernetes) {
        let is_one = run.row.companion == Companion::ClusterAutoscaler;
        if is_one && works_here(&run, context.view, context.kubernetes) {
            checked += check(&run, &groups, &mut found);
        }
    }
    match checked {
        0 => CheckResult::not_applicable("no cluster autoscaler with this argument was given"),
        checked => CheckResult::counted(checked, found),
    }
}

/// Violation of a cluster autoscaler.
fn autoscaler_violation(
    run: &CompanionRun<'_>,
    severity: Severity,
    message: &str,
    subject: &str,
    fix: &'static str,
) -> Violation {
    let name = run.workload.full_name();
    let message = format!("{} {message}", text::printable(&name));
    let resource = ResourceRef::bare(ResourceKind::Workload, &name);
    Violation::new(severity, resource, message, Fix::none(fix)).with_respect_to(subject).at(&run.workload.place)
}

/// Controllers whose roles were read, with what these grant.
fn audited_roles<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (&'c CompanionRole<'c>, &'c CompanionAudit)> {
    context.companions.iter().filter_map(|entry| Some((&entry.one, entry.audited.as_ref()?)))
}

/// Result of a check of those roles.
fn role_check_result(context: &Context<'_>, found: Vec<Violation>) -> CheckResult {
    match audited_roles(context).count() {
        0 => CheckResult::not_applicable("no controller has a role that was read, or no workloads were given"),
        checked => CheckResult::counted(checked, found),
    }
}
