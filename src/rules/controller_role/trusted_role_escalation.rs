use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{escalation, published_advice, role_reference, trusted_check_result, trusted_roles};

pub(super) const RULE: Rule = Rule {
    id: "trusted-role-escalation",
    title: "the role that a controller may assume opens a privilege escalation path",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "No workloads were given, and the trust policy of a role that belongs to the cluster (by its tag, its name, or as the only one if no other cluster was read) admits the ServiceAccount that the chart or the guide of a controller uses, by its name or a pattern of it: AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns, VPC CNI, node termination handler, Cluster API Provider AWS. The role grants every action of a known path to more permissions or to code on other machines, and at least one of them is in no policy that the projects of its controllers publish. With workloads, `controller-escalation` decides.",
    impact: "a compromised Pod of the controller can use this path",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `prod-lbc`, which ServiceAccount kube-system/aws-load-balancer-controller may assume, can attach any policy to a role, including its own (iam:AttachRolePolicy): privilege escalation",
    is_about_security: true,
    reads: &[Read::ListRoles],
    judges: JudgedRoles::Trusted,
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
        let fix =
            Fix::none(format!("{}, and nothing more; give each controller a separate role", published_advice(one.row)));
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

    /// Sets the condition of the trust policy, after the ServiceAccount was allowed.
    fn with_condition(condition: &str) -> impl FnOnce(&mut aws::Cluster) {
        move |c| {
            c.add_role("lbc", EVERYTHING);
            trust_service_account(c, "lbc", "kube-system:aws-load-balancer-controller");
            let role = c.role("lbc");
            let policy = role.trust_policy.take().unwrap();
            role.trust_policy = Some(policy.replace("StringEquals", condition));
        }
    }

    /// A trust policy may name an account and refuse it.
    #[test]
    fn only_a_role_that_admits_the_account_is_judged() {
        aws::fires(&RULE, with_condition("StringLike"));
        for condition in ["StringNotEquals", "StringNotLike"] {
            aws::does_not_apply(&RULE, with_condition(condition));
        }
        aws::does_not_apply(&RULE, |c| {
            with_condition("StringEquals")(c);
            c.account().oidc_providers = Some(Vec::new());
        });
        aws::does_not_apply(&RULE, |c| {
            c.add_role("lbc", EVERYTHING);
            trust_service_account(c, "lbc", "kube-system:aws-load-balancer-controller");
            let role = c.role("lbc");
            let policy = role.trust_policy.take().unwrap();
            role.trust_policy = Some(policy.replace("oidc.example.com", "oidc.eks.ap-south-2.amazonaws.com/id/A"));
        });
    }

    /// The id of a cluster is a word of the name, and a tag of another one counts more.
    #[test]
    fn roles_of_other_clusters_are_left_out() {
        for (name, tag_of) in
            [("xc-m-4x8z2k9q-lbc", None), ("c-m-4x8z2k9q2-lbc", None), ("c-m-4x8z2k9q-lbc", Some("other"))]
        {
            aws::does_not_apply(&RULE, |c| {
                c.add_role(name, EVERYTHING);
                trust_service_account(c, name, "kube-system:aws-load-balancer-controller");
                if let Some(id) = tag_of {
                    tag(c.role(name).tags.as_mut().unwrap(), "alpha.eksctl.io/cluster-name", id);
                }
                // With another cluster, the only role may be that of the other one.
                let subnet = c.region().subnets.first_mut().unwrap();
                tag(&mut subnet.tags, "kubernetes.io/cluster/other", "shared");
            });
        }
    }

    /// A policy that was not read may contain anything.
    #[test]
    fn a_role_that_was_not_read_is_not_audited() {
        let (findings, outcome) = aws::changed(&RULE, |c| {
            c.add_role("lbc", "{");
            trust_service_account(c, "lbc", "kube-system:aws-load-balancer-controller");
        });
        assert!(findings.is_empty());
        assert_eq!(outcome, crate::rules::Outcome::NotAudited);
    }

    /// The needs of both are none of them excess.
    #[test]
    fn a_shared_role_is_judged_by_all_of_its_users() {
        aws::silent(&RULE, |c| {
            let karpenter = include_str!("../../../policies/published/karpenter-controller-0.13.json");
            c.add_role("both", karpenter);
            trust_service_account(c, "both", "kube-system:aws-load-balancer-controller");
            let role = c.role("both");
            let policy = role.trust_policy.take().unwrap();
            role.trust_policy = Some(policy.replace(
                "\"system:serviceaccount:kube-system:aws-load-balancer-controller\"",
                "[\"system:serviceaccount:kube-system:aws-load-balancer-controller\",\"system:serviceaccount:karpenter:karpenter\"]",
            ));
        });
    }
}
