use crate::alibaba::{PrincipalAudit, Use};
use crate::policy::Impact;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-privilege-escalation",
    title: "a principal of the cluster opens a privilege escalation path",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if a worker's role can gain permissions or run code; warning if it can only read data, and for the controller",
    ),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "Its policies grant every action of a known path to more permissions, to code on other machines or to secrets, and at least one of them is not needed by anything published for these nodes.",
    impact: "every Pod that reaches the metadata service can use this path",
    fix: "Remove the actions that the node does not need; require tokens for the metadata service.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `k8s-worker` can attach any policy to a role, including its own (ram:AttachPolicyToRole)",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    let paths = &audit.beyond.paths;
    if paths.is_empty() {
        return CheckResult::counted(1, []);
    }
    let only_data = paths.iter().all(|path| path.gain == Impact::DataAccess);
    let severity = if audit.used_by == Use::OtherNodes && !only_data { Severity::Error } else { Severity::Warning };
    let described: Vec<String> = paths
        .iter()
        .take(3)
        .map(|path| {
            let actions: Vec<&str> = path.actions.iter().map(|step| step.action.as_str()).collect();
            let limited = if path.certain { "" } else { ", in part" };
            format!("{} ({}{limited})", path.so_that, actions.join(", "))
        })
        .collect();
    let rest = paths.len() - described.len();
    let more = if rest == 0 { String::new() } else { format!("; and {} more", text::count(rest, "path")) };
    let message = format!("{} can {}{more}", principal_label(audit), described.join("; "));
    let fix = Fix::none("remove the actions that these nodes do not need");
    CheckResult::counted(1, [Violation::new(severity, audit.resource(), message, fix).related(instances(audit))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.attach(alibaba::ROLE, "Allow", &["ram:AttachPolicyToRole"]));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.attach(alibaba::ROLE, "Allow", &["ram:GetRole"]));
    }
}
