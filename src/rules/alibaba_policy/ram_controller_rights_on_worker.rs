use crate::alibaba::{PrincipalAudit, Use};
use crate::policy;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-controller-rights-on-worker",
    title: "a worker's role grants actions that only the controller calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RamRole],
    condition: "The RAM role of nodes that run no control plane grants the deletion of load balancers or routes.",
    impact: "every Pod on a worker that reaches the metadata service can delete the cluster's load balancers and routes",
    fix: "Give workers a separate role.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/worker.policy",
        "Alibaba Cloud RAM documentation, Grant least privilege",
    ],
    example: "role `k8s` of 4 workers grants actions that only the controller calls: slb:DeleteLoadBalancer, vpc:DeleteRouteEntry",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    if audit.used_by != Use::OtherNodes {
        return CheckResult::not_applicable("no role of workers alone was compared");
    }
    let granted: Vec<&str> = OF_THE_CONTROLLER
        .iter()
        .copied()
        .filter(|action| {
            let folded = action.to_lowercase();
            let patterns = audit.beyond.excess.iter().filter(|excess| !excess.is_negated);
            patterns.into_iter().any(|excess| policy::matches(&excess.action.to_lowercase(), &folded))
        })
        .collect();
    if granted.is_empty() {
        return CheckResult::counted(1, []);
    }
    let workers = text::count(audit.members.len(), "worker");
    let message = format!(
        "{} of {workers} grants actions that only the controller calls: {}",
        principal_label(audit),
        text::list(&granted, 6)
    );
    let fix = Fix::none("give workers a separate role");
    CheckResult::counted(
        1,
        [Violation::new(Severity::Warning, audit.resource(), message, fix).related(instances(audit))],
    )
}

/// Destructive actions that only the controller calls.
const OF_THE_CONTROLLER: [&str; 4] =
    ["nlb:DeleteLoadBalancer", "slb:DeleteLoadBalancer", "vpc:DeleteRouteEntries", "vpc:DeleteRouteEntry"];

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.add_worker_role();
            c.attach("k8s-worker", "Allow", &["slb:*"]);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.add_worker_role();
            c.attach("k8s-worker", "Allow", &["oss:GetObject"]);
        });
    }
}
