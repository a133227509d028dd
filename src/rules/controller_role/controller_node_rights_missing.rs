use crate::aws::node_rights::NodeRights;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{check_on_nodes, workload_violation};

pub(super) const RULE: Rule = Rule {
    id: "controller-node-rights-missing",
    title: "the roles of the nodes lack actions that a controller calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The running Pods of a controller (AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns) have no credentials but those of their nodes, a role of the nodes grants changes that it makes, and no role of the nodes grants an action that its version calls in everyday work, or they grant it only under conditions or on resources that no call of the controller matches. The Pods must be given. `controller-rights-absent` reports roles that grant no change at all.",
    impact: "the controller fails with AccessDenied: load balancers, volumes or nodes are not created, changed or removed",
    fix: "Create a role for its ServiceAccount, with the policy that the project publishes. Actions that are added to the nodes' role are those of every Pod on these nodes.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
        "kubernetes-sigs/aws-load-balancer-controller docs/install/iam_policy.json",
        "kubernetes-sigs/aws-ebs-csi-driver docs/example-iam-policy.json",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller (AWS Load Balancer Controller 2.13.4) uses the node role `node`, which lacks 2 of 32 actions: elasticloadbalancing:CreateTargetGroup, elasticloadbalancing:DescribeListenerAttributes",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_on_nodes(context, |run, rights| {
        let NodeRights { roles, grants_changes, needed, lacking, unmet } = rights;
        if lacking.is_empty() && unmet.is_empty() || !grants_changes {
            return None;
        }
        let roles: Vec<String> = roles.iter().map(|role| format!("`{}`", text::printable(role))).collect();
        let noun = if roles.len() == 1 { "role" } else { "roles" };
        let lack = || {
            let verb = if roles.len() == 1 { "lacks" } else { "all lack" };
            let all = text::count(*needed, "action");
            format!("{verb} {} of {all}: {}", lacking.len(), text::list(lacking, 6))
        };
        let refuse = || {
            let verb = if roles.len() == 1 { "does not grant" } else { "do not grant" };
            let shown: Vec<&str> = unmet.iter().map(|(_, shown)| shown.as_str()).collect();
            format!("{verb} {} as the controller makes the call", text::list(&shown, 6))
        };
        let missing = match (lacking.is_empty(), unmet.is_empty()) {
            (false, false) => format!("{}; and {}", lack(), refuse()),
            (false, true) => lack(),
            (true, _) => refuse(),
        };
        let message = format!("({}) uses the node {noun} {}, which {missing}", run.label(), text::list(&roles, 3));
        let fix = Fix::none("create a role for its ServiceAccount, with the policy that the project publishes");
        let refused = unmet.iter().map(|(action, _)| *action);
        Some(workload_violation(run, Severity::Warning, &message, fix).about(lacking.iter().copied().chain(refused)))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::LBC_ON_NODES;

    /// Sets the actions of all roles of the nodes.
    fn grant(c: &mut aws::Cluster, actions: &str) {
        c.manifests = LBC_ON_NODES;
        let text = format!(r#"{{"Statement":[{{"Effect":"Allow","Action":[{actions}],"Resource":"*"}}]}}"#);
        c.server_policy().clone_from(&text);
        c.worker_policy().clone_from(&text);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| grant(c, r#""ec2:*","elasticloadbalancing:Create*""#));
    }

    #[test]
    fn a_statement_for_other_resources_grants_no_call() {
        let policy = |more: &str| {
            format!(
                r#"{{"Statement":[{{"Effect":"Allow","Action":["elasticloadbalancing:*","acm:*","cognito-idp:*","waf-regional:*","wafv2:*","shield:*","iam:*","ec2:Describe*","ec2:*SecurityGroup*"],"Resource":"*"}},
                {{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"arn:aws:ec2:*:*:network-interface/*"}}{more}]}}"#
            )
        };
        let with = |server: &str, worker: &str| {
            aws::messages(&RULE, |c| {
                c.manifests = LBC_ON_NODES;
                *c.server_policy() = policy(server);
                *c.worker_policy() = policy(worker);
            })
        };
        let tags = r#",{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*"}"#;
        let found = with("", "");
        assert!(
            found.len() == 1 && found[0].contains("do not grant ec2:CreateTags (security-group/*) as"),
            "{found:?}"
        );
        assert_eq!(with(tags, ""), [""; 0]);
        assert_eq!(with(tags, tags), [""; 0]);
    }

    #[test]
    fn silent() {
        let all =
            r#""ec2:*","elasticloadbalancing:*","acm:*","cognito-idp:*","waf-regional:*","wafv2:*","shield:*","iam:*""#;
        aws::silent(&RULE, |c| grant(c, all));
        // Another rule reports it.
        aws::silent(&RULE, |c| grant(c, r#""ec2:Describe*""#));
    }
}
