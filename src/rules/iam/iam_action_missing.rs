use crate::controller::{self, CallRole, Need};
use crate::finding::{Applicability, Severity};
use crate::policy::Verdict;
use crate::role_audit::{ActionAudit, RoleAudit};
use crate::rules::{Check, Checked, Context, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

use super::{ELSEWHERE, INSTANCES, ROLE, breaks, grant_fix, instances, need, severity_of, uses_other_credentials};

pub(super) const RULE: Rule = Rule {
    id: "iam-action-missing",
    title: "a node's role lacks actions of its baseline",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the controller always calls one of them, warning if only with a feature, info if never",
    ),
    resources: ROLE,
    condition: "The policies of a role that nodes hold grant an action of the baseline on no resource. A role whose nodes have no known role is compared with both baselines and has to cover one.",
    impact: "the calls are refused with AccessDenied",
    fix: "Put the missing actions into one policy of their own. Never for roles whose nodes' roles are only guessed: a controlplane policy on workers is a privilege escalation.",
    applicability: Applicability::Confirm,
    sources: &[
        "Rancher and RKE documentation, Amazon cloud provider, IAM policies",
        "kubernetes/cloud-provider-aws docs/prerequisites.md",
        "policies/controller-calls.json",
    ],
    example: "role `workers` lacks 2 of 9 actions of rancher-worker: ecr:BatchGetImage, ecr:ListImages",
    reads: &[INSTANCES],
    subjects: Subjects::ComparedRoles,
    check: Check::Role(check),
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> Checked {
    if uses_other_credentials(audit) {
        return Checked::NotApplicable(ELSEWHERE);
    }
    let lacking: Vec<&ActionAudit> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Missing)
        // What no node ever calls is missed by nobody.
        .filter(|action| action.call_role == CallRole::Controlplane || need(action) != Some(Need::Never))
        .collect();
    let Some(severity) = lacking.iter().map(|action| severity_of(need(action))).max() else { return Checked::clean() };
    let names: Vec<&str> = lacking.iter().map(|action| action.action.as_str()).collect();
    let message = format!(
        "role `{}`{} lacks {} of {} of {}: {}",
        audit.role.name,
        describe_roles(audit),
        names.len(),
        text::count(audit.actions.len(), "action"),
        audit.baseline,
        text::list(&names, 6)
    );
    let calls =
        lacking.iter().map(|action| (action.action.clone(), controller::find(action.call_role, &action.action)));
    let violation = Violation::new(severity, audit.resource(), message, grant_fix(audit, &names));
    vec![violation.related(instances(audit)).impact(breaks(calls))].into()
}

fn describe_roles(audit: &RoleAudit<'_>) -> String {
    if audit.node_roles.is_unknown() { " (nodes of unknown role)".to_owned() } else { String::new() }
}
