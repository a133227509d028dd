use std::collections::BTreeSet;

use crate::alibaba::PrincipalAudit;
use crate::alibaba::roles::ActionAudit;
use crate::policy::Verdict;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::ram_action_missing::{ELSEWHERE, severity_of};
use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-action-denied",
    title: "the controller is denied actions",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the call is an error in ram-action-missing; otherwise as in that rule",
    ),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "A Deny, a session policy or a control policy removes an action that the controller calls, whatever else allows it.",
    impact: "adding an Allow does not help",
    fix: "Remove the Deny, or exempt the controller from it.",
    sources: &["Alibaba Cloud RAM documentation, Policy evaluation process", "policies/alibaba-controller-calls.json"],
    example: "role `k8s-master` is denied 1 action of what the controllers call: slb:DeleteLoadBalancer",
    reads: &[
        Read::EcsDescribeInstances,
        Read::DescribeInstanceRamRole,
        Read::ListControlPolicyAttachments,
        Read::GetControlPolicy,
    ],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(context: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    if audit.has_other_credentials() {
        return CheckResult::not_applicable(ELSEWHERE);
    }
    let taken: Vec<&ActionAudit> =
        audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Denied).collect();
    let Some(severity) = taken.iter().map(|action| severity_of(action, context)).max() else {
        return CheckResult::counted(1, []);
    };
    let names: Vec<&str> = taken.iter().map(|action| action.action.as_str()).collect();
    let number = text::count(names.len(), "action");
    let message =
        format!("{} is denied {number} of {}: {}", principal_label(audit), audit.baseline, text::list(&names, 6));
    let deciding: BTreeSet<&str> = taken
        .iter()
        .flat_map(|action| &action.assessment.because)
        .map(|reference| reference.policy.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    let deciding: Vec<&str> = deciding.into_iter().collect();
    let fix = Fix::none(format!("remove the Deny, or exempt this principal from it: {}", text::list(&deciding, 4)));
    let violation = Violation::new(severity, audit.resource(), message, fix).related(instances(audit));
    CheckResult::counted(1, [violation.about(names)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.attach(alibaba::ROLE, "Deny", &["slb:Delete*"]));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.attach(alibaba::ROLE, "Deny", &["oss:*"]));
    }
}
