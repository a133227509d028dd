use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, grant_fix, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "controller-target-action-missing",
    title: "the role of a controller lacks actions that the target version calls",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Role],
    applicability: Applicability::Confirm,
    condition: "`--target-controller NAME=VERSION` names the version of a controller to upgrade to, and its role does not grant, on any resource, an action that this version routinely calls and the running version does not.",
    impact: "after the upgrade the controller fails with AccessDenied",
    fix: "Attach the policy that the project publishes for that release, before the upgrade. `--fix` adds the actions that this policy allows on every resource, in a separate policy of the role; never to a role of nodes.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller docs/install/iam_policy.json",
        "kubernetes-sigs/aws-efs-csi-driver docs/iam-policy-example.json",
    ],
    example: "role `lbc` of AWS Load Balancer Controller 2.8.1 lacks 1 action that 2.13 calls: elasticloadbalancing:DescribeListenerAttributes",
    // Tags of subnets decide about calls.
    reads: &[Read::DescribeSubnets],
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    if context.kubernetes.companions.target.is_empty() {
        return CheckResult::not_applicable("no `--target-controller NAME=VERSION` was given");
    }
    let lacking = audited_roles(context).filter_map(|(one, audited)| Some((one, audited, one.run.target?)));
    let found =
        lacking.filter(|(_, audited, _)| !audited.lacking_for_target.is_empty()).map(|(one, audited, target)| {
            let actions = &audited.lacking_for_target;
            let message = format!(
                "role `{}` of {} lacks {} that {target} calls: {}",
                text::printable(&one.role.name),
                one.run.label(),
                text::count(actions.len(), "action"),
                text::list(actions, 8)
            );
            let fix = grant_fix(context, one, Some(target), actions);
            Violation::new(Severity::Error, role_reference(one.role), message, fix).at(&one.run.workload.place)
        });
    role_check_result(context, found.collect())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::controller::companion::{Companion, CompanionVersions};
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    const WORLD: &str = controller_with_role!(
        "lbc",
        "lbc",
        "      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.8.1
"
    );

    fn towards(c: &mut aws::Cluster, policy: &str, version: &str) {
        c.manifests = WORLD;
        c.add_role("lbc", policy);
        c.companions = CompanionVersions {
            target: [(Companion::LoadBalancerController, version.parse().unwrap())].into(),
            ..CompanionVersions::default()
        };
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| towards(c, include_str!("../../../policies/lbc-2.7.json"), "2.13"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| towards(c, include_str!("../../../policies/lbc.json"), "2.13"));
        aws::silent(&RULE, |c| towards(c, include_str!("../../../policies/lbc-2.7.json"), "2.8.3"));
    }
}
