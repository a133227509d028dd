use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{check_on_nodes, workload_violation};

pub(super) const RULE: Rule = Rule {
    id: "controller-rights-absent",
    title: "a controller has neither a role nor rights through its nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The running Pods of a controller have no credentials: neither a role nor a token by a ServiceAccount or EKS Pod Identity, nor keys. And no role of the nodes grants any change that the controller makes. The Pods must be given.",
    impact: "every call of the controller fails with AccessDenied",
    fix: "Create a role for its ServiceAccount, with the policy that the project publishes.",
    sources: &[
        "AWS SDKs and Tools Reference Guide, \"Standardized credential providers\"",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no role, and the node roles (`node`) grant none of its write actions, such as elasticloadbalancing:CreateLoadBalancer",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_on_nodes(context, |run, rights| {
        if rights.grants_changes {
            return None;
        }
        let example = run.row.hallmarks.first().copied().unwrap_or_default();
        let names: Vec<String> = rights.roles.iter().map(|name| format!("`{}`", text::printable(name))).collect();
        let message = format!(
            "has no role, and the node roles ({}) grant none of its write actions, such as {example}",
            text::list(&names, 3),
        );
        let fix = Fix::none("create a role for its ServiceAccount, with the policy that the project publishes");
        Some(workload_violation(run, Severity::Warning, &message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::controller_role::tests::LBC_ON_NODES;
    use crate::testing::aws;

    /// The policies of the nodes without what a control plane needs for load balancers.
    fn without_rights(c: &mut aws::Cluster) {
        c.manifests = LBC_ON_NODES;
        for policy in ["server_policy", "worker_policy"] {
            let text = if policy == "server_policy" { c.server_policy() } else { c.worker_policy() };
            *text =
                r#"{"Statement":[{"Effect":"Allow","Action":["ec2:Describe*","ecr:*"],"Resource":"*"}]}"#.to_owned();
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, without_rights);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            without_rights(c);
            c.on_workers("Allow", &["elasticloadbalancing:*"]);
        });
    }
}
