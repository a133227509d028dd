use crate::aws::roles::{RoleAudit, namespaces_of_controller};
use crate::kubernetes::DocumentKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::ROLE;

pub(super) const RULE: Rule = Rule {
    id: "iam-controller-role-namespace",
    title: "the role of the cloud controller trusts a ServiceAccount outside kube-system",
    severity: RuleSeverity::always(Severity::Warning),
    resources: ROLE,
    condition: "The trust policy of a role that belongs to the cluster (by its tag, its name, or as the only one) admits a ServiceAccount of the cloud controller in another namespace than `kube-system` alone, and neither the ServiceAccounts nor the cloud controller of the cluster were given. `sa-role-trust-mismatch` decides where they were.",
    impact: "a cloud controller in `kube-system`, where charts and manifests install it, cannot assume the role: every call to AWS fails (`sts:AssumeRoleWithWebIdentity`)",
    fix: "If the controller runs in `kube-system`, set `sub` of the trust policy to its ServiceAccount there.",
    sources: &[
        "AWS STS API Reference, AssumeRoleWithWebIdentity",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml",
    ],
    example: "role `prod-ccm` trusts the ServiceAccount of the cloud controller in namespace `default`, not in `kube-system`",
    reads: &[Read::ListRoles],
    ..Rule::role(check)
};

/// Namespace in which charts and manifests install the cloud controller.
const NAMESPACE: &str = "kube-system";

fn check(context: &Context<'_>, audit: &RoleAudit<'_>) -> CheckResult {
    let namespaces = namespaces_of_controller(audit.role.trust_policy.as_deref());
    if !audit.is_controllers || namespaces.is_empty() {
        return CheckResult::not_applicable("no role is the cloud controller's by its trust policy");
    }
    let has_accounts = context.kubernetes.documents_by_kind(DocumentKind::ServiceAccount).next().is_some();
    if has_accounts || context.kubernetes.aws_controllers().next().is_some() {
        return CheckResult::not_applicable("the ServiceAccounts or the cloud controller were given");
    }
    if namespaces.iter().any(|namespace| crate::policy::matches(namespace, NAMESPACE)) {
        return CheckResult::clean();
    }
    let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
    let message = format!(
        "role `{}` trusts the ServiceAccount of the cloud controller in namespace `{}`, not in `{NAMESPACE}`",
        text::printable(&audit.role.name),
        text::printable(&names.join("`, `"))
    );
    let fix = Fix::none(format!("if the controller runs in `{NAMESPACE}`, set `sub` to its ServiceAccount there"));
    vec![Violation::new(Severity::Warning, audit.resource(), message, fix)].into()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::Role;
    use crate::testing::aws;

    /// Adds a role of the cloud controller for a namespace.
    fn add_role(c: &mut aws::Cluster, namespace: &str) {
        let trust = serde_json::json!({"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": "arn:aws:iam::111122223333:oidc-provider/oidc.example.com"},
            "Condition": {"StringEquals": {
                "oidc.example.com:sub": format!("system:serviceaccount:{namespace}:aws-cloud-controller-manager")
            }}
        }]});
        let server = c.role(aws::SERVER_ROLE).clone();
        c.account().roles.push(Role {
            name: "prod-ccm".to_owned(),
            arn: server.arn.replace(aws::SERVER_ROLE, "prod-ccm"),
            trust_policy: Some(trust.to_string()),
            ..server
        });
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| add_role(c, "default"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| add_role(c, "kube-system"));
    }
}
