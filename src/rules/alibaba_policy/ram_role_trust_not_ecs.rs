use crate::alibaba::PrincipalAudit;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-role-trust-not-ecs",
    title: "the RAM role of nodes does not trust ECS",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::RamRole],
    condition: "The trust policy of the RAM role of a node does not let the service `ecs.aliyuncs.com` assume it. If that depends on a condition, it is not audited.",
    impact: "the metadata service gives no credentials to anything on the node",
    fix: "Let `ecs.aliyuncs.com` assume the role in its trust policy.",
    sources: &["ECS documentation, Instance RAM roles: the trusted service is ecs.aliyuncs.com"],
    example: "role `k8s-worker` of 4 nodes does not trust ecs.aliyuncs.com",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Trust(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    match audit.trusts_ecs {
        None => return CheckResult::not_applicable("no node has a role with a known trust policy"),
        Some(true) => return CheckResult::counted(1, []),
        Some(false) => {}
    }
    let nodes = text::count(audit.members.len(), "node");
    let message = format!("{} of {nodes} does not trust ecs.aliyuncs.com", principal_label(audit));
    let fix = Fix::none("let the service `ecs.aliyuncs.com` assume the role in its trust policy");
    CheckResult::counted(1, [Violation::new(Severity::Error, audit.resource(), message, fix).related(instances(audit))])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let policy = c.principal(alibaba::ROLE).trust_policy.as_mut().unwrap();
            *policy = policy.replace(r#""ecs.aliyuncs.com""#, r#""ros.aliyuncs.com""#);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let policy = c.principal(alibaba::ROLE).trust_policy.as_mut().unwrap();
            *policy = policy.replace(r#""ecs.aliyuncs.com""#, r#""ros.aliyuncs.com","ecs.aliyuncs.com""#);
        });
    }
}
