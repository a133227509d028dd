//! Rights of the controllers next to the cloud controller: load balancers, storage, autoscaling, DNS.

use crate::aws::AutoScalingGroup;
use crate::aws::autoscaler::{autoscalers, groups, works_here};
use crate::aws::companion_audit::CompanionAudit;
use crate::aws::companion_repair::{Repair, Surroundings};
use crate::aws::companions::{CompanionRole, CompanionRun, companions_on_nodes, is_isolated};
use crate::aws::ec2_trust::trusts_ec2;
use crate::aws::grant::is_protected;
use crate::aws::node_rights::{NodeRights, has_node_roles, node_rights};
use crate::aws::trusted_companions::{TrustedAudit, TrustedRole};
use crate::baseline::{self, usual_for};
use crate::controller::ControllerVersion;
use crate::controller::companion::CompanionRow;
use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::kubernetes::Object;
use crate::policy::{Document, EscalationPath, Impact};
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
mod autoscaler_pod_unplaced;
mod controller_action_excess;
mod controller_action_missing;
mod controller_condition_unmet;
mod controller_escalation;
mod controller_metadata_unreachable;
mod controller_node_rights_missing;
mod controller_not_running;
mod controller_rights_absent;
mod controller_target_action_missing;
mod lbc_cluster_name_argument;
mod lbc_cluster_name_missing;
mod lbc_gate_unknown;
mod lbc_installed_twice;
mod lbc_v1_resource;
mod lbc_vpc_mismatch;
mod lbc_vpc_unknown;
mod lbc_webhook_left;
mod lbc_webhook_unreachable;
mod nth_node_not_managed;
mod nth_queue_not_granted;
mod trusted_role_action_missing;
mod trusted_role_escalation;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/controller_role.rs"));

/// Domain of the names of the webhooks of the AWS Load Balancer Controller.
const WEBHOOK_DOMAIN: &str = ".elbv2.k8s.aws";

/// Name of its webhook for Pods, which matches only those of labelled namespaces.
const WEBHOOK_OF_PODS: &str = "mpod.elbv2.k8s.aws";

/// The webhooks of the AWS Load Balancer Controller in a configuration without which the API server refuses objects.
fn failing_webhooks(configuration: Object<'_>) -> impl Iterator<Item = Object<'_>> {
    configuration.items(&["webhooks"]).filter(|webhook| {
        let name = webhook.text(&["name"]).unwrap_or_default();
        name.ends_with(WEBHOOK_DOMAIN) && name != WEBHOOK_OF_PODS && webhook.text(&["failurePolicy"]) == Some("Fail")
    })
}

/// True if the metadata service of every node answers no Pod outside the host network: it requires tokens, with a hop
/// limit of 1.
fn is_metadata_closed(context: &Context<'_>) -> bool {
    let members = context.view.regions.iter().flat_map(|region| &region.members);
    let mut options = members.map(|member| member.instance.metadata_options.as_ref()).peekable();
    options.peek().is_some()
        && options.all(|options| {
            options.is_some_and(|one| {
                one.http_put_response_hop_limit == Some(1) && one.http_tokens.as_deref() == Some("required")
            })
        })
}

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
    let autoscalers = autoscalers(context.kubernetes).into_iter();
    for run in autoscalers.filter(|run| works_here(run, context.view, context.kubernetes)) {
        checked += check(&run, &groups, &mut found);
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
    workload_violation(run, severity, message, Fix::none(fix)).with_respect_to(subject)
}

/// Violation of the workload of a controller; the message begins with its name.
fn workload_violation(run: &CompanionRun<'_>, severity: Severity, message: &str, fix: Fix) -> Violation {
    let name = run.workload.full_name();
    let message = format!("{} {message}", text::printable(&name));
    let resource = ResourceRef::bare(ResourceKind::Workload, &name);
    Violation::new(severity, resource, message, fix).at(&run.workload.place)
}

/// Runs a check on each controller that has no credentials but those of its nodes, and what their roles grant it.
fn check_on_nodes(
    context: &Context<'_>,
    check: impl Fn(&CompanionRun<'_>, &NodeRights<'_>) -> Option<Violation>,
) -> CheckResult {
    if !has_node_roles(context.view) {
        return CheckResult::not_applicable("the roles of the nodes were not read");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for run in companions_on_nodes(context.view, context.kubernetes) {
        let Some(rights) = node_rights(&run, context.view, (context.kubernetes, context.objects), context.role_options)
        else {
            continue;
        };
        checked += 1;
        found.extend(check(&run, &rights));
    }
    match checked {
        0 => CheckResult::not_applicable("no running controller is known to use the roles of the nodes"),
        checked => CheckResult::counted(checked, found),
    }
}

/// Controllers whose roles were read, with what these grant.
fn audited_roles<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (&'c CompanionRole<'c>, &'c CompanionAudit)> {
    context.companions.iter().filter_map(|entry| Some((&entry.one, entry.audited.as_ref().ok()?)))
}

/// Result of a check of those roles.
fn role_check_result(context: &Context<'_>, found: Vec<Violation>) -> CheckResult {
    match audited_roles(context).count() {
        0 => CheckResult::not_applicable("no controller has a role that was read, or no workloads were given"),
        checked => CheckResult::counted(checked, found),
    }
}

/// Describes the escalation paths that are certain, three at most; `None` if there is none.
pub(super) fn escalation(paths: &[EscalationPath]) -> Option<String> {
    let paths: Vec<&EscalationPath> =
        paths.iter().filter(|path| path.gain != Impact::DataAccess && path.certain).collect();
    let described: Vec<String> = paths
        .iter()
        .take(3)
        .map(|path| {
            let actions: Vec<&str> = path.actions.iter().map(|step| step.action.as_str()).collect();
            format!("{} ({})", path.so_that, actions.join(", "))
        })
        .collect();
    let more = match paths.len() - described.len() {
        0 => String::new(),
        rest => format!("; and {}", text::count(rest, "more path")),
    };
    (!paths.is_empty()).then(|| described.join("; ") + &more)
}

/// Roles that ServiceAccounts of controllers may assume, with what these grant.
fn trusted_roles<'c>(context: &'c Context<'_>) -> impl Iterator<Item = (&'c TrustedRole<'c>, &'c TrustedAudit)> {
    context.trusted.iter().filter_map(|one| Some((one, one.audited.as_ref().ok()?)))
}

/// Advice to attach the published policies of the controllers of such a role.
fn published_advice(row: &CompanionRow) -> String {
    match row.baselines.first() {
        Some(name) => format!("attach the published policy (`tagaudit baseline show {name}`)"),
        None => format!("attach the policy in the documentation of {}", row.name),
    }
}

/// Result of a check of those roles.
fn trusted_check_result(context: &Context<'_>, found: Vec<Violation>) -> CheckResult {
    match trusted_roles(context).count() {
        0 => CheckResult::not_applicable(
            "workloads were given, or no role of the cluster trusts the usual ServiceAccount of a controller",
        ),
        checked => CheckResult::counted(checked, found),
    }
}

/// Grants actions in the scope in which the policy of the release allows them; never through a role of nodes, whose Pods would
/// all have them.
fn grant_fix(
    context: &Context<'_>,
    one: &CompanionRole<'_>,
    version: Option<ControllerVersion>,
    actions: &[&str],
) -> Fix {
    let run = &one.run;
    let cluster_id = context.view.cluster_id;
    let policy = usual_for(run.row.companion, version, is_isolated(context.view));
    let Some((release, baseline)) = policy.and_then(|release| {
        let embedded = baseline::find(release.baseline)?;
        let baseline = embedded.baseline(None).ok()?;
        // The controller may have another name for the cluster.
        let is_same = run.cluster_name() == Some(cluster_id);
        Some((release, if is_same { baseline.for_cluster(cluster_id) } else { baseline }))
    }) else {
        return Fix::none(format!("attach the policy that the {} project publishes for this release", run.row.name));
    };
    let by_hand = format!(
        "add the statements of baseline `{0}`: `tagaudit baseline show {0} --cluster-id {1}`",
        release.baseline,
        text::shell_quote(run.cluster_name().unwrap_or(cluster_id))
    );
    let profiles = &one.account.instance_profiles;
    if profiles.iter().any(|profile| profile.roles.contains(&one.role.name)) {
        return Fix::none(format!(
            "{by_hand}; the role is also that of an instance profile, so give the controller a separate role"
        ));
    }
    // Profiles that no instance of today has were not read.
    let trust = one.role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok());
    if trust.is_none_or(|trust| trusts_ec2(&trust, &one.account.partition)) {
        return Fix::none(format!(
            "{by_hand}; EC2 may assume the role too, so instances can have it: give the controller a separate role"
        ));
    }
    if is_protected(&one.role.path) {
        return Fix::none("only AWS can change this role: give the controller another role");
    }
    let surroundings = Surroundings {
        view: context.view,
        evidence: context.kubernetes,
        objects: context.objects,
        options: context.role_options,
    };
    let repair = Repair::new(one, surroundings, &baseline, actions);
    if repair.grants.is_empty() {
        return Fix::none(by_hand);
    }
    let what = text::count(repair.count(), "action");
    match repair.changes(one) {
        Ok(changes) if repair.by_hand.is_empty() => {
            Fix::with(Applicability::Confirm, format!("add the {what} in a separate policy"), changes)
        }
        Ok(changes) => Fix::with(
            Applicability::Confirm,
            format!("add {what} in a separate policy; for the rest {by_hand}"),
            changes,
        ),
        Err(refused) => Fix::none(format!("{by_hand}; not added here: {refused}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::aws;

    /// Lets ServiceAccounts alone assume a role.
    pub(super) fn assume_by_web_identity(c: &mut aws::Cluster, role: &str) {
        let trust = r#"{"Statement":{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity","Principal":{"Federated":"arn:aws:iam::111122223333:oidc-provider/oidc.example.com"}}}"#;
        c.role(role).trust_policy = Some(trust.to_owned());
    }

    /// Lets a ServiceAccount (`NAMESPACE:NAME`) assume a role, which has no tags.
    pub(super) fn trust_service_account(c: &mut aws::Cluster, role: &str, service_account: &str) {
        let role = c.role(role);
        role.tags = Some(Vec::new());
        let trust = serde_json::json!({"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": "arn:aws:iam::111122223333:oidc-provider/oidc.example.com"},
            "Condition": {"StringEquals": {
                "oidc.example.com:sub": format!("system:serviceaccount:{service_account}")}}}]});
        role.trust_policy = Some(trust.to_string());
    }
}
