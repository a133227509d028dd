use std::collections::BTreeMap;

use crate::aws::companion_audit::role_limits;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{audited_roles, role_check_result, role_reference};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-group-not-granted",
    title: "the role of the cluster autoscaler does not cover a group that the autoscaler manages",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Role],
    condition: "The cluster autoscaler manages an Auto Scaling group, through `--nodes` or discovery tags, and its role grants `autoscaling:SetDesiredCapacity` or `autoscaling:TerminateInstanceInAutoScalingGroup` only on other groups: the statement names another ARN, or requires a tag that this group lacks.",
    impact: "the autoscaler fails with AccessDenied when it scales this group",
    fix: "Name the group in the resource of the statement, or tag it as the condition requires.",
    sources: &["kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md"],
    example: "role `autoscaler` of cluster autoscaler 1.34.0 does not grant autoscaling:SetDesiredCapacity on the Auto Scaling group `workers`",
    reads: &[Read::DescribeAutoScalingGroups],
    judges: JudgedRoles::OfControllers,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let mut found = Vec::new();
    for (one, audited) in audited_roles(context) {
        let mut by_group: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (action, group) in &audited.refused_groups {
            by_group.entry(group).or_default().push(action);
        }
        for (group, actions) in by_group {
            let mut limits: Vec<String> =
                actions.iter().flat_map(|action| role_limits(one, context.role_options, action)).collect();
            limits.sort();
            limits.dedup();
            let limits: Vec<String> = limits.iter().map(|one| text::printable(one).into_owned()).collect();
            let why = if limits.is_empty() {
                "a statement denies it there".to_owned()
            } else {
                let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
                format!("its statements allow that only for {}", text::list(&limits, 4))
            };
            let message = format!(
                "role `{}` of {} ({}) does not grant {} on the Auto Scaling group `{}`; {why}",
                text::printable(&one.role.name),
                one.run.label(),
                text::printable(&one.run.workload.full_name()),
                actions.join(" or "),
                text::printable(group)
            );
            let fix = Fix::none("name the group in the resource of the statement, or tag it as the condition requires");
            let violation = Violation::new(Severity::Error, role_reference(one.role), message, fix);
            found.push(violation.with_respect_to(group).at(&one.run.workload.place));
        }
    }
    role_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::controllers::controller_with_role;

    const WORLD: &str = controller_with_role!(
        "cluster-autoscaler",
        "autoscaler",
        "      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command:
        - ./cluster-autoscaler
        - --cloud-provider=aws
        - --nodes=1:6:workers
"
    );

    fn with_policy(c: &mut aws::Cluster, limit: &str) {
        c.manifests = WORLD;
        c.add_scaling_group("workers", &[("k8s.io/cluster-autoscaler/c-m-4x8z2k9q", "owned")]);
        c.add_role("autoscaler", &format!(r#"{{"Statement":[
            {{"Effect":"Allow","Action":"autoscaling:Describe*","Resource":"*"}},
            {{"Effect":"Allow","Action":["autoscaling:SetDesiredCapacity","autoscaling:TerminateInstanceInAutoScalingGroup"],{limit}}}]}}"#));
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            with_policy(c, r#""Resource":"arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/old""#);
        });
        aws::fires(&RULE, |c| {
            with_policy(
                c,
                r#""Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/k8s.io/cluster-autoscaler/staging":"owned"}}"#,
            );
        });
        aws::fires(&RULE, |c| {
            with_policy(
                c,
                r#""Resource":"*","Condition":{"StringEquals":{"autoscaling:ResourceTag/k8s.io/cluster-autoscaler/c-m-4x8z2k9q":"shared"}}"#,
            );
        });
    }

    #[test]
    fn silent() {
        for limit in [
            r#""Resource":"*""#,
            r#""Resource":"arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/workers""#,
            r#""Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/k8s.io/cluster-autoscaler/c-m-4x8z2k9q":"owned"}}"#,
        ] {
            aws::silent(&RULE, |c| with_policy(c, limit));
        }
    }
}
