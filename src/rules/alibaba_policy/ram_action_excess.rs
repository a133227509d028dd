use crate::alibaba::{PrincipalAudit, Use};
use crate::policy::Excess;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, whom};

pub(super) const RULE: Rule = Rule {
    id: "ram-action-excess",
    title: "a principal of the cluster may do more than is needed",
    severity: RuleSeverity::depends(Severity::Info, "info; warning for changes on roles of workers"),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "A principal grants actions that neither the controllers call in any version, nor are published for them, for the CSI driver, terway or the cluster autoscaler.",
    impact: "every Pod on the node that reaches the metadata service can do it too",
    fix: "Remove what nothing on these nodes uses; `tightened_policy` in the JSON report is the smallest policy that still covers the baseline.",
    sources: &[
        "Alibaba Cloud RAM documentation, Grant least privilege",
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/master.policy",
    ],
    example: "role `k8s-worker` may do 1 thing that nothing published for these nodes asks for: vpc:* (450 actions up to write)",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    // What opens a privilege escalation path is told as that.
    let excess: Vec<&Excess> = audit.beyond.excess.iter().filter(|excess| !excess.escalation).collect();
    if excess.is_empty() {
        return CheckResult::counted(1, []);
    }
    // What no table knows is never more than information.
    let changes = excess.iter().any(|excess| !excess.is_unknown && excess.access_level.changes_something());
    let severity = if changes && audit.used_by == Use::OtherNodes { Severity::Warning } else { Severity::Info };
    let described: Vec<String> = excess
        .iter()
        .map(|excess| match (excess.is_unknown, excess.actions) {
            (true, _) => format!("{} (no known action)", excess.action),
            (false, 0 | 1) => format!("{} ({})", excess.action, excess.access_level.name()),
            (false, several) => format!("{} ({several} actions up to {})", excess.action, excess.access_level.name()),
        })
        .collect();
    let number = text::count(described.len(), "thing");
    let listed = text::list(&described, 6);
    let message = format!("{} may do {number} that nothing published for these nodes asks for: {listed}", whom(audit));
    let fix = Fix::none("remove what nothing on these nodes uses");
    CheckResult::counted(1, [Violation::new(severity, audit.resource(), message, fix).related(instances(audit))])
}
