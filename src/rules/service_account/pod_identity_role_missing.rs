use std::collections::BTreeSet;

use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "pod-identity-role-missing",
    title: "an association of EKS Pod Identity names a role that does not exist",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ServiceAccount],
    condition: "An association of EKS Pod Identity with a ServiceAccount names a role, or a target role, that its account does not have. Roles of accounts that were not read are skipped. A scan reads the roles of controllers, a recording those of all associations.",
    impact: "the pods get no credentials, and every call of theirs to AWS fails",
    fix: "Create the role, or correct the association, and restart the pods.",
    sources: &[
        "Amazon EKS API Reference, PodIdentityAssociation",
        "Amazon EKS User Guide, \"Assign an IAM role to a Kubernetes service account\"",
    ],
    example: "the association of EKS Pod Identity with kube-system/aws-load-balancer-controller names the role `lbc`, which does not exist",
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let accounts = &context.view.inventory.accounts;
    let mut checked = BTreeSet::new();
    let mut found = Vec::new();
    for one in context.view.pod_identities().into_iter().flatten() {
        let account_name = format!("{}/{}", one.namespace, one.service_account);
        for arn in one.roles() {
            let id = arn.split(':').nth(4).unwrap_or_default();
            let Some(account) = accounts.iter().find(|account| account.account_id == id) else { continue };
            let exists = account.roles.iter().any(|role| role.arn == arn);
            let is_missing = account.missing_roles.iter().any(|missing| missing == arn) || account.has_all_roles;
            if !exists && !is_missing {
                continue;
            }
            checked.insert(account_name.clone());
            if exists {
                continue;
            }
            let name = arn.rsplit('/').next().unwrap_or_default();
            let message = format!(
                "the association of EKS Pod Identity with {} names the role `{}`, which does not exist",
                text::printable(&account_name),
                text::printable(name)
            );
            let fix = Fix::none("create the role, or correct the association, and restart the pods");
            let resource = ResourceRef::bare(ResourceKind::ServiceAccount, &account_name);
            found.push(Violation::new(Severity::Error, resource, message, fix).with_respect_to(arn));
        }
    }
    if checked.is_empty() {
        return CheckResult::not_applicable("no association of EKS Pod Identity was read with its role");
    }
    CheckResult::counted(checked.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::PodIdentity;
    use crate::testing::aws;

    fn associated(c: &mut aws::Cluster, role: &str, target: Option<&str>) {
        let arn = |name: &str| format!("arn:aws:iam::111122223333:role/{name}");
        let one = PodIdentity {
            namespace: "kube-system".to_owned(),
            service_account: "karpenter".to_owned(),
            role_arn: Some(arn(role)),
            target_role_arn: target.map(arn),
            ..PodIdentity::default()
        };
        c.region().pod_identities.insert(aws::ID.to_owned(), vec![one]);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            associated(c, "none", None);
            c.account().missing_roles = vec!["arn:aws:iam::111122223333:role/none".to_owned()];
        });
        aws::fires(&RULE, |c| {
            associated(c, aws::WORKER_ROLE, Some("none"));
            c.account().missing_roles = vec!["arn:aws:iam::111122223333:role/none".to_owned()];
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| associated(c, aws::WORKER_ROLE, None));
        // It was not asked for.
        aws::silent(&RULE, |c| associated(c, aws::WORKER_ROLE, Some("unread")));
        aws::does_not_apply(&RULE, |c| associated(c, "unread", None));
        aws::does_not_apply(&RULE, |c| {
            associated(c, "none", None);
            c.account().missing_roles = vec!["arn:aws:iam::111122223333:role/none".to_owned()];
            let all = std::mem::take(&mut c.region().pod_identities);
            c.region().pod_identities = all.into_values().map(|list| ("other".to_owned(), list)).collect();
        });
    }
}
