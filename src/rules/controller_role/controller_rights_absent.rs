use crate::aws::Role;
use crate::aws::companions::CompanionRun;
use crate::aws::web_identity::{Token, Trust, trust};
use crate::controller::companion::Companion;
use crate::kubernetes::{ROLE_ANNOTATION, Workload};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{check_on_nodes, workload_violation};

pub(super) const RULE: Rule = Rule {
    id: "controller-rights-absent",
    title: "a controller has neither a role nor rights through its nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The running Pods of a controller have no credentials: neither a role nor a token by a ServiceAccount or EKS Pod Identity, nor keys (a Secret that need not exist, as the charts of the CSI drivers name one, is stated). And no role of the nodes grants any change that the controller makes. The Pods must be given.",
    impact: "every call of the controller fails with AccessDenied",
    fix: "Annotate its ServiceAccount with the role whose trust policy admits it; without such a role, create one with the policy that the project publishes.",
    sources: &[
        "AWS SDKs and Tools Reference Guide, \"Standardized credential providers\"",
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/installation.md",
    ],
    example: "Deployment kube-system/aws-load-balancer-controller has no role, and the node roles (`node`) grant none of its write actions, such as elasticloadbalancing:CreateLoadBalancer",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_on_nodes(context, |run, rights| {
        // Its ServiceAccount names a role: that its Pods have no token is what another rule reports.
        let identities = context.kubernetes.web_identities();
        // One whose objects were not given may need no rights, or others.
        let is_unclear = run.row.companion == Companion::ClusterApi && rights.lacking.len() < rights.needed.max(1);
        if rights.grants_changes || is_unclear || identities.iter().any(|identity| run.uses(identity)) {
            return None;
        }
        let example = run.row.hallmarks.first().copied().unwrap_or_default();
        let names: Vec<String> = rights.roles.iter().map(|name| format!("`{}`", text::printable(name))).collect();
        let unless = run.workload.optional_key_secret.as_ref().map_or(String::new(), |secret| {
            format!(", unless the optional Secret `{}` exists and has an access key", text::printable(secret))
        });
        let message = format!(
            "has no role, and the node roles ({}) grant none of its write actions, such as {example}{unless}",
            text::list(&names, 3),
        );
        Some(workload_violation(run, Severity::Warning, &message, fix(context, run)))
    })
}

/// The annotation that is missing, if roles trust the ServiceAccount of a controller.
fn fix(context: &Context<'_>, run: &CompanionRun<'_>) -> Fix {
    let roles = roles_that_trust(context, run);
    let names: Vec<String> = roles.iter().map(|role| format!("`{}`", text::printable(&role.name))).collect();
    match roles.as_slice() {
        [] => Fix::none("create a role for its ServiceAccount, with the policy that the project publishes"),
        [only] => {
            let annotation = format!("{ROLE_ANNOTATION}={}", only.arn);
            let Workload { namespace, service_account, .. } = run.workload;
            let command = ["kubectl", "annotate", "serviceaccount", "-n", namespace, service_account, &annotation];
            let command = command.map(text::shell_quote).join(" ");
            let name = text::printable(&only.name);
            Fix::none(format!(
                "annotate its ServiceAccount with the role `{name}`, whose trust policy admits it, and restart its Pods"
            ))
            .untried(text::printable(&command))
        }
        _ => Fix::none(format!(
            "annotate its ServiceAccount with the role of this cluster among those whose trust policies admit it ({}), and restart its Pods",
            text::list(&names, 3)
        )),
    }
}

/// Roles whose trust policy admits the token of the ServiceAccount of a controller, and not that of every other one.
fn roles_that_trust<'a>(context: &'a Context<'_>, run: &CompanionRun<'_>) -> Vec<&'a Role> {
    let Workload { namespace, service_account, .. } = run.workload;
    let subject = format!("system:serviceaccount:{namespace}:{service_account}");
    let issuers = context.kubernetes.token_issuers();
    let accounts = context.view.inventory.accounts.iter();
    let admitting = accounts.flat_map(|account| {
        let providers = account.oidc_providers.as_deref();
        // The audience that the webhook of the annotation sets.
        let token = Token { subject: &subject, audience: Some("sts.amazonaws.com"), issuers: &issuers, providers };
        account.roles.iter().filter(move |role| trust(role, &token) == Trust::Admitted { is_open: false })
    });
    admitting.collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::LBC_ON_NODES;

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

    /// A role of the account whose trust policy admits a ServiceAccount.
    fn trusting(c: &mut aws::Cluster, name: &str, service_account: &str) {
        let issuer = "oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLED539D4633E53DE1B716D3041E";
        c.add_role(name, r#"{"Statement":[{"Effect":"Allow","Action":"elasticloadbalancing:*","Resource":"*"}]}"#);
        let account = c.account();
        let id = account.account_id.clone();
        let role = account.roles.iter_mut().find(|role| role.name == name).unwrap();
        role.arn = format!("arn:aws:iam::{id}:role/{name}");
        role.trust_policy = Some(format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::{id}:oidc-provider/{issuer}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{"StringEquals":{{"{issuer}:sub":"system:serviceaccount:kube-system:{service_account}","{issuer}:aud":"sts.amazonaws.com"}}}}}}]}}"#
        ));
    }

    #[test]
    fn the_nodes_of_the_pods_decide() {
        // Only the servers have the rights.
        let on = |node: &str| {
            aws::changed(&RULE, |c| {
                without_rights(c);
                *c.server_policy() =
                    r#"{"Statement":[{"Effect":"Allow","Action":"elasticloadbalancing:*","Resource":"*"}]}"#.to_owned();
                let id = if node == "server" { aws::SERVER } else { aws::WORKER };
                let name = c.node(id)["metadata"]["name"].as_str().unwrap().to_owned();
                let name = if node == "fargate" { "fargate-ip-10-0-0-1".to_owned() } else { name };
                let placed = format!("spec:\n  nodeName: {name}\n  serviceAccountName");
                c.manifests = LBC_ON_NODES.replace("spec:\n  serviceAccountName", &placed).leak();
            })
        };
        let (found, _) = on("worker");
        assert!(found.len() == 1 && found[0].message.contains(aws::WORKER_ROLE), "{found:?}");
        assert!(!found[0].message.contains(aws::SERVER_ROLE), "{found:?}");
        assert!(on("server").0.is_empty());
        assert_eq!(on("fargate").1, crate::rules::Outcome::NotApplicable);
    }

    #[test]
    fn names_the_role_that_is_not_annotated() {
        let summary = |names: &[(&str, &str)]| {
            let fix = aws::only_fix(&RULE, |c| {
                without_rights(c);
                for (name, service_account) in names {
                    trusting(c, name, service_account);
                }
            });
            (fix.summary.clone(), fix.untried.join("\n"))
        };
        let own = "aws-load-balancer-controller";
        let (text, command) = summary(&[("lbc", own), ("other", "other")]);
        assert!(text.contains("the role `lbc`, whose trust policy admits it"), "{text}");
        assert!(
            command.starts_with("kubectl annotate serviceaccount -n kube-system aws-load-balancer-controller"),
            "{command}"
        );
        assert!(summary(&[("a", own), ("b", own)]).0.contains("(`a`, `b`)"));
        let (text, command) = summary(&[("other", "other")]);
        assert!(text.starts_with("create a role") && command.is_empty(), "{text}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            without_rights(c);
            c.on_workers("Allow", &["elasticloadbalancing:*"]);
        });
    }
}
