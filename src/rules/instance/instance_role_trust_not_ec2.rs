use crate::aws::Account;
use crate::aws::ec2_trust::trusts_ec2;
use crate::aws::view::Member;
use crate::policy::Document;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, instances_phrase};

use super::{by_profile, instance_refs};

pub(super) const RULE: Rule = Rule {
    id: "instance-role-trust-not-ec2",
    title: "EC2 is not allowed to assume the node's role",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Role],
    condition: "No Allow statement of the role's trust policy lets the service `ec2.amazonaws.com` perform `sts:AssumeRole`. In other partitions, the partition's own domain also counts, such as `ec2.amazonaws.com.cn`.",
    impact: "the instance gets no credentials, as without a profile",
    fix: "Add the EC2 service to the trust policy.",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes-sigs/cluster-api-provider-aws cmd/clusterawsadm/cloudformation/bootstrap/template.go#ec2AssumeRolePolicy",
        "kubernetes/kops pkg/model/iam/iam_builder.go",
    ],
    example: "role `workers` does not trust EC2, and 3 instances have it",
    subjects: Subjects::MemberRoles,
    migration: Some(Prerequisite::Profiles),
    ..Rule::account(check)
};

fn check(context: &Context<'_>, account: &Account) -> CheckResult {
    let users = by_profile(context);
    let mut violations = Vec::new();
    for role in &account.roles {
        let members: Vec<&Member<'_>> = account
            .instance_profiles
            .iter()
            .filter(|profile| profile.roles.iter().any(|name| name.eq_ignore_ascii_case(&role.name)))
            .filter_map(|profile| users.get(profile.arn.as_str()))
            .flatten()
            .copied()
            .collect();
        // An unreadable trust policy is not audited; one whose read was refused is already a gap.
        let Some(document) = role.trust_policy.as_deref().and_then(|text| Document::parse(text).ok()) else {
            continue;
        };
        if members.is_empty() || trusts_ec2(&document, &account.partition) {
            continue;
        }
        let resource = ResourceRef {
            arn: Some(role.arn.clone()),
            name: Some(role.name.clone()),
            account_id: Some(account.account_id.clone()),
            ..ResourceRef::bare(ResourceKind::Role, &role.arn)
        };
        let message =
            format!("role `{}` does not trust EC2, and {} {} it", role.name, instances_phrase(&members), has(&members));
        let fix = Fix::choose("add the EC2 service with sts:AssumeRole to the trust policy", Vec::new());
        violations.push(Violation::new(Severity::Error, resource, message, fix).related(instance_refs(&members)));
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let policy = c.role(aws::WORKER_ROLE).trust_policy.as_mut().unwrap();
            *policy = policy.replace(r#""ec2.amazonaws.com""#, r#""lambda.amazonaws.com""#);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let policy = c.role(aws::WORKER_ROLE).trust_policy.as_mut().unwrap();
            *policy = policy.replace(r#""ec2.amazonaws.com""#, r#"["lambda.amazonaws.com","ec2.amazonaws.com"]"#);
        });
    }
}
