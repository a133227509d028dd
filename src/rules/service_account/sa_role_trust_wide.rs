use std::collections::BTreeSet;

use crate::aws::web_identity::Trust;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{NO_IDENTITY, assumed, label, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-role-trust-wide",
    title: "every ServiceAccount of the cluster can assume a role",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "The trust policy of a role that a ServiceAccount names admits the tokens of every ServiceAccount of the cluster: it has no condition on `sub`, or a pattern such as `*`.",
    impact: "every Pod of the cluster can take the permissions of the role",
    fix: "Name the ServiceAccount in `sub`.",
    sources: &[
        "Amazon EKS User Guide, \"Assign IAM roles to Kubernetes service accounts\"",
        "AWS IAM User Guide, \"Create a role for OpenID Connect federation\"",
    ],
    example: "every ServiceAccount of the cluster can assume role `lbc`, which ServiceAccount kube-system/aws-load-balancer-controller names",
    is_about_security: true,
    judges: JudgedRoles::TrustPolicies,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let assumed = assumed(context);
    if assumed.is_empty() {
        return CheckResult::not_applicable(NO_IDENTITY);
    }
    let open = assumed.iter().filter(|one| one.trust == Trust::Admitted { is_open: true });
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for one in open.filter(|one| seen.insert(&one.role.arn)) {
        let name = text::printable(&one.role.name);
        let message = format!(
            "every ServiceAccount of the cluster can assume role `{name}`, which {} names",
            label(&one.identity)
        );
        let resource = role_reference(one.role);
        let subject = one.identity.subject();
        let fix = Fix::none(format!("require `sub` `{}` in the trust policy", text::printable(&subject)));
        found.push(Violation::new(Severity::Warning, resource, message, fix).at(&one.identity.place));
    }
    CheckResult::counted(assumed.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const ACCOUNT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: shop
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/app
";

    fn with_subject(c: &mut aws::Cluster, condition: &str) {
        c.manifests = ACCOUNT;
        let mut role = c.role(aws::WORKER_ROLE).clone();
        role.arn = "arn:aws:iam::123456789012:role/app".to_owned();
        role.name = "app".to_owned();
        role.trust_policy = Some(format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::123456789012:oidc-provider/oidc.example.com/prod"}},"Action":"sts:AssumeRoleWithWebIdentity"{condition}}}]}}"#
        ));
        c.account().roles.push(role);
    }

    #[test]
    fn fires() {
        for condition in [
            "",
            r#","Condition":{"StringLike":{"oidc.example.com/prod:sub":"*"}}"#,
            r#","Condition":{"StringLike":{"oidc.example.com/prod:sub":"system:serviceaccount:*"}}"#,
        ] {
            aws::fires(&RULE, |c| with_subject(c, condition));
        }
    }

    #[test]
    fn silent() {
        for condition in [
            r#","Condition":{"StringLike":{"oidc.example.com/prod:sub":"system:serviceaccount:shop:*"}}"#,
            r#","Condition":{"StringEquals":{"oidc.example.com/prod:sub":"system:serviceaccount:shop:app"}}"#,
        ] {
            aws::silent(&RULE, |c| with_subject(c, condition));
        }
    }
}
