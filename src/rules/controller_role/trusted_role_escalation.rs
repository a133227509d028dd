use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{escalation, role_reference, trusted_check_result, trusted_roles};

pub(super) const RULE: Rule = Rule {
    id: "trusted-role-escalation",
    title: "the role that a controller may assume opens a privilege escalation path",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "No workloads were given, and the trust policy of a role that belongs to the cluster (by its tag, its name, or as the only one in an account with one cluster) admits the ServiceAccount that the chart or the guide of a controller uses: AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns, VPC CNI, node termination handler. The role grants every action of a known path to more permissions or to code on other machines, and at least one of them is in no policy that the project publishes. With workloads, `controller-escalation` decides.",
    impact: "a compromised Pod of the controller can use this path",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `prod-lbc`, which ServiceAccount kube-system/aws-load-balancer-controller may assume, can attach any policy to a role, including its own (iam:AttachRolePolicy): privilege escalation",
    is_about_security: true,
    reads: &[Read::ListRoles],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in trusted_roles(context) {
        let Some(described) = escalation(&audited.paths) else { continue };
        let message = format!(
            "role `{}`, which ServiceAccount {} may assume, can {described}: privilege escalation",
            text::printable(&one.role.name),
            text::printable(&one.service_account),
        );
        let fix = Fix::none(format!(
            "attach the policy that the project publishes for the {}, and nothing more",
            one.row.name
        ));
        found.push(Violation::new(Severity::Warning, role_reference(one.role), message, fix));
    }
    trusted_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::controller_role::tests::trust_service_account;
    use crate::testing::{aws, tag};

    const EVERYTHING: &str = r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_role("c-m-4x8z2k9q-lbc", EVERYTHING);
            trust_service_account(c, "c-m-4x8z2k9q-lbc", "kube-system:aws-load-balancer-controller");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_role("c-m-4x8z2k9q-lbc", include_str!("../../../policies/lbc.json"));
            trust_service_account(c, "c-m-4x8z2k9q-lbc", "kube-system:aws-load-balancer-controller");
        });
    }

    /// The role of another program, or of one of several clusters.
    #[test]
    fn does_not_apply() {
        for account in ["default:backup", "*:*"] {
            aws::does_not_apply(&RULE, |c| {
                c.add_role("lbc", EVERYTHING);
                trust_service_account(c, "lbc", account);
            });
        }
        let shared = |is_shared: bool| {
            move |c: &mut aws::Cluster| {
                c.add_role("lbc", EVERYTHING);
                trust_service_account(c, "lbc", "kube-system:aws-load-balancer-controller");
                if is_shared {
                    let subnet = c.region().subnets.first_mut().unwrap();
                    tag(&mut subnet.tags, "kubernetes.io/cluster/other", "shared");
                }
            }
        };
        aws::fires(&RULE, shared(false));
        aws::does_not_apply(&RULE, shared(true));
    }
}
