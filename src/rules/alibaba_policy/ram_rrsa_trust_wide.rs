use crate::alibaba::PrincipalKind;
use crate::alibaba::roles::reference;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::rrsa_check_result;

pub(super) const RULE: Rule = Rule {
    id: "ram-rrsa-trust-wide",
    title: "every ServiceAccount may assume the RAM role of a controller",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RamRole],
    condition: "A controller assumes a RAM role by RRSA, and the trust policy of the role admits every ServiceAccount of an OIDC provider: it has no condition on `oidc:sub`, or one that matches any namespace and name.",
    impact: "every Pod of the cluster can take the permissions of the controller",
    fix: "Limit `oidc:sub` in the trust policy to `system:serviceaccount:NAMESPACE:NAME`.",
    sources: &["RAM documentation, Overview of role-based SSO by using OIDC (`oidc:sub`)"],
    example: "the trust policy of role `csi`, which Deployment kube-system/csi-provisioner (CSI driver 1.35.3) assumes, admits every ServiceAccount of `acs:ram::1234567890123456:oidc-provider/prod`",
    reads: &[Read::EcsDescribeInstances],
    judges: JudgedRoles::OfControllers,
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let found = context.rrsa.roles.iter().filter_map(|one| {
        let provider = one.open_to.as_deref()?;
        let principal = one.account.principal(PrincipalKind::Role, one.name)?;
        let workload = one.run.workload;
        let message = format!(
            "the trust policy of role `{}`, which {} ({}) assumes, admits every ServiceAccount of `{}`",
            text::printable(one.name),
            text::printable(&workload.full_name()),
            one.run.label(),
            text::printable(provider),
        );
        let subject = format!("system:serviceaccount:{}:{}", workload.namespace, workload.service_account);
        let fix = Fix::none(format!("set `oidc:sub` to `{}` in its trust policy", text::printable(&subject)));
        let resource = reference(one.account, principal);
        Some(Violation::new(Severity::Warning, resource, message, fix).at(&workload.place))
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
        for subject in ["*", "system:serviceaccount:*:*", "system:*"] {
            alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.3", subject, &[]));
        }
    }

    #[test]
    fn silent() {
        for subject in [CSI_SUBJECT, "system:serviceaccount:kube-system:*"] {
            alibaba::silent(&RULE, |c| with_rrsa(c, "v1.35.3", subject, &[]));
        }
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| with_rrsa(c, "v1.33.4", "*", &[]));
    }
}
