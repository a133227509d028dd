use crate::alibaba::{Attachment, CUSTOM_ATTACHMENTS_QUOTA, POLICY_QUOTA, PolicyType, PrincipalAudit};
use crate::policy::{Document, RAM};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::principal_label;

pub(super) const RULE: Rule = Rule {
    id: "ram-policy-near-quota",
    title: "a policy or a principal is near a quota",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::RamRole, ResourceKind::RamUser],
    condition: "A custom policy of a principal has more than nine tenths of the maximum of 6,144 characters, or nine or more of at most ten custom policies are attached; quotas can be raised.",
    impact: "actions that the next version of the controller calls cannot be added there",
    fix: "Combine actions into patterns (`tagaudit policy shrink --dialect ram`), or several policies into one.",
    sources: &["Alibaba Cloud RAM documentation, Limits (2025-12-16)"],
    example: "policy `k8s-master` has 6010 of 6144 characters",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Principal(check))
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> CheckResult {
    let custom: Vec<&Attachment> = audit
        .principal
        .attachments
        .iter()
        .flatten()
        .filter(|attachment| attachment.policy_type == PolicyType::Custom)
        .collect();
    let mut found = Vec::new();
    let mut say = |message: String, advice: &str, what: &str| {
        let violation = Violation::new(Severity::Info, audit.resource(), message, Fix::none(advice));
        found.push(violation.with_respect_to(what));
    };
    for attachment in &custom {
        let text = audit.account.policy(attachment).and_then(|policy| policy.document.as_deref());
        let characters = text.and_then(|text| Document::parse_as(text, &RAM).ok()).map_or(0, |one| one.characters());
        if characters * 10 > POLICY_QUOTA * 9 {
            let name = text::printable(&attachment.policy);
            let message = format!("policy `{name}` has {characters} of {POLICY_QUOTA} characters");
            say(message, "combine actions into patterns: `tagaudit policy shrink --dialect ram`", &attachment.policy);
        }
    }
    if custom.len() + 1 >= CUSTOM_ATTACHMENTS_QUOTA {
        let number = custom.len();
        let message = format!("{} has {number} of {CUSTOM_ATTACHMENTS_QUOTA} custom policies", principal_label(audit));
        say(message, "combine several policies into one, or have the quota raised", "attachments");
    }
    CheckResult::counted(1, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let actions: Vec<String> = (0..300).map(|n| format!("oss:Thing{n:08}")).collect();
            let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
            c.attach(alibaba::ROLE, "Allow", &actions);
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }
}
