use crate::aws::roles::{ActionAudit, RoleAudit};
use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE, instances, severity_in};

pub(super) const RULE: Rule = Rule {
    id: "iam-action-partial",
    title: "actions of the baseline are granted in part",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for actions that are never called"),
    resources: ROLE,
    condition: "An action of the baseline is granted on some resources only, or under a condition that does not hold for the cluster's resources. Conditions on this cluster's tags, as kOps writes them, count as granted.",
    impact: "the calls are refused with AccessDenied on everything else",
    fix: "Widen the statement, or make sure that it covers everything that the cluster needs.",
    sources: &["AWS IAM User Guide, Policy evaluation logic"],
    example: "role `controlplane` has ec2:DeleteVolume only on arn:aws:ec2:*:*:volume/vol-1",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Policies),
    ..Rule::role(check)
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    let limited: Vec<&ActionAudit> = audit
        .actions
        .iter()
        .filter(|action| action.assessment.verdict == Verdict::Partial && !action.covers_cluster)
        .collect();
    let worst = limited.iter().map(|action| severity_in(audit, action).min(Severity::Warning));
    let Some(severity) = worst.max() else { return CheckResult::clean() };
    let names: Vec<&str> = limited.iter().map(|action| action.action.as_str()).collect();
    let mut limits: Vec<String> = Vec::new();
    for action in &limited {
        let (only_on, only_if) = (action.assessment.only_on(), action.assessment.only_if());
        if !only_on.is_empty() {
            limits.push(format!("on {}", only_on.join(", ")));
        }
        if !only_if.is_empty() {
            limits.push(format!("if {}", only_if.join(", or if ")));
        }
    }
    limits.sort();
    limits.dedup();
    let message = format!("role `{}` has {} only {}", audit.role.name, text::list(&names, 6), text::list(&limits, 3));
    let fix = Fix::none("widen the statement, or make sure that it covers everything that the cluster needs");
    vec![Violation::new(severity, audit.resource(), message, fix).related(instances(audit)).about(names)].into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let policy = c.worker_policy();
            *policy = policy.replace(r#""Resource": "*""#, r#""Resource": "arn:aws:ecr:*:*:repository/web""#);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let policy = c.worker_policy();
            *policy = policy.replace(r#""Resource": "*""#, r#""Resource": ["*"]"#);
        });
    }
}
