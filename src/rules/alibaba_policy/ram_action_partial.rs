use crate::alibaba::PrincipalAudit;
use crate::alibaba::roles::ActionAudit;
use crate::policy::Verdict;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::ram_action_missing::{ELSEWHERE, severity_of};
use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-action-partial",
    title: "actions are granted to the controller only in part",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if only a feature needs it"),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "The policies of the controller's principal grant an action that the controller calls, but only on some resources, under a condition, or in one resource group. If an action has no resource in Alibaba Cloud, a statement on resources other than `*` has no effect.",
    impact: "the calls are refused on everything else",
    fix: "Allow it on `*`, or check that the limit covers everything that the cluster uses.",
    sources: &["Alibaba Cloud RAM documentation, Policy evaluation process", "policies/alibaba-controller-calls.json"],
    example: "role `k8s-master` has only part of 1 action of what the controllers call: slb:* on acs:slb:*:*:loadbalancer/*",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(context: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    if audit.has_other_credentials() {
        return CheckResult::not_applicable(ELSEWHERE);
    }
    let taken: Vec<&ActionAudit> =
        audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Partial).collect();
    let Some(severity) = taken.iter().map(|action| severity_of(action, context)).max() else {
        return CheckResult::counted(1, []);
    };
    let described: Vec<String> = taken
        .iter()
        .map(|action| {
            let on = action.assessment.only_on();
            let only_if = action.assessment.only_if();
            let on = if on.is_empty() { String::new() } else { format!(" on {}", text::list(&on, 2)) };
            let only_if = if only_if.is_empty() { String::new() } else { format!(" if {}", text::list(&only_if, 2)) };
            format!("{}{on}{only_if}", action.action)
        })
        .collect();
    let number = text::count(taken.len(), "action");
    let message = format!(
        "{} has only part of {number} of {}: {}",
        principal_label(audit),
        audit.baseline,
        text::list(&described, 6)
    );
    let fix = Fix::none("allow it on `*`, or check that the limit covers everything that the cluster uses");
    let severity = severity.min(Severity::Warning);
    let violation = Violation::new(severity, audit.resource(), message, fix).related(instances(audit));
    CheckResult::counted(1, [violation.about(taken.iter().map(|action| &action.action))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let policy = c.policy("k8s-ccm-additions");
            *policy = policy.replace(r#""Resource":"*""#, r#""Resource":"acs:slb:*:*:loadbalancer/*""#);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let policy = c.policy("k8s-ccm-additions");
            *policy = policy.replace(r#""Resource":"*""#, r#""Resource":["*"]"#);
        });
    }
}
