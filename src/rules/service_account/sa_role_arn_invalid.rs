use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NO_IDENTITY, label, reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-role-arn-invalid",
    title: "a ServiceAccount names a role by something that is not the ARN of a role",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ServiceAccount],
    condition: "`eks.amazonaws.com/role-arn` of a ServiceAccount is not `arn:PARTITION:iam::ACCOUNT:role/NAME`. A name alone is judged if the webhook is known to run without `--compose-role-arn`, as on EKS. Placeholders are skipped.",
    impact: "the pods get no credentials: STS refuses the call (`Request ARN is invalid`)",
    fix: "Write the ARN of the role, and restart the pods.",
    sources: &[
        "aws/amazon-eks-pod-identity-webhook pkg/cache/cache.go#addSA",
        "AWS STS API Reference, AssumeRoleWithWebIdentity",
    ],
    example: "ServiceAccount kube-system/aws-load-balancer-controller names the role `lbc`, which is not the ARN of a role",
    ..Rule::evidence(AWS, check)
};

/// True for the ARN of a role.
fn is_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    matches!(parts.as_slice(), ["arn", partition, "iam", "", account, resource]
        if partition.starts_with("aws")
            && account.len() == 12
            && account.bytes().all(|byte| byte.is_ascii_digit())
            && resource.strip_prefix("role/").is_some_and(|name| !name.is_empty()))
}

/// True for a text that something may replace before it is applied: it has characters that no ARN has, or no small letters,
/// or an account that is a word.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_lowercase();
    let account = text.split(':').nth(4).unwrap_or_default();
    let is_of_arn = |one: char| one.is_ascii_alphanumeric() || ":/+=,.-_".contains(one);
    !text.chars().all(is_of_arn)
        || !text.contains(|one: char| one.is_ascii_lowercase())
        // Policies of AWS belong to this account.
        || !account.bytes().all(|byte| byte.is_ascii_digit()) && account != "aws"
        || ["__", "xxx", "placeholder", "replace", "changeme", "your-", "your_", "example"]
            .iter()
            .any(|one| lower.contains(one))
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let composes = context.evidence.webhook_composes_arns();
    let mut checked = 0;
    let mut found = Vec::new();
    let identities = context.evidence.web_identities().into_iter().filter(|one| one.workload.is_none());
    for identity in identities.filter(|one| !is_placeholder(one.role_arn)) {
        checked += 1;
        let is_name = !identity.role_arn.contains(':');
        // Of a webhook that was not given, it is not known if it makes an ARN of a name.
        if is_arn(identity.role_arn) || is_name && composes != Some(false) {
            continue;
        }
        let message = format!(
            "{} names the role `{}`, which is not the ARN of a role",
            label(&identity),
            text::printable(identity.role_arn)
        );
        let fix = Fix::none("write `arn:PARTITION:iam::ACCOUNT:role/NAME`, and restart the pods");
        let violation = Violation::new(Severity::Error, reference(&identity), message, fix);
        found.push(violation.with_respect_to(identity.role_arn).at(&identity.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable(NO_IDENTITY);
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: lbc
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: lbc
";

    const WEBHOOK: &str = "
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: pod-identity-webhook
  namespace: default
spec:
  template:
    spec:
      containers:
      - image: amazon/amazon-eks-pod-identity-webhook:v0.5.0
        command: [/webhook, --in-cluster, --compose-role-arn]
";

    #[test]
    fn fires() {
        lint::fires(&RULE, &format!("{DEFECT}{WEBHOOK}").replace(", --compose-role-arn", ""));
        lint::fires(&RULE, &DEFECT.replace("role-arn: lbc", "role-arn: 'arn:aws:iam::1111:role/lbc'"));
        lint::fires(&RULE, &DEFECT.replace("role-arn: lbc", "role-arn: 'arn:aws:iam::111122223333:user/lbc'"));
    }

    #[test]
    fn the_arn_of_a_policy_is_none_of_a_role() {
        for arn in
            ["arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy", "arn:aws:iam::123456789012:policy/x"]
        {
            lint::fires(&RULE, &DEFECT.replace("role-arn: lbc", &format!("role-arn: {arn}")));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "role-arn: lbc", "role-arn: 'arn:aws-cn:iam::111122223333:role/path/lbc'");
        // A webhook may make an ARN of the name.
        let with = format!("{DEFECT}{WEBHOOK}");
        lint::silent(&RULE, &with.replace(", --compose-role-arn", ""), "--in-cluster", "--compose-role-arn");
        lint::silent(
            &RULE,
            &DEFECT.replace("role-arn: lbc", "role-arn: 'arn:aws:iam::1111:role/lbc'"),
            "'arn:aws:iam::1111:role/lbc'",
            "lbc",
        );
    }

    #[test]
    fn does_not_apply_to_placeholders() {
        for text in
            ["'arn:aws:iam::<ACCOUNT>:role/lbc'", "$(ROLE)", "PLACEHOLDER", "'arn:aws:iam::ACCOUNT_ID:role/lbc'"]
        {
            lint::does_not_apply(&RULE, &DEFECT.replace("role-arn: lbc", &format!("role-arn: {text}")));
        }
    }
}
