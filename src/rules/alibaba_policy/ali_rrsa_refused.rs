use crate::alibaba::rrsa::Refusal;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::rrsa_check_result;

pub(super) const RULE: Rule = Rule {
    id: "ali-rrsa-refused",
    title: "a controller cannot assume the RAM role of its ServiceAccount",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if only the audience does not match, since a flag of the webhook can change it",
    ),
    resources: &[ResourceKind::Workload],
    condition: "A controller uses a RAM role by RRSA (`pod-identity.alibabacloud.com/role-name` on its ServiceAccount, or `ALIBABA_CLOUD_ROLE_ARN`), and one of these holds: the role does not exist; its trust policy admits no OIDC provider; it does not admit the provider in `ALIBABA_CLOUD_OIDC_PROVIDER_ARN` of the CSI driver; its `oidc:sub` does not match `system:serviceaccount:NAMESPACE:NAME`. Checked for the CSI driver from 1.34.1 and the cluster autoscaler from 1.32.0 (with `REGION_ID` and a session name). If an annotation names the role and `oidc:aud` does not match `sts.aliyuncs.com`, the default audience of the webhook, the finding is a warning. The issuer is not judged. If several accounts are audited, a role that is named without an account id is not checked.",
    impact: "`AssumeRoleWithOIDC` is refused, and so is every call of the controller",
    fix: "Create the role, or admit the ServiceAccount in its trust policy.",
    sources: &[
        "RAM documentation, Overview of role-based SSO by using OIDC",
        "kubernetes-sigs/alibaba-cloud-csi-driver pkg/credentials/credential.go#NewProvider",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go#isValid",
    ],
    example: "Deployment kube-system/csi-provisioner (CSI driver 1.35.1) assumes role `csi`, whose trust policy admits `system:serviceaccount:default:csi-admin` and not `system:serviceaccount:kube-system:csi-admin`",
    reads: &[Read::EcsDescribeInstances],
    judges: JudgedRoles::OfControllers,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let found = context.rrsa.roles.iter().filter_map(|one| {
        let workload = one.run.workload;
        let subject = format!("system:serviceaccount:{}:{}", workload.namespace, workload.service_account);
        let subject = text::printable(&subject);
        let (reason, fix) = match one.refusal.as_ref()? {
            Refusal::RoleMissing => (
                format!("which does not exist in account {}", one.account.account_id),
                "create the role, or correct its name".to_owned(),
            ),
            Refusal::NoProvider => (
                "whose trust policy admits no OIDC provider".to_owned(),
                format!("admit the OIDC provider of the cluster in its trust policy, with `oidc:sub` `{subject}`"),
            ),
            Refusal::Provider { named, admitted } => {
                let admitted: Vec<String> = admitted.iter().map(|one| format!("`{}`", text::printable(one))).collect();
                let admitted: Vec<&str> = admitted.iter().map(String::as_str).collect();
                let named = text::printable(named);
                (
                    format!("whose trust policy admits {} and not `{named}`", text::list(&admitted, 3)),
                    format!("admit `{named}` in its trust policy, or correct `ALIBABA_CLOUD_OIDC_PROVIDER_ARN`"),
                )
            }
            Refusal::Audience { values } => {
                let values: Vec<String> = values.iter().map(|one| format!("`{}`", text::printable(one))).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                (
                    format!(
                        "whose trust policy admits the audience {} and not `sts.aliyuncs.com`",
                        text::list(&values, 3)
                    ),
                    "set `oidc:aud` to `sts.aliyuncs.com` in its trust policy".to_owned(),
                )
            }
            Refusal::Subject { values } => {
                let values: Vec<String> = values.iter().map(|one| format!("`{}`", text::printable(one))).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                (
                    format!("whose trust policy admits {} and not `{subject}`", text::list(&values, 3)),
                    format!("set `oidc:sub` to `{subject}` in its trust policy"),
                )
            }
        };
        let name = workload.full_name();
        let message = format!(
            "{} ({}) assumes role `{}`, {reason}",
            text::printable(&name),
            one.run.label(),
            text::printable(one.name)
        );
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        let severity = match one.refusal {
            Some(Refusal::Audience { .. }) => Severity::Warning,
            _ => Severity::Error,
        };
        Some(Violation::new(severity, resource, message, Fix::none(fix)).at(&workload.place))
    });
    rrsa_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba_policy::tests::{CSI_SUBJECT, with_rrsa};
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        let other = "system:serviceaccount:default:csi-admin";
        alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.1", other, &[]));
        alibaba::fires(&RULE, |c| {
            with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
            c.account().principals.retain(|one| one.name != "csi");
            c.account().absent_roles = vec!["csi".to_owned()];
        });
        alibaba::fires(&RULE, |c| {
            with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
            let nodes = c.principal(alibaba::ROLE).trust_policy.clone();
            c.principal("csi").trust_policy = nodes;
        });
    }

    #[test]
    fn the_webhook_requests_one_audience() {
        let audience = |value: &'static str| {
            move |c: &mut alibaba::Cluster| {
                with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
                let trust = c.principal("csi").trust_policy.as_mut().unwrap();
                *trust = trust.replace("sts.aliyuncs.com", value);
            }
        };
        alibaba::fires(&RULE, audience("wrong.example.com"));
        alibaba::silent(&RULE, audience("sts.aliyuncs.com"));
    }

    /// The variable is in the manifest where no webhook sets it.
    #[test]
    fn the_provider_of_the_driver_has_to_be_admitted() {
        let name = |c: &mut alibaba::Cluster, provider: &str| {
            with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
            let arn = format!("acs:ram::1234567890123456:oidc-provider/{provider}");
            let container = &mut c.objects.last_mut().unwrap()["spec"]["template"]["spec"]["containers"][0];
            container["env"] = serde_json::json!([{"name": "ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "value": arn}]);
        };
        alibaba::fires(&RULE, |c| name(c, "other"));
        alibaba::silent(&RULE, |c| name(c, "prod"));
    }

    #[test]
    fn silent() {
        for subject in [CSI_SUBJECT, "system:serviceaccount:kube-system:*"] {
            alibaba::silent(&RULE, |c| with_rrsa(c, "v1.35.1", subject, &[]));
        }
        // Another condition decides.
        alibaba::silent(&RULE, |c| {
            with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
            let policy = c.principal("csi").trust_policy.as_mut().unwrap();
            *policy = policy.replace("oidc:sub", "acs:SourceIp");
        });
    }

    #[test]
    fn does_not_apply() {
        // That version does not read it, and of a tag without version that is not known.
        for version in ["v1.33.4", "latest"] {
            alibaba::does_not_apply(&RULE, |c| with_rrsa(c, version, "system:serviceaccount:default:csi-admin", &[]));
        }
    }

    /// A recording that does not hold the role says nothing about it.
    #[test]
    fn a_role_that_was_not_read_is_not_audited() {
        let (findings, outcome) = alibaba::changed(&RULE, |c| {
            with_rrsa(c, "v1.35.1", CSI_SUBJECT, &[]);
            c.account().principals.retain(|one| one.name != "csi");
        });
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(outcome, crate::rules::Outcome::NotAudited);
    }
}
