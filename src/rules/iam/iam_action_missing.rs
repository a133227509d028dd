use crate::aws::roles::{ActionAudit, RoleAudit};
use crate::controller::{self, CallRole, Need};
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE, breaks, grant_fix, instances, is_bare, need, not_asked, severity_in};

pub(super) const RULE: Rule = Rule {
    id: "iam-action-missing",
    title: "a node's role lacks actions of its baseline",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the controller always calls one of them, or an operator-chosen baseline names it; warning if only with a feature; info if never, or if no caller is known",
    ),
    resources: ROLE,
    condition: "The policies of a role that nodes hold grant an action of the baseline on no resource. A role of control-plane nodes that grants none of the actions that only the controller calls needs all of them, unless there is evidence that the controller has other credentials (`iam-controller-credentials-elsewhere`). A role whose nodes have no known role is compared with both baselines and has to cover one.",
    impact: "the calls are refused with AccessDenied",
    fix: "Put the missing actions into a separate policy. Never do so for roles whose nodes' roles are only guessed: a control-plane policy on workers is a privilege escalation.",
    applicability: Applicability::Confirm,
    sources: &[
        "Rancher and RKE documentation, Amazon cloud provider, IAM policies",
        "kubernetes/cloud-provider-aws docs/prerequisites.md",
        "policies/controller-calls.json",
    ],
    example: "role `workers` lacks 2 of 9 actions of rancher-worker: ecr:BatchGetImage, ecr:ListImages",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Policies),
    ..Rule::role(check)
};

fn check(context: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    if let Some(why) = not_asked(context, audit) {
        return CheckResult::not_applicable(why);
    }
    let lacking: Vec<&ActionAudit> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Missing)
        // An action that no node ever calls is not missed.
        .filter(|action| action.call_role == CallRole::Controlplane || need(action) != Some(Need::Never))
        .collect();
    let Some(severity) = lacking.iter().map(|action| severity_in(audit, action)).max() else {
        return CheckResult::clean();
    };
    let names: Vec<&str> = lacking.iter().map(|action| action.action.as_str()).collect();
    let is_bare = is_bare(audit);
    let mut message = format!(
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
    let also = audit.controller.iter().filter(|entry| entry.assessment.verdict == Verdict::Missing);
    let also = also.filter(|_| is_bare).map(|entry| entry.call.action.as_str());
    let all: Vec<&str> = names.iter().copied().chain(also).collect();
    let mut fix = grant_fix(audit, &all);
    if is_bare {
        message.push_str("; it grants none of the actions that only the cloud controller calls, and nothing shows that the controller has other credentials");
        fix.summary = format!(
            "attach the controller's policy to this role: {}; or, if the controller has separate credentials, name them with --controller-role ARN or --controller-credentials elsewhere",
            fix.summary
        );
    }
    let violation = Violation::new(severity, audit.resource(), message, fix);
    vec![violation.related(instances(audit)).impact(breaks(calls)).about(all)].into()
}

fn describe_roles(audit: &RoleAudit<'_>) -> String {
    if audit.node_roles.is_unknown() { " (nodes of unknown role)".to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let policy = c.worker_policy();
            *policy = policy.replace("ecr:BatchGetImage", "ecr:ListImages");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let policy = c.worker_policy();
            *policy = policy.replace("ecr:BatchGetImage", "ecr:Batch*");
        });
    }
}
