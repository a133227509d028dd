use std::collections::BTreeMap;

use crate::controller::companion::identify;
use crate::kubernetes::{Workload, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::label;

pub(super) const RULE: Rule = Rule {
    id: "sa-token-pod-without",
    title: "a running Pod has no token, although its ServiceAccount names a role",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A Pod of a live cluster uses a ServiceAccount that names a role in `eks.amazonaws.com/role-arn`, and has no `AWS_WEB_IDENTITY_TOKEN_FILE` in its environment, nor other credentials, and a container with the image of a known controller, although the webhook runs (on EKS, or by its configuration). The webhook changes a Pod only while it is created.",
    impact: "the containers call AWS with the role of their node, or with none: AccessDenied",
    fix: "Restart the Pods: `kubectl rollout restart`.",
    sources: &[
        "aws/amazon-eks-pod-identity-webhook README.md",
        "Amazon EKS User Guide, Configure Pods to use a Kubernetes service account",
    ],
    example: "Pod kube-system/aws-load-balancer-controller-5d8-x2 has no token, although ServiceAccount kube-system/aws-load-balancer-controller names a role: it was created before, or the webhook did not change it",
    ..Rule::evidence(AWS, check)
};

/// Variables of the credentials that a webhook adds to a Pod.
const ADDED: [&str; 2] = ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let is_eks = evidence.nodes.iter().flatten().any(KubernetesNode::is_eks);
    if !is_eks && !evidence.has_token_webhook() {
        return CheckResult::not_applicable("no webhook that adds tokens to Pods was given");
    }
    let mut checked = 0;
    // The Pods of a workload are alike.
    let mut found: BTreeMap<String, Vec<&Workload>> = BTreeMap::new();
    let identities = evidence.web_identities();
    for identity in identities.iter().filter(|identity| identity.workload.is_none()) {
        let pods = evidence.workloads.iter().filter(|pod| {
            pod.kind == WorkloadKind::Pod
                && (!pod.uid.is_empty() || pod.is_owned)
                && !pod.is_static
                && pod.containers.iter().any(|one| identify(&one.image.value).is_some())
                && pod.namespace == identity.namespace
                && pod.service_account == identity.service_account
        });
        for pod in pods {
            checked += 1;
            let has = |name: &&str| pod.environment.iter().any(|held| held == name);
            if ADDED.iter().any(has) || !pod.credentials.is_empty() || pod.has_hidden_credentials {
                continue;
            }
            found.entry(label(identity)).or_default().push(pod);
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Pod whose ServiceAccount names a role was given");
    }
    let violations = found.iter().filter_map(|(account, pods)| {
        let (first, others) = pods.split_first()?;
        let name = first.full_name();
        let more = match others.len() {
            0 => String::new(),
            number => format!(" (and {})", text::count(number, "other Pod")),
        };
        let message = format!(
            "{}{more} has no token, although {account} names a role: it was created before, or the webhook did not change it",
            text::printable(&name)
        );
        let fix = Fix::none("restart the Pods: `kubectl rollout restart`");
        let violation = Violation::new(Severity::Warning, ResourceRef::bare(ResourceKind::Workload, &name), message, fix);
        Some(violation.at(&first.place))
    });
    CheckResult::counted(checked, violations)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: v1
kind: Node
metadata: {name: a}
spec: {providerID: aws:///us-east-1a/i-0a}
status: {nodeInfo: {kubeletVersion: v1.33.1-eks-1234567}}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: shop
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/app
---
apiVersion: v1
kind: Pod
metadata:
  name: app-1
  namespace: shop
  uid: a-b
spec:
  serviceAccountName: app
  containers:
  - {name: app, image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4, env: []}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        let added = "env: [{name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /token}]";
        lint::silent(&RULE, DEFECT, "env: []", added);
        // EKS Pod Identity counts more.
        lint::silent(&RULE, DEFECT, "env: []", "env: [{name: AWS_CONTAINER_CREDENTIALS_FULL_URI, value: http://a}]");
        lint::silent(&RULE, DEFECT, "env: []", "env: [{name: AWS_ACCESS_KEY_ID, value: a}]");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("serviceAccountName: app", "serviceAccountName: other"));
        lint::does_not_apply(&RULE, &DEFECT.replace("uid: a-b", "labels: {}"));
        let owned = DEFECT.replace("uid: a-b", "ownerReferences: [{kind: ReplicaSet, name: app}]");
        lint::fires(&RULE, &owned);
        // Nothing is known of what others run.
        let image = "public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4";
        lint::does_not_apply(&RULE, &DEFECT.replace(image, "shop"));
    }
}
