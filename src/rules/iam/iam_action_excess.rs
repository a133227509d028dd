use crate::aws::roles::RoleAudit;
use crate::policy::Excess;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE, instances, is_workers_only};

pub(super) const RULE: Rule = Rule {
    id: "iam-action-excess",
    title: "a node's role has more permissions than its node needs",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning for modifying actions on roles of workers, otherwise info",
    ),
    resources: ROLE,
    condition: "A role that nodes hold grants actions that are neither in its baseline nor called by any version of the controller, nor by another controller whose running Pods use that role. `ec2:Describe*` counts as needed: RKE requires it. Well-known AWS managed policies (SSM core, VPC CNI, ECR and the like) are listed once, by name.",
    impact: "every pod on the node that reaches the metadata service has them too",
    fix: "Remove the permissions that nothing on the node uses.",
    sources: &[
        "Rancher documentation, Amazon cloud provider: remove the permissions you do not need",
        "AWS IAM User Guide, Grant least privilege",
    ],
    example: "role `workers` has 1 permission beyond rancher-worker: s3:* (180 actions up to permissions-management)",
    reads: &[INSTANCES],
    is_about_security: true,
    ..Rule::role(check)
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    // Actions that open a privilege escalation path are reported as such.
    let excess: Vec<&Excess> = audit.beyond.excess.iter().filter(|excess| !excess.escalation).collect();
    if excess.is_empty() && audit.explained.is_empty() {
        return CheckResult::clean();
    }
    let by_name = text::list(&audit.explained, 6);
    if excess.is_empty() {
        let message = format!(
            "role `{}` has permissions beyond {} that {} {}: {by_name}",
            audit.role.name,
            audit.baseline,
            text::count(audit.explained.len(), "well-known managed policy"),
            if audit.explained.len() == 1 { "grants" } else { "grant" },
        );
        let of_capa = audit.explained.iter().any(|name| name.starts_with("controllers"));
        let fix = Fix::none(if of_capa {
            "nothing to do while Cluster API's controllers run on these nodes; else set `disableClusterAPIControllerPolicyAttachment` in the bootstrap configuration"
        } else {
            "nothing to do if the nodes use these policies"
        });
        return vec![Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))].into();
    }
    let changes = excess.iter().any(|excess| excess.access_level.changes_something());
    let severity = if changes && is_workers_only(audit) { Severity::Warning } else { Severity::Info };
    let described: Vec<String> = excess.iter().map(|excess| describe_excess(excess)).collect();
    let beside = if audit.explained.is_empty() { String::new() } else { format!(", apart from those of {by_name}") };
    let message = format!(
        "role `{}` has {} beyond {}{beside}: {}",
        audit.role.name,
        text::count(described.len(), "permission"),
        audit.baseline,
        text::list(&described, 6)
    );
    vec![
        Violation::new(
            severity,
            audit.resource(),
            message,
            Fix::none("remove the permissions that nothing on these nodes uses"),
        )
        .related(instances(audit)),
    ]
    .into()
}

/// A pattern with its number of actions and access level.
fn describe_excess(excess: &Excess) -> String {
    let level = excess.access_level.name();
    if !excess.needed_on.is_empty() {
        return format!("{} on more than {} ({level})", excess.action, text::list(&excess.needed_on, 2));
    }
    match (excess.is_unknown, excess.actions) {
        (true, _) => format!("{} (no known action)", excess.action),
        (false, 0 | 1) => format!("{} ({level})", excess.action),
        (false, several) => format!("{} ({several} actions up to {level})", excess.action),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::LBC_ON_NODES;

    const RIGHTS_OF_CONTROLLER: &[&str] = &["elasticloadbalancing:CreateRule", "wafv2:AssociateWebACL"];

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.on_workers("Allow", &["sqs:SendMessage"]));
        // Nothing uses the role of the nodes, or something else than its rights are for.
        aws::fires(&RULE, |c| c.on_workers("Allow", RIGHTS_OF_CONTROLLER));
        aws::fires(&RULE, |c| {
            c.manifests = LBC_ON_NODES;
            c.on_workers("Allow", &["sqs:SendMessage"]);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.on_workers("Allow", &["ecr:BatchGetImage"]));
        // A controller whose Pods use the role of the nodes needs them.
        aws::silent(&RULE, |c| {
            c.manifests = LBC_ON_NODES;
            c.on_workers("Allow", RIGHTS_OF_CONTROLLER);
        });
    }
}
