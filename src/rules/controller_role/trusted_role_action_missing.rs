use crate::policy::Verdict;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{published_advice, role_reference, trusted_check_result, trusted_roles};

pub(super) const RULE: Rule = Rule {
    id: "trusted-role-action-missing",
    title: "the role that a controller may assume lacks actions that every release calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "No workloads were given, and the trust policy of a role that belongs to the cluster (by its tag, its name, or as the only one if no other cluster was read) admits the ServiceAccount that the chart or the guide of a controller uses, by its name or a pattern of it: AWS Load Balancer Controller, EBS or EFS CSI driver, cluster autoscaler, Karpenter, external-dns with Route 53, VPC CNI, node termination handler. The role grants an action nowhere that every release of this controller calls in everyday work, and it may assume no other role. A policy that only registers targets is enough for the AWS Load Balancer Controller. With workloads, `controller-action-missing` decides by the version that runs.",
    impact: "a controller that uses the role fails with AccessDenied",
    fix: "Attach the policy that the project publishes for the release.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/install/iam_policy.json",
        "kubernetes-sigs/aws-ebs-csi-driver docs/example-iam-policy.json",
        "kubernetes-sigs/aws-efs-csi-driver docs/iam-policy-example.json",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "kubernetes-sigs/external-dns docs/tutorials/aws.md",
        "aws/karpenter-provider-aws website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml",
        "aws/amazon-vpc-cni-k8s docs/iam-policy.md",
        "aws/aws-node-termination-handler README.md",
    ],
    example: "role `prod-lbc`, which ServiceAccount kube-system/aws-load-balancer-controller may assume, lacks 1 of the 31 actions that every release calls: elasticloadbalancing:RegisterTargets",
    reads: &[Read::ListRoles],
    judges: JudgedRoles::Trusted,
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in trusted_roles(context) {
        if audited.lacking.is_empty() {
            continue;
        }
        let names: Vec<&str> = audited.lacking.iter().map(|(action, _)| *action).collect();
        let denied = audited.lacking.iter().filter(|(_, assessment)| assessment.verdict == Verdict::Denied).count();
        let is_denied = denied == names.len();
        let message = format!(
            "role `{}`, which ServiceAccount {} may assume, {} {} of the {} actions that every release calls: {}",
            text::printable(&one.role.name),
            text::printable(&one.service_account),
            if is_denied { "is denied" } else { "lacks" },
            names.len(),
            audited.needed,
            text::list(&names, 8)
        );
        let fix = if is_denied {
            Fix::none("change the Deny, the boundary or the control policy: adding an Allow cannot help")
        } else if denied > 0 {
            let advice = published_advice(one.row);
            Fix::none(format!("{advice}; a Deny, a boundary or a control policy also revokes {denied} of them"))
        } else {
            Fix::none(published_advice(one.row))
        };
        found.push(Violation::new(Severity::Warning, role_reference(one.role), message, fix).about(names));
    }
    trusted_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::controller_role::tests::trust_service_account;
    use crate::testing::aws;

    fn with_role(policy: &str) -> impl FnOnce(&mut aws::Cluster) {
        move |c| {
            c.add_role("c-m-4x8z2k9q-ebs", policy);
            trust_service_account(c, "c-m-4x8z2k9q-ebs", "kube-system:ebs-csi-controller-sa");
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, with_role(r#"{"Statement":[{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}]}"#));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, with_role(include_str!("../../../policies/ebs-csi.json")));
        // Another provider than Route 53.
        aws::silent(&RULE, |c| {
            let text = r#"{"Statement":[{"Effect":"Allow","Action":["route53:ChangeResourceRecordSets","servicediscovery:*"],"Resource":"*"}]}"#;
            c.add_role("c-m-4x8z2k9q-dns", text);
            trust_service_account(c, "c-m-4x8z2k9q-dns", "dns:external-dns");
        });
        // The role that it assumes may have them.
        aws::silent(&RULE, with_role(r#"{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Resource":"*"}]}"#));
    }
}
