use crate::aws::Account;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;

use super::{by_profile, instance_refs, profile_resource};

pub(super) const RULE: Rule = Rule {
    id: "instance-profile-without-role",
    title: "an instance profile has no role",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::InstanceProfile],
    condition: "A member's instance profile holds no role or no longer exists.",
    impact: "the instance gets no credentials, as without a profile",
    fix: "Add the role to the profile, or associate another profile.",
    applicability: Applicability::Choice,
    sources: &["AWS IAM User Guide, Using instance profiles"],
    example: "instance profile `workers` of 3 instances holds no role",
    migration: Some(Prerequisite::Profiles),
    ..Rule::account(check)
};

fn check(context: &Context<'_>, account: &Account) -> CheckResult {
    let users = by_profile(context);
    let mut violations = Vec::new();
    for profile in account.instance_profiles.iter().filter(|profile| profile.roles.is_empty()) {
        let Some(members) = users.get(profile.arn.as_str()) else { continue };
        let resource = profile_resource(&profile.arn, &account.account_id);
        let name = resource.name.clone().unwrap_or_default();
        let message = if profile.exists {
            format!("instance profile `{}` of {} holds no role", text::printable(&name), instances_phrase(members))
        } else {
            format!("instance profile `{}` of {} no longer exists", text::printable(&name), instances_phrase(members))
        };
        let fix = Fix::choose("add the role of these nodes to the profile, or associate another profile", Vec::new());
        violations.push(Violation::new(Severity::Error, resource, message, fix).related(instance_refs(members)));
    }
    violations.into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.account().instance_profiles.first_mut().unwrap().roles.clear());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
