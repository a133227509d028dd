use crate::aws::web_identity::{Refusal, Trust};
use crate::kubernetes::WebIdentity;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{Assumed, NO_IDENTITY, assumed, label, reference, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-role-trust-mismatch",
    title: "the role of a ServiceAccount does not trust it",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ServiceAccount],
    condition: "The trust policy of a role that a ServiceAccount names does not admit its token: it has no statement for web identities; the OIDC provider is another account's, another cluster's or does not exist; a condition key belongs to another issuer; or `sub` or `aud` does not match. The audience is that of the annotation, of the projected token, or the webhook's default; an unknown one is not judged. The provider is compared with `--service-account-issuer` if it is known, and with the providers of the account if they were given (`list-open-id-connect-providers.json`).",
    impact: "the pods get no credentials: every call of theirs to AWS fails with AccessDenied or InvalidIdentityToken (`sts:AssumeRoleWithWebIdentity`)",
    fix: "Correct the trust policy of the role.",
    sources: &[
        "AWS STS API Reference, AssumeRoleWithWebIdentity",
        "Amazon EKS User Guide, \"Assign IAM roles to Kubernetes service accounts\"",
        "aws/amazon-eks-pod-identity-webhook README.md",
    ],
    example: "ServiceAccount kube-system/aws-load-balancer-controller cannot assume role `lbc`: its trust policy requires `sub` `system:serviceaccount:default:aws-load-balancer-controller`",
    judges: JudgedRoles::TrustPolicies,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let assumed = assumed(context);
    if assumed.is_empty() {
        return CheckResult::not_applicable(NO_IDENTITY);
    }
    let refused = assumed.iter().filter_map(|one| match &one.trust {
        Trust::Refused(why) => Some(violation(one, why)),
        Trust::Admitted { .. } | Trust::Unknown => None,
    });
    match assumed.iter().filter(|one| one.trust != Trust::Unknown).count() {
        0 => CheckResult::not_applicable("no trust policy of such a role is decided by what is known"),
        decided => CheckResult::counted(decided, refused),
    }
}

fn violation(one: &Assumed<'_>, why: &Refusal) -> Violation {
    let Assumed { identity, role, .. } = one;
    let (defect, fix) = describe(identity, why);
    let message = format!("{} cannot assume role `{}`: {defect}", label(identity), text::printable(&role.name));
    Violation::new(Severity::Error, reference(identity), message, Fix::none(fix))
        .with_respect_to(identity.role_arn)
        .related(vec![role_reference(role)])
        .at(&identity.place)
}

/// The reason, and the correction.
fn describe(identity: &WebIdentity<'_>, why: &Refusal) -> (String, String) {
    let shown = |text: &str| format!("`{}`", text::printable(text));
    let quoted = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| shown(value)).collect();
        text::list(&values.iter().map(String::as_str).collect::<Vec<_>>(), 3)
    };
    let subject = identity.subject();
    match why {
        Refusal::NoStatement => (
            "its trust policy has no statement for web identities".to_owned(),
            format!(
                "allow `sts:AssumeRoleWithWebIdentity` to the OIDC provider of the cluster, with `sub` {}",
                shown(&subject)
            ),
        ),
        Refusal::ProviderOfOtherAccount { provider } => (
            format!("its trust policy names the provider {} of another account", shown(provider)),
            "name the provider of the role's account, and create it there if it does not exist".to_owned(),
        ),
        Refusal::ProviderMissing { provider } => (
            format!("the account has no OIDC provider {}", shown(provider)),
            "create the provider (`aws iam create-open-id-connect-provider`), or name the one of the cluster"
                .to_owned(),
        ),
        Refusal::OtherIssuer { provider, issuers } => (
            format!(
                "its trust policy names the provider {}, and the issuer of the cluster is {}",
                shown(provider),
                quoted(issuers)
            ),
            "name the provider of this cluster, in the principal and in the condition keys".to_owned(),
        ),
        Refusal::OtherKey { key, issuer } => (
            format!("the condition key {} is not one of the issuer {}, and is never met", shown(key), shown(issuer)),
            format!("write {}", shown(&format!("{issuer}:sub"))),
        ),
        Refusal::Subject { values } => (
            format!("its trust policy requires `sub` {}, and the token has {}", quoted(values), shown(&subject)),
            format!("write {} in the trust policy", shown(&subject)),
        ),
        Refusal::Denied => (
            "a statement of its trust policy denies it".to_owned(),
            "remove the Deny, or limit it to other ServiceAccounts".to_owned(),
        ),
        Refusal::Audience { values } => {
            let audience = shown(identity.audience.unwrap_or_default());
            (
                format!(
                    "its trust policy requires `aud` {}, and the token has the audience {audience}",
                    quoted(values)
                ),
                format!("write {audience} in the trust policy, or change the audience of the token"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const ISSUER: &str = "oidc.example.com/prod";
    const ACCOUNT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: shop
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/app
    eks.amazonaws.com/audience: sts.amazonaws.com
";

    /// The trust policy of a role that admits the ServiceAccount, with one replacement.
    fn trusting(c: &mut aws::Cluster, from: &str, to: &str) {
        let trust = format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":{{"Federated":"arn:aws:iam::123456789012:oidc-provider/{ISSUER}"}},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{{"StringEquals":{{"{ISSUER}:sub":"system:serviceaccount:shop:app","{ISSUER}:aud":"sts.amazonaws.com"}}}}}}]}}"#
        );
        assert!(trust.contains(from), "{from}");
        c.manifests = ACCOUNT;
        let mut role = c.role(aws::WORKER_ROLE).clone();
        role.arn = "arn:aws:iam::123456789012:role/app".to_owned();
        role.name = "app".to_owned();
        role.trust_policy = Some(trust.replace(from, to));
        c.account().roles.push(role);
        c.account().oidc_providers = Some(vec![format!("arn:aws:iam::123456789012:oidc-provider/{ISSUER}")]);
    }

    #[test]
    fn fires() {
        for (from, to) in [
            ("serviceaccount:shop:app", "serviceaccount:default:app"),
            ("system:serviceaccount", "serviceaccount"),
            ("\"sts.amazonaws.com\"", "\"kubernetes.default.svc\""),
            ("oidc.example.com/prod:sub", "https://oidc.example.com/prod:sub"),
            ("oidc.example.com/prod:aud", "oidc.example.com/staging:aud"),
            ("oidc-provider/oidc.example.com/prod", "oidc-provider/oidc.example.com/staging"),
            ("iam::123456789012:oidc", "iam::210987654321:oidc"),
            ("sts:AssumeRoleWithWebIdentity", "sts:AssumeRole"),
            ("\"Effect\":\"Allow\"", "\"Effect\":\"Deny\""),
            ("StringEquals\":{\"oidc.example.com/prod:sub", "StringNotEquals\":{\"oidc.example.com/prod:sub"),
            ("StringEquals\":{\"oidc.example.com/prod:sub", "StringNotLike\":{\"oidc.example.com/prod:sub"),
        ] {
            aws::fires(&RULE, |c| trusting(c, from, to));
        }
        // Whatever the operator, the key of the token is there.
        aws::fires(&RULE, |c| {
            trusting(
                c,
                r#""StringEquals":{"oidc.example.com/prod:sub":"system:serviceaccount:shop:app""#,
                r#""StringEqualsIfExists":{"oidc.example.com/prod:sub":"system:serviceaccount:a:b""#,
            );
        });
        let deny = r#""Statement":[{"Effect":"Deny","Principal":"*","Action":"sts:*"},"#;
        aws::fires(&RULE, |c| trusting(c, r#""Statement":["#, deny));
        aws::fires(&RULE, |c| {
            trusting(c, ISSUER, ISSUER);
            c.account().oidc_providers = Some(Vec::new());
        });
    }

    #[test]
    fn silent() {
        for (from, to) in [
            ("StringEquals", "StringEquals"),
            ("StringEquals", "StringLike"),
            (r#""Action":"sts:AssumeRoleWithWebIdentity""#, r#""NotAction":"sts:AssumeRole""#),
            // One trust policy for two clusters.
            (
                r#""StringEquals":{"#,
                r#""StringEqualsIfExists":{"oidc.example.com/staging:sub":"system:serviceaccount:shop:app","#,
            ),
            (
                "\"system:serviceaccount:shop:app\"",
                "[\"system:serviceaccount:a:b\",\"system:serviceaccount:shop:app\"]",
            ),
        ] {
            aws::silent(&RULE, |c| trusting(c, from, to));
        }
        aws::silent(&RULE, |c| {
            trusting(c, ISSUER, ISSUER);
            c.account().oidc_providers = None;
        });
    }

    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |c| c.manifests = ACCOUNT);
        // The address of the caller is not known, and decides.
        let condition = r#""Condition":{"IpAddress":{"aws:SourceIp":"203.0.113.0/24"},"#;
        aws::does_not_apply(&RULE, |c| trusting(c, r#""Condition":{"#, condition));
    }
}
