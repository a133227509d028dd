use crate::aws::roles::RoleAudit;
use crate::policy::Impact;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE, instances, is_workers_only};

pub(super) const RULE: Rule = Rule {
    id: "iam-privilege-escalation",
    title: "a node's role opens a privilege escalation path",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if a worker role can gain permissions or run code; warning if it can only read data, and for control-plane roles",
    ),
    resources: ROLE,
    condition: "The role's policies, Deny statements and boundary taken into account, grant every action of a known privilege escalation path, leading to permissions, to code on other machines or to secrets, and at least one of those actions is neither in its baseline nor called by the controller; or the role can assume another role in the inventory that has write permissions it lacks itself.",
    impact: "every pod that reaches the metadata service can use this path",
    fix: "Remove the actions that the node does not need, or limit them to the resources that it does need; restrict pods' access to the metadata service.",
    sources: &[
        "https://pathfinding.cloud",
        "salesforce/cloudsplaining cloudsplaining/shared/constants.py#PRIVILEGE_ESCALATION_METHODS",
        "prowler-cloud/prowler, privilege escalation by IAM policies",
    ],
    example: "role `workers` can start an instance with a more privileged role and obtain its credentials (iam:PassRole, ec2:RunInstances)",
    reads: &[INSTANCES],
    is_about_security: true,
    ..Rule::role(check)
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    let paths = &audit.beyond.paths;
    if paths.is_empty() && audit.more_privileged.is_empty() {
        return CheckResult::clean();
    }
    let only_data = audit.more_privileged.is_empty() && paths.iter().all(|path| path.gain == Impact::DataAccess);
    let severity = if is_workers_only(audit) && !only_data { Severity::Error } else { Severity::Warning };
    let mut described: Vec<String> = Vec::new();
    if !audit.more_privileged.is_empty() {
        described.push(format!("assume the more privileged {}", text::list(&audit.more_privileged, 3)));
    }
    described.extend(paths.iter().map(|path| {
        let actions: Vec<&str> = path.actions.iter().map(|step| step.action.as_str()).collect();
        let limits: Vec<&str> = path.actions.iter().flat_map(|step| &step.only_on).map(String::as_str).collect();
        let on = if limits.is_empty() { String::new() } else { format!(" on {}", text::list(&limits, 3)) };
        let limited = if path.actions.iter().any(|step| !step.only_if.is_empty()) { ", under conditions" } else { "" };
        format!("{} ({}{on}{limited})", path.so_that, actions.join(", "))
    }));
    let shown: Vec<&str> = described.iter().take(3).map(String::as_str).collect();
    let rest = described.len().saturating_sub(shown.len());
    let more = if rest == 0 { String::new() } else { format!("; and {} more", text::count(rest, "path")) };
    let message = format!("role `{}` can {}{more}", audit.role.name, shown.join("; "));
    let fix = Fix::none(
        "remove the actions that these nodes do not need: `tightened_policy` in the JSON report is the smallest policy that still covers the baseline",
    );
    vec![Violation::new(severity, audit.resource(), message, fix).related(instances(audit))].into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.on_workers("Allow", &["iam:PassRole", "ec2:RunInstances"]));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.on_workers("Allow", &["ec2:RunInstances"]));
    }
}
