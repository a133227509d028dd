use crate::kubernetes::DocumentKind;
use crate::nodes::KubernetesNode;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{label, reference};

pub(super) const RULE: Rule = Rule {
    id: "sa-token-not-mounted",
    title: "nothing mounts the token for the role of a ServiceAccount",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ServiceAccount],
    condition: "Outside EKS, a ServiceAccount that a workload uses names a role in `eks.amazonaws.com/role-arn`, and no webhook `pod-identity-webhook` is registered, although webhooks of the live cluster were given. Workloads that set `AWS_ROLE_ARN` themselves are skipped.",
    impact: "the annotation has no effect: the pods use the role of their node, or have no credentials",
    fix: "Install amazon-eks-pod-identity-webhook, or mount the token and set `AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE`.",
    sources: &["aws/amazon-eks-pod-identity-webhook README.md"],
    example: "ServiceAccount kube-system/aws-load-balancer-controller names a role, but no webhook mounts its token",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let is_live = evidence.workloads.iter().any(|workload| !workload.uid.is_empty());
    let is_eks = evidence.nodes.iter().flatten().any(KubernetesNode::is_eks);
    if !is_live || is_eks || !evidence.document_lists.contains(&DocumentKind::Webhook) {
        return CheckResult::not_applicable("the webhooks of a cluster outside EKS were not given");
    }
    let mut checked = 0;
    let mut found = Vec::new();
    for identity in evidence.web_identities().iter().filter(|identity| identity.workload.is_none()) {
        let mut users = evidence.workloads.iter().filter(|workload| {
            workload.namespace == identity.namespace && workload.service_account == identity.service_account
        });
        // Another webhook may have added the token to its Pods.
        if users.clone().any(|workload| workload.credentials.contains(&"AWS_WEB_IDENTITY_TOKEN_FILE"))
            || users.next().is_none()
        {
            continue;
        }
        checked += 1;
        if evidence.has_token_webhook() {
            continue;
        }
        let message = format!("{} names a role, but no webhook mounts its token", label(identity));
        let fix = Fix::none(
            "install amazon-eks-pod-identity-webhook, or mount the token and set `AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE`",
        );
        found.push(Violation::new(Severity::Warning, reference(identity), message, fix).at(&identity.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no workload uses a ServiceAccount with a role");
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
  name: app
  namespace: shop
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/app
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  namespace: shop
  uid: a-b
spec:
  template:
    spec:
      serviceAccountName: app
      containers:
      - name: app
        image: app
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: other
webhooks:
- name: other.example.com
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "other.example.com", "iam-for-pods.amazonaws.com");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("uid: a-b", "labels: {}"));
        let mounted = "image: app\n        env:\n        - name: AWS_ROLE_ARN\n          value: arn:aws:iam::123456789012:role/app\n        - name: AWS_WEB_IDENTITY_TOKEN_FILE\n          value: /token";
        lint::does_not_apply(&RULE, &DEFECT.replace("image: app", mounted));
    }
}
