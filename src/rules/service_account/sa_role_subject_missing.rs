use std::collections::BTreeSet;

use crate::aws::web_identity::unmet_subjects;
use crate::inventory::kubernetes::List;
use crate::kubernetes::SUBJECT_PREFIX;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::role_reference;

pub(super) const RULE: Rule = Rule {
    id: "sa-role-subject-missing",
    title: "a role trusts a ServiceAccount that does not exist",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Role],
    condition: "The trust policy of a role admits web identities of the cluster (its OIDC provider is `--service-account-issuer`), and a value of `sub` matches no ServiceAccount. Checked only if the ServiceAccounts of all namespaces were given: those named `default` in `default`, `kube-public`, `kube-system` and in the namespace of the value are among them, or the cluster was read live.",
    impact: "nobody uses this part of the trust policy, and anyone who may create a ServiceAccount of that name gets the permissions of the role",
    fix: "Correct the name in `sub`, or remove the value.",
    sources: &[
        "AWS IAM User Guide, \"Create a role for OpenID Connect federation\"",
        "Kubernetes documentation, \"Managing Service Accounts\", \"ServiceAccount controller\"",
    ],
    example: "role `lbc` trusts `system:serviceaccount:kube-system:alb-controller`, and the cluster has no such ServiceAccount",
    is_about_security: true,
    judges: JudgedRoles::TrustPolicies,
    lists: &[List::Pods, List::ServiceAccounts],
    ..Rule::joined(check)
};

/// Namespaces that every cluster has, with a ServiceAccount `default` each.
const NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

fn check(context: &Context<'_>) -> CheckResult {
    let evidence = context.kubernetes;
    let issuers = evidence.token_issuers();
    if issuers.is_empty() {
        return CheckResult::not_applicable("the issuer of the tokens of the cluster is not known");
    }
    let mut accounts: BTreeSet<(&str, &str)> =
        evidence.service_accounts().map(|(namespace, name, _)| (namespace, name)).collect();
    let listed: BTreeSet<&str> =
        accounts.iter().filter(|(_, name)| *name == "default").map(|(namespace, _)| *namespace).collect();
    if !NAMESPACES.iter().all(|namespace| listed.contains(namespace)) {
        return CheckResult::not_applicable("the ServiceAccounts of all namespaces were not given");
    }
    accounts.extend(evidence.workloads.iter().map(|one| (one.namespace.as_str(), one.service_account.as_str())));
    // The list of a namespace without `default` was not given.
    let is_decided = |subject: &String| {
        let rest = subject.strip_prefix(SUBJECT_PREFIX).and_then(|rest| rest.split_once(':'));
        evidence.is_whole || rest.is_some_and(|(namespace, _)| listed.contains(namespace))
    };
    let subjects: BTreeSet<String> =
        accounts.iter().map(|(namespace, name)| format!("{SUBJECT_PREFIX}{namespace}:{name}")).collect();
    let roles = context.view.inventory.accounts.iter().flat_map(|account| &account.roles);
    let mut checked = 0;
    let mut found = Vec::new();
    for role in roles {
        let Some(unmet) = unmet_subjects(role, &issuers, &subjects) else { continue };
        let decided: Vec<&String> = unmet.iter().filter(|subject| is_decided(subject)).collect();
        if decided.is_empty() && !unmet.is_empty() {
            continue;
        }
        checked += 1;
        for subject in decided {
            let (name, shown) = (text::printable(&role.name), text::printable(subject));
            let message = format!("role `{name}` trusts `{shown}`, and the cluster has no such ServiceAccount");
            let fix = match moved(subject, &accounts) {
                Some((namespace, own)) => {
                    let right = format!("{SUBJECT_PREFIX}{namespace}:{own}");
                    format!(
                        "write `{}`, if this ServiceAccount is intended, or remove the value",
                        text::printable(&right)
                    )
                }
                None => "correct the name, or remove the value from the trust policy".to_owned(),
            };
            let violation = Violation::new(Severity::Info, role_reference(role), message, Fix::none(fix));
            found.push(violation.with_respect_to(subject));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no role that was read trusts ServiceAccounts of the cluster by name");
    }
    CheckResult::counted(checked, found)
}

/// The only ServiceAccount with the name of a subject, which is in another namespace.
fn moved<'a>(subject: &str, accounts: &BTreeSet<(&'a str, &'a str)>) -> Option<(&'a str, &'a str)> {
    let (_, name) = subject.strip_prefix(SUBJECT_PREFIX)?.split_once(':')?;
    let mut same = accounts.iter().filter(|(_, own)| *own == name && name != "default");
    same.next().filter(|_| same.next().is_none()).copied()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const ISSUER: &str = "oidc.example.com/prod";

    /// The API server with its issuer, and the ServiceAccounts that every cluster has.
    const CLUSTER: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: kube-apiserver-a
  namespace: kube-system
  annotations: {kubernetes.io/config.mirror: 0a1b}
spec:
  containers:
  - name: kube-apiserver
    image: registry.k8s.io/kube-apiserver:v1.33.1
    command: [kube-apiserver, --service-account-issuer=https://oidc.example.com/prod]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: kube-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: kube-public}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: app, namespace: shop}
";

    /// A role whose trust policy has a condition, of a provider of its account.
    fn trusting(c: &mut aws::Cluster, condition: &str, issuer: &str) {
        c.manifests = CLUSTER;
        let mut role = c.role(aws::WORKER_ROLE).clone();
        role.arn = "arn:aws:iam::123456789012:role/app".to_owned();
        role.name = "app".to_owned();
        role.trust_policy = Some(format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::123456789012:oidc-provider/{issuer}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{{condition}}}}}]}}"#
        ));
        c.account().roles.push(role);
    }

    fn subject(operator: &str, value: &str) -> String {
        format!(r#""{operator}":{{"{ISSUER}:sub":"system:serviceaccount:{value}"}}"#)
    }

    #[test]
    fn fires() {
        for (operator, value) in [
            ("StringEquals", "shop:application"),
            // A pattern is a name here.
            ("StringEquals", "shop:*"),
            ("StringLike", "shop:web-*"),
            ("StringEqualsIfExists", "shop:application"),
        ] {
            aws::fires(&RULE, |c| trusting(c, &subject(operator, value), ISSUER));
        }
        let two = format!(
            r#""StringEquals":{{"{ISSUER}:sub":["system:serviceaccount:shop:app","system:serviceaccount:shop:old"]}}"#
        );
        aws::fires(&RULE, |c| trusting(c, &two, ISSUER));
    }

    /// Its ServiceAccounts may be in a file that was not given.
    #[test]
    fn a_namespace_without_accounts_is_missing_in_a_live_cluster_alone() {
        for value in ["store:app", "store:*"] {
            let condition = subject("StringLike", value);
            aws::does_not_apply(&RULE, |c| trusting(c, &condition, ISSUER));
            aws::fires(&RULE, |c| {
                trusting(c, &condition, ISSUER);
                c.is_live = true;
            });
        }
        // A workload uses it.
        aws::silent(&RULE, |c| {
            trusting(c, &subject("StringEquals", "shop:web"), ISSUER);
            let workload = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      serviceAccountName: web
      containers: [{name: web, image: web}]
";
            c.manifests = format!("{CLUSTER}{workload}").leak();
        });
    }

    #[test]
    fn a_name_of_another_namespace_is_proposed() {
        let fix = |value: &str| {
            let fix = aws::only_fix(&RULE, |c| {
                trusting(c, &subject("StringEquals", value), ISSUER);
                c.is_live = true;
            });
            fix.summary
        };
        assert_eq!(
            fix("store:app"),
            "write `system:serviceaccount:shop:app`, if this ServiceAccount is intended, or remove the value"
        );
        assert_eq!(fix("store:default"), "correct the name, or remove the value from the trust policy");
    }

    #[test]
    fn silent() {
        for (operator, value) in [
            ("StringEquals", "shop:app"),
            ("StringLike", "shop:*"),
            ("StringLike", "*:app"),
            ("StringEqualsIgnoreCase", "SHOP:app"),
        ] {
            aws::silent(&RULE, |c| trusting(c, &subject(operator, value), ISSUER));
        }
    }

    /// IAM compares issuers as they are, and tokens have the first one.
    #[test]
    fn another_issuer_is_that_of_another_cluster() {
        let unused = subject("StringEquals", "shop:application");
        let issuer = "https://oidc.example.com/prod]";
        for other in [
            "https://oidc.example.com/prod/]",
            "https://new.example.com, --service-account-issuer=https://oidc.example.com/prod]",
            "'https://$(HOST)/prod']",
        ] {
            aws::does_not_apply(&RULE, |c| {
                trusting(c, &unused, ISSUER);
                c.manifests = CLUSTER.replace(issuer, other).leak();
            });
        }
        aws::fires(&RULE, |c| {
            trusting(c, &unused, ISSUER);
            let second = "https://oidc.example.com/prod, --service-account-issuer=https://old.example.com]";
            c.manifests = CLUSTER.replace(issuer, second).leak();
        });
        for (from, to) in [
            ("kube-apiserver:v1", "kube-apiserver-proxy:v1"),
            ("[kube-apiserver, ", "[sh, -c, 'exec kube-apiserver \"$@\"', --, "),
        ] {
            aws::does_not_apply(&RULE, |c| {
                trusting(c, &unused, ISSUER);
                let command = if to.contains("proxy") { "[kube-apiserver-proxy, " } else { "[kube-apiserver, " };
                c.manifests = CLUSTER.replace("[kube-apiserver, ", command).replace(from, to).leak();
            });
        }
    }

    /// The command of the API server as kubeadm, RKE2 and kOps write it.
    #[test]
    fn the_issuer_comes_from_the_pod_of_the_api_server() {
        const COMMAND: &str = "command: [kube-apiserver, --service-account-issuer=https://oidc.example.com/prod]";
        assert!(CLUSTER.contains(COMMAND));
        for command in [
            "image: docker.io/rancher/hardened-kubernetes:v1.33.1\n    command: [kube-apiserver]\n    args: [--v=2, --service-account-issuer, 'https://oidc.example.com/prod']",
            "command: [/go-runner]\n    args: [--also-stdout, /usr/local/bin/kube-apiserver, --service-account-issuer=https://oidc.example.com/prod]",
        ] {
            aws::fires(&RULE, |c| {
                trusting(c, &subject("StringEquals", "shop:application"), ISSUER);
                let image = "image: registry.k8s.io/kube-apiserver:v1.33.1\n    ";
                assert!(CLUSTER.contains(image));
                let own = if command.starts_with("image") { "" } else { image };
                c.manifests = CLUSTER.replace(image, own).replace(COMMAND, command).leak();
            });
        }
        // The API server of another cluster, which runs in this one.
        aws::does_not_apply(&RULE, |c| {
            trusting(c, &subject("StringEquals", "shop:application"), ISSUER);
            c.manifests =
                CLUSTER.replace("kube-apiserver-a\n  namespace: kube-system", "other\n  namespace: tenant").leak();
        });
    }

    /// Another cluster, a list of one namespace, values that are known at run time, and conditions that name nobody.
    #[test]
    fn does_not_apply() {
        let unused = subject("StringEquals", "shop:application");
        let other = unused.replace(ISSUER, "oidc.example.com/staging");
        aws::does_not_apply(&RULE, |c| trusting(c, &other, "oidc.example.com/staging"));
        aws::does_not_apply(&RULE, |c| {
            trusting(c, &unused, ISSUER);
            c.manifests = CLUSTER.replace("namespace: kube-public", "namespace: other").leak();
        });
        aws::does_not_apply(&RULE, |c| {
            trusting(c, &unused, ISSUER);
            c.manifests = CLUSTER.replace("--service-account-issuer", "--other").leak();
        });
        for condition in [
            subject("StringNotEquals", "shop:application"),
            subject("StringEquals", "${aws:PrincipalTag/team}:app"),
            r#""StringEquals":{"oidc.example.com/prod:aud":"sts.amazonaws.com"}"#.to_owned(),
        ] {
            aws::does_not_apply(&RULE, |c| trusting(c, &condition, ISSUER));
        }
    }
}
