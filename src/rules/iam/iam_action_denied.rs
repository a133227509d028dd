use std::collections::BTreeSet;

use crate::aws::roles::{ActionAudit, RoleAudit};
use crate::controller;
use crate::policy::{StatementRef, Verdict};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE, breaks, instances, severity_in};

pub(super) const RULE: Rule = Rule {
    id: "iam-action-denied",
    title: "actions of the baseline are denied",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the controller always calls one of them, warning if only with a feature, info if never",
    ),
    resources: ROLE,
    condition: "A Deny statement, the permissions boundary of a role that nodes hold, or a service control policy given with `--scp` removes an action of the baseline on every resource.",
    impact: "the calls are refused with AccessDenied, whatever is added to the role",
    fix: "Change the Deny, the boundary or the service control policy; adding an Allow cannot help.",
    sources: &[
        "AWS IAM User Guide, Policy evaluation logic",
        "AWS IAM User Guide, Permissions boundaries for IAM entities",
    ],
    example: "role `controlplane` is denied ec2:DeleteVolume by statement 2 of `guard`",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Policies),
    ..Rule::role(check)
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    let taken: Vec<&ActionAudit> =
        audit.actions.iter().filter(|action| action.assessment.verdict == Verdict::Denied).collect();
    let Some(severity) = taken.iter().map(|action| severity_in(audit, action)).max() else {
        return CheckResult::clean();
    };
    let names: Vec<&str> = taken.iter().map(|action| action.action.as_str()).collect();
    let by = deciders(audit, taken.iter().flat_map(|action| &action.assessment.because));
    let message = format!("role `{}` is denied {} by {by}", audit.role.name, text::list(&names, 6));
    let calls = taken.iter().map(|action| (action.action.clone(), controller::find(action.call_role, &action.action)));
    let violation = Violation::new(
        severity,
        audit.resource(),
        message,
        Fix::none("change the Deny, the boundary or the service control policy: adding an Allow cannot help"),
    )
    .related(instances(audit))
    .impact(breaks(calls))
    .about(names);
    vec![violation].into()
}

fn deciders<'a>(audit: &RoleAudit<'_>, because: impl Iterator<Item = &'a StatementRef>) -> String {
    let is_boundary = |name: &str| audit.role.permissions_boundary.as_deref() == Some(name);
    let unique: BTreeSet<&StatementRef> = because.collect();
    let described: Vec<String> = unique
        .into_iter()
        .map(|reference| match reference.statement {
            Some(_) => reference.describe(),
            None if is_boundary(&reference.policy) => {
                format!("the boundary {}, which does not allow it", reference.describe())
            }
            None => format!("the control policy {}, which does not allow it", reference.describe()),
        })
        .collect();
    text::list(&described, 3)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.on_workers("Deny", &["ecr:BatchGetImage"]));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.on_workers("Deny", &["s3:*"]));
    }
}
