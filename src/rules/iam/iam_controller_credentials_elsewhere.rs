use crate::aws::roles::RoleAudit;
use crate::membership::NodeRole;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Credentials, INSTANCES, NO_CONTROLPLANE, ROLE, credentials, grants_something, instances};

pub(super) const RULE: Rule = Rule {
    id: "iam-controller-credentials-elsewhere",
    title: "the controller uses credentials other than its nodes' role",
    severity: RuleSeverity::always(Severity::Info),
    resources: ROLE,
    condition: "The role of control-plane nodes grants none of the load balancer, security group and route actions that only the controller calls, and there is evidence that the controller has separate credentials that were not compared: several roles that trust its service account and cannot be distinguished, a workload with keys, a token or a role, a service account that names a role, or `--controller-credentials elsewhere`. `--controller-role` names the role and has it compared. A role that grants nothing is not evidence: `iam-action-missing` reports it.",
    impact: "none if those credentials suffice: they were not audited",
    fix: "Name the controller's role with --controller-role, so that it is audited. Do not extend the nodes' role: every pod on the control plane could use it.",
    sources: &[
        "kubernetes/kops pkg/model/iam/iam_builder.go#BuildAWSPolicy",
        "Rancher documentation, Amazon cloud provider, credentials",
    ],
    example: "role `masters` of the control plane grants none of the actions that only the controller calls, and the controller has other credentials: `DaemonSet kube-system/aws-cloud-controller-manager` sets AWS_ACCESS_KEY_ID",
    reads: &[INSTANCES, Read::ListRoles],
    ..Rule::role(check)
};

fn check(context: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    if audit.is_controllers || !audit.node_roles.contains(NodeRole::Controlplane) {
        return CheckResult::not_applicable(NO_CONTROLPLANE);
    }
    let Credentials::Elsewhere(evidence) = credentials(context, audit) else { return CheckResult::clean() };
    let grants = if grants_something(audit) { "some" } else { "none" };
    let message = format!(
        "role `{}` of the control plane grants {grants} of the actions that only the controller calls, and the controller has other credentials: {evidence}",
        audit.role.name
    );
    let fix = Fix::none("name the controller's role with --controller-role to have it audited");
    vec![Violation::new(Severity::Info, audit.resource(), message, fix).related(instances(audit))].into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.options.credentials_elsewhere = true;
            let policies = c.role(aws::WORKER_ROLE).attached_policies.clone();
            let role = c.role(aws::SERVER_ROLE);
            role.attached_policies = policies;
            role.inline_policies = Some(Vec::new());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let policies = c.role(aws::WORKER_ROLE).attached_policies.clone();
            let role = c.role(aws::SERVER_ROLE);
            role.attached_policies = policies;
            role.inline_policies = Some(Vec::new());
        });
    }
}
