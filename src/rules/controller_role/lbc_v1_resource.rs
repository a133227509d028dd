use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "lbc-v1-resource",
    title: "the AWS Load Balancer Controller may not change what its version 1 created",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Role],
    condition: "Version 2 of the AWS Load Balancer Controller runs, a security group or a target group carries the tag of version 1 (`ingress.k8s.aws/cluster`) with its cluster name and no `elbv2.k8s.aws/cluster`, and the role of the controller grants changes only of resources with the latter, as the published policies do.",
    impact: "the controller adopts the load balancers of the Ingresses and fails with AccessDenied when it changes or deletes these resources",
    fix: "Attach the additional policy of the migration guide (`iam_policy_v1_to_v2_additional.json`) to the role, or tag the resources with `elbv2.k8s.aws/cluster`.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/deploy/upgrade/migrate_v1_v2.md",
        "kubernetes-sigs/aws-load-balancer-controller docs/install/iam_policy_v1_to_v2_additional.json",
    ],
    example: "role `lbc` of AWS Load Balancer Controller 2.13.4 (Deployment kube-system/aws-load-balancer-controller) does not grant ec2:CreateTags and ec2:DeleteSecurityGroup on sg-0a, which version 1 created",
    reads: &[Read::DescribeSecurityGroups],
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in audited_roles(context).filter(|(_, audited)| !audited.refused_of_v1.is_empty()) {
        let refused = &audited.refused_of_v1;
        let mut actions: Vec<&str> = refused.iter().map(|one| one.action).collect();
        actions.sort_unstable();
        actions.dedup();
        let mut ids: Vec<&str> = refused.iter().map(|one| one.id.as_str()).collect();
        ids.dedup();
        let message = format!(
            "role `{}` of {} ({}) does not grant {} on {}, which version 1 created",
            text::printable(&one.role.name),
            one.run.label(),
            text::printable(&one.run.workload.full_name()),
            actions.join(" and "),
            text::printable(&text::list(&ids, 6))
        );
        let fix = Fix::none(
            "attach the additional policy of the migration guide to the role, or tag these resources with `elbv2.k8s.aws/cluster`",
        );
        let violation = Violation::new(Severity::Warning, role_reference(one.role), message, fix);
        let mut resources: Vec<ResourceRef> = refused.iter().map(|one| ResourceRef::bare(one.kind, &one.id)).collect();
        resources.dedup();
        found.push(violation.related(resources).at(&one.run.workload.place));
    }
    role_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::controllers::controller_with_role;
    use crate::testing::{aws, tag};

    const LBC: &str = controller_with_role!(
        "lbc",
        "lbc",
        "      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
        args:
        - --cluster-name=c-m-4x8z2k9q
"
    );

    fn group(c: &mut aws::Cluster, key: &str) {
        c.manifests = LBC;
        c.add_role("lbc", include_str!("../../../policies/lbc.json"));
        tag(&mut c.add_group("sg-0v1").tags, key, "c-m-4x8z2k9q");
    }

    #[test]
    fn fires() {
        let messages = aws::messages(&RULE, |c| group(c, "ingress.k8s.aws/cluster"));
        let expected = "does not grant ec2:CreateTags and ec2:DeleteSecurityGroup on sg-0v1, which version 1 created";
        assert!(messages[0].ends_with(expected), "{messages:?}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| group(c, "elbv2.k8s.aws/cluster"));
        // The controller may tag the group as its own.
        aws::silent(&RULE, |c| {
            group(c, "ingress.k8s.aws/cluster");
            let allow = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*"}]}"#;
            c.role("lbc")
                .inline_policies
                .as_mut()
                .unwrap()
                .push(crate::aws::InlinePolicy { name: "v1".to_owned(), document: Some(allow.to_owned()) });
        });
        // The version that created it still runs.
        aws::does_not_apply(&RULE, |c| {
            group(c, "ingress.k8s.aws/cluster");
            c.manifests = Box::leak(LBC.replace("v2.13.4", "v1.1.9").into_boxed_str());
        });
    }
}
