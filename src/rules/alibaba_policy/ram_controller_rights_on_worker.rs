use crate::alibaba::{Member, PrincipalAudit, Use};
use crate::membership::NodeRole;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{principal_label, references};

pub(super) const RULE: Rule = Rule {
    id: "ram-controller-rights-on-worker",
    title: "a worker's role grants actions that only the controller calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RamRole],
    condition: "The RAM role of nodes that run no control plane grants the deletion of load balancers or routes; it may be a separate role, or that of the controller.",
    impact: "every Pod on a worker that reaches the metadata service can delete the cluster's load balancers and routes",
    fix: "Give workers a separate role, or the controller other credentials.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud docs/examples/worker.policy",
        "Alibaba Cloud RAM documentation, Grant least privilege",
    ],
    example: "role `k8s` of 4 workers grants actions that only the controller calls: slb:DeleteLoadBalancer, vpc:DeleteRouteEntry",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    let workers: Vec<&Member<'_>> = audit.members.iter().copied().filter(|member| is_worker(member)).collect();
    let granted: Vec<&str> = match audit.used_by {
        Use::OtherNodes => audit.controller_actions.clone(),
        Use::Controller | Use::ControlplaneNodes if !workers.is_empty() => audit.controller_actions.clone(),
        Use::Controller | Use::ControlplaneNodes | Use::UnknownNodes => {
            return CheckResult::not_applicable("no role of workers was compared");
        }
    };
    if granted.is_empty() {
        return CheckResult::counted(1, []);
    }
    let actions = text::list(&granted, 6);
    let label = principal_label(audit);
    let number = text::count(workers.len(), "worker");
    let message = if audit.used_by == Use::OtherNodes {
        format!("{label} of {number} grants actions that only the controller calls: {actions}")
    } else {
        format!("{label} of {number} is the role of the controller as well, and grants {actions}")
    };
    let fix = Fix::none("give workers a separate role, or the controller other credentials");
    CheckResult::counted(
        1,
        [Violation::new(Severity::Warning, audit.resource(), message, fix).related(references(&workers))],
    )
}

/// True if a node is known to run no control plane.
fn is_worker(member: &Member<'_>) -> bool {
    let roles = member.roles;
    roles.is_reliable() && !roles.roles.is_unknown() && !roles.roles.contains(NodeRole::Controlplane)
}

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
        alibaba::fires(&RULE, |c| {
            c.add_worker_role();
            c.attach("k8s-worker", "Allow", &["ram:*"]);
            let all_but = r#"{"Version":"1","Statement":[{"Effect":"Allow","NotAction":["ram:*"],"Resource":"*"}]}"#;
            all_but.clone_into(c.policy("extra"));
        });
    }

    #[test]
    fn fires_for_the_role_of_the_control_plane() {
        alibaba::fires(&RULE, |c| c.instance(alibaba::WORKER).ram_role = Some(alibaba::ROLE.to_owned()));
        alibaba::fires(&RULE, |c| {
            c.options.controller_roles = vec!["acs:ram::1234567890123456:role/k8s-master".to_owned()];
            c.instance(alibaba::WORKER).ram_role = Some(alibaba::ROLE.to_owned());
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |_| ());
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.add_worker_role();
            c.attach("k8s-worker", "Allow", &["oss:GetObject"]);
        });
        // What a Deny revokes is not granted.
        alibaba::silent(&RULE, |c| {
            c.add_worker_role();
            c.attach("k8s-worker", "Allow", &["slb:*"]);
            let denied = r#"{"Version":"1","Statement":[{"Effect":"Allow","Action":"slb:*","Resource":"*"},{"Effect":"Deny","Action":"slb:Delete*","Resource":"*"}]}"#;
            denied.clone_into(c.policy("extra"));
        });
    }
}
