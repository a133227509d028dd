use crate::aws::grant::{ATTACHED_QUOTA, INLINE_QUOTA, MANAGED_QUOTA, counted};
use crate::aws::roles::RoleAudit;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, ROLE};

pub(super) const RULE: Rule = Rule {
    id: "iam-policy-near-quota",
    title: "the policies of a node's role are near a quota",
    severity: RuleSeverity::always(Severity::Info),
    resources: ROLE,
    condition: "The inline policies of a role have together more than nine tenths of the maximum of 10,240 characters, a customer managed policy that is attached to it more than nine tenths of 6,144, white space not counted; or nine or more managed policies are attached. Ten may be by default, and the account can raise that.",
    impact: "actions that the next version of the controller calls cannot be added there: `LimitExceeded`",
    fix: "Combine actions into patterns (`tagaudit policy shrink`), or several policies into one.",
    sources: &["AWS IAM User Guide, IAM and AWS STS quotas"],
    example: "the inline policies of role `controlplane` have 9980 of 10240 characters",
    reads: &[INSTANCES],
    ..Rule::role(check)
};

fn check(_: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    let name = text::printable(&audit.role.name);
    let mut found = Vec::new();
    let mut say = |message: String, advice: &str, what: &str| {
        let violation = Violation::new(Severity::Info, audit.resource(), message, Fix::none(advice));
        found.push(violation.with_respect_to(what));
    };
    let shrink = "combine actions into patterns: `tagaudit policy shrink`";
    let inline = audit.role.inline_policies.iter().flatten().filter_map(|policy| policy.document.as_deref());
    let used: usize = inline.map(counted).sum();
    if is_near(used, INLINE_QUOTA) {
        say(format!("the inline policies of role `{name}` have {used} of {INLINE_QUOTA} characters"), shrink, "inline");
    }
    let attached = audit.role.attached_policies.as_deref().unwrap_or_default();
    let of_customer = audit.account.managed_policies.iter().filter(|policy| {
        // AWS may make its own longer.
        attached.contains(&policy.arn) && !policy.arn.contains(":iam::aws:")
    });
    for policy in of_customer {
        let used = policy.document.as_deref().map_or(0, counted);
        if is_near(used, MANAGED_QUOTA) {
            let policy_name = text::printable(policy.arn.rsplit('/').next().unwrap_or(&policy.arn));
            say(
                format!("policy `{policy_name}` of role `{name}` has {used} of {MANAGED_QUOTA} characters"),
                shrink,
                &policy.arn,
            );
        }
    }
    let number = attached.len();
    if number + 1 >= ATTACHED_QUOTA {
        let message =
            format!("role `{name}` has {number} managed policies; {ATTACHED_QUOTA} may be attached by default");
        say(message, "combine several policies into one, or have the quota raised", "attachments");
    }
    CheckResult::counted(1, found)
}

fn is_near(used: usize, quota: usize) -> bool {
    used * 10 > quota * 9
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::ManagedPolicy;
    use crate::testing::aws::{self, WORKER_ROLE};

    fn actions(c: &mut aws::Cluster, number: usize) {
        let actions: Vec<String> = (0..number).map(|n| format!("s3:Thing{n:08}")).collect();
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        c.on_workers("Allow", &actions);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| actions(c, 540));
        let found = aws::messages(&RULE, |c| {
            for n in 0..9 {
                let arn = format!("arn:aws:iam::111122223333:policy/p{n}");
                c.role(WORKER_ROLE).attached_policies.get_or_insert_default().push(arn.clone());
                let document = Some(r#"{"Statement": []}"#.to_owned());
                c.account().managed_policies.push(ManagedPolicy { arn, version_id: None, document });
            }
        });
        assert!(found[0].ends_with("managed policies; 10 may be attached by default"), "{found:?}");
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| actions(c, 100));
    }
}
