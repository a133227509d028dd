use std::collections::BTreeSet;

use crate::aws::pod_identity::used_identities;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{NO_IDENTITY, label, reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-role-missing",
    title: "a ServiceAccount names a role that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ServiceAccount],
    condition: "A ServiceAccount names a role in `eks.amazonaws.com/role-arn`, or a pod in `AWS_ROLE_ARN`, that its account does not have. Roles of accounts that were not read are skipped, and ServiceAccounts that EKS Pod Identity gives a role.",
    impact: "the pods get no credentials: every call of theirs to AWS fails with AccessDenied (`sts:AssumeRoleWithWebIdentity`)",
    fix: "Create the role, or correct the annotation, and restart the pods.",
    sources: &["Amazon EKS User Guide, \"Assign IAM roles to Kubernetes service accounts\""],
    example: "ServiceAccount kube-system/aws-load-balancer-controller names the role `arn:aws:iam::123456789012:role/lbc`, which does not exist",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let accounts = &context.view.inventory.accounts;
    let mut checked = BTreeSet::new();
    let mut found = Vec::new();
    for identity in used_identities(context.view, context.kubernetes) {
        let account_id = identity.role_arn.split(':').nth(4).unwrap_or_default();
        let Some(account) = accounts.iter().find(|account| account.account_id == account_id) else { continue };
        let exists = account.roles.iter().any(|role| role.arn == identity.role_arn);
        let is_missing = account.missing_roles.iter().any(|arn| arn == identity.role_arn) || account.has_all_roles;
        if !exists && !is_missing {
            continue;
        }
        checked.insert(identity.account_name());
        if exists {
            continue;
        }
        let message = format!(
            "{} names the role `{}`, which does not exist",
            label(&identity),
            text::printable(identity.role_arn)
        );
        let name = identity.role_arn.rsplit('/').next().unwrap_or_default();
        let nearest = text::most_alike(name, account.roles.iter().map(|role| role.name.as_str()), 0.85);
        let fix = match nearest {
            Some(nearest) => {
                format!("did you mean `{}`? correct the annotation, and restart the pods", text::printable(nearest))
            }
            None => "create the role, or correct the annotation, and restart the pods".to_owned(),
        };
        let violation = Violation::new(Severity::Error, reference(&identity), message, Fix::none(fix));
        found.push(violation.with_respect_to(identity.role_arn).at(&identity.place));
    }
    if checked.is_empty() {
        return CheckResult::not_applicable(NO_IDENTITY);
    }
    CheckResult::counted(checked.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    const ACCOUNT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: shop
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/no-such-role
";

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = ACCOUNT;
            c.account().has_all_roles = true;
        });
        aws::fires(&RULE, |c| {
            c.manifests = ACCOUNT;
            c.account().missing_roles = vec!["arn:aws:iam::111122223333:role/no-such-role".to_owned()];
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = ACCOUNT;
            c.role(aws::WORKER_ROLE).arn = "arn:aws:iam::111122223333:role/no-such-role".to_owned();
        });
    }

    /// Roles that were not read may exist.
    #[test]
    fn does_not_apply() {
        aws::does_not_apply(&RULE, |c| c.manifests = ACCOUNT);
    }
}
