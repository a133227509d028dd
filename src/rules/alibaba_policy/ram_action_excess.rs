use std::sync::LazyLock;

use crate::alibaba::{PrincipalAudit, Use};
use crate::baseline;
use crate::policy::{self, Excess};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{instances, principal_label};

pub(super) const RULE: Rule = Rule {
    id: "ram-action-excess",
    title: "a principal of the cluster has more permissions than needed",
    severity: RuleSeverity::depends(
        Severity::Info,
        "info; warning for modifying actions on roles of workers, beyond the default policy that ACK once published",
    ),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "A principal's policies grant actions that no version of the controllers calls, and that are not published for them, the CSI driver, terway or the cluster autoscaler.",
    impact: "every Pod on the node that reaches the metadata service has them too",
    fix: "Remove the permissions that nothing on these nodes uses; `tightened_policy` in the JSON report is the smallest policy that still covers the baseline.",
    sources: &[
        "Alibaba Cloud RAM documentation, Grant least privilege",
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/master.policy",
    ],
    example: "role `k8s-worker` has 1 permission that nothing published for these nodes needs: vpc:* (450 actions up to write)",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    // Actions that open a privilege escalation path are reported as such.
    let excess: Vec<&Excess> = audit.beyond.excess.iter().filter(|excess| !excess.escalation).collect();
    if excess.is_empty() {
        return CheckResult::counted(1, []);
    }
    // An action that is in no table is never more than info, and neither is what the default policy of ACK once granted.
    let is_default = |excess: &Excess| {
        let action = excess.action.to_lowercase();
        once_default().iter().any(|pattern| policy::matches(&pattern.to_lowercase(), &action))
    };
    let changes = excess
        .iter()
        .any(|excess| !excess.is_unknown && excess.access_level.changes_something() && !is_default(excess));
    let severity = if changes && audit.used_by == Use::OtherNodes { Severity::Warning } else { Severity::Info };
    let described: Vec<String> = excess
        .iter()
        .map(|excess| match (excess.is_unknown, excess.actions) {
            (true, _) => format!("{} (no known action)", excess.action),
            (false, 0 | 1) => format!("{} ({})", excess.action, excess.access_level.name()),
            (false, several) => format!("{} ({several} actions up to {})", excess.action, excess.access_level.name()),
        })
        .collect();
    let number = text::count(described.len(), "permission");
    let listed = text::list(&described, 6);
    let message =
        format!("{} has {number} that nothing published for these nodes needs: {listed}", principal_label(audit));
    let fix = Fix::none("remove the permissions that nothing on these nodes uses");
    CheckResult::counted(1, [Violation::new(severity, audit.resource(), message, fix).related(instances(audit))])
}

/// The actions of the workers' default policy of 2019, which grants whole services and which old clusters still have.
/// Source: kubernetes/cloud-provider-alibaba-cloud `docs/examples/worker.policy` of 2019.
fn once_default() -> &'static [String] {
    static ACTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let embedded = baseline::find("ack-2019-worker").and_then(|embedded| embedded.baseline(None).ok());
        embedded.map(|baseline| baseline.actions).unwrap_or_default()
    });
    &ACTIONS
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::baseline::{self, Published, RELEASES};
    use crate::finding::Severity;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |_| ());
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let policy = c.policy("k8s-ccm-additions");
            *policy = policy.replace("nlb:*", "nlb:TagResources");
        });
    }

    /// Whole services of that policy are not least privilege; they are no defect of this cluster either.
    #[test]
    fn the_default_policy_of_2019_is_information() {
        let with = |more: &[&str]| {
            let embedded = baseline::find("ack-2019-worker").unwrap().baseline(None).unwrap().actions;
            let actions: Vec<&str> = embedded.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let (found, _) = alibaba::changed(&RULE, |c| {
                let policy = c.policy("k8s-ccm-additions");
                *policy = policy.replace("nlb:*", "nlb:TagResources");
                c.add_worker_role();
                c.attach("k8s-worker", "Allow", &actions);
            });
            found.iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        assert_eq!(with(&[]), [Severity::Info]);
        assert_eq!(with(&["ecs:DeleteInstance"]), [Severity::Warning]);
    }

    /// The policy that the driver published before it split the nodes' from the controller's.
    #[test]
    fn an_official_policy_of_any_release_is_not_excess() {
        for release in RELEASES.iter().filter(|release| matches!(release.controller, Published::Alibaba(_))) {
            let actions = baseline::find(release.baseline).unwrap().baseline(None).unwrap().actions;
            let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
            alibaba::silent(&RULE, |c| {
                let policy = c.policy("k8s-ccm-additions");
                *policy = policy.replace("nlb:*", "nlb:TagResources");
                c.add_worker_role();
                c.attach("k8s-worker", "Allow", &actions);
            });
        }
    }
}
