use crate::aws::companions::companions;
use crate::controller::companion::Companion;
use crate::kubernetes::{DocumentKind, WorkloadKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::failing_webhooks;

pub(super) const RULE: Rule = Rule {
    id: "lbc-webhook-left",
    title: "webhooks of an AWS Load Balancer Controller that does not run",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "A MutatingWebhookConfiguration has webhooks of the AWS Load Balancer Controller with `failurePolicy: Fail`, other than the one for Pods of labelled namespaces, and the cluster has no Deployment of it, or one with 0 replicas. The Deployments of the whole cluster must be given.",
    impact: "the API server refuses what the webhooks match, such as new Services and TargetGroupBindings (`failed calling webhook`)",
    fix: "Delete the webhook configurations, or install the controller again.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller helm/aws-load-balancer-controller/templates/webhook.yaml"],
    example: "MutatingWebhookConfiguration aws-load-balancer-webhook belongs to an AWS Load Balancer Controller that does not run",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if !evidence.has_all_workloads(&[WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("the Deployments of the whole cluster were not given");
    }
    // A mirror may have another name for the image.
    let is_like = |text: &str| text.contains("load-balancer-controller") || text.contains("alb-ingress-controller");
    let is_running = companions(evidence).iter().any(|run| run.row.companion == Companion::LoadBalancerController)
        || evidence
            .workloads
            .iter()
            .any(|workload| workload.replicas > 0 && (is_like(&workload.name) || is_like(&workload.service_account)));
    let mut checked = 0;
    let mut found = Vec::new();
    for object in evidence.documents_by_kind(DocumentKind::Webhook).map(crate::kubernetes::Document::object) {
        if failing_webhooks(object).next().is_none() {
            continue;
        }
        checked += 1;
        if is_running {
            continue;
        }
        let name = object.text(&["metadata", "name"]).unwrap_or_default();
        let message = format!(
            "MutatingWebhookConfiguration {} belongs to an AWS Load Balancer Controller that does not run",
            text::printable(name)
        );
        let fix = Fix::none(format!(
            "delete the webhook configurations (`kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations {}`), or install the controller again",
            text::printable(name)
        ));
        let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
        let violation = Violation::new(Severity::Error, resource, message, fix);
        found.push(violation.with_respect_to(name).at(&object.place()));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no webhook of the AWS Load Balancer Controller was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: aws-load-balancer-webhook
webhooks:
- name: mservice.elbv2.k8s.aws
  failurePolicy: Fail
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: coredns
  namespace: kube-system
  uid: a-b
spec:
  template:
    spec:
      containers:
      - image: coredns:v1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "image: coredns:v1",
            "image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4",
        );
    }

    #[test]
    fn does_not_apply() {
        // That webhook matches labelled namespaces alone.
        lint::does_not_apply(&RULE, &DEFECT.replace("mservice", "mpod"));
        lint::does_not_apply(&RULE, &DEFECT.replace("Fail", "Ignore"));
        lint::does_not_apply(&RULE, &DEFECT.replace("uid: a-b", "labels: {}"));
    }
}
