use crate::aws::companions::companions;
use crate::controller::companion::Companion;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object, covers_all_namespaces};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::failing_webhooks;

pub(super) const RULE: Rule = Rule {
    id: "lbc-webhook-unreachable",
    title: "the API server cannot call the webhooks of the AWS Load Balancer Controller",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "A MutatingWebhookConfiguration has webhooks of the AWS Load Balancer Controller with `failurePolicy: Fail` (the one for Pods of labelled namespaces does not count), and one of these holds: their Service does not exist; it does not have their port; `caBundle` is empty in a live cluster; no Pod of the controller is ready. The Services of all namespaces must be given.",
    impact: "the API server refuses the objects that the webhooks match, such as new Services and TargetGroupBindings (`failed calling webhook`), and Ingresses too if the Service is missing or no Pod is ready, since the validating webhooks name the same Service",
    fix: "Start the controller, or install its chart again: it creates the Service and the certificate of the webhooks.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller helm/aws-load-balancer-controller/templates/webhook.yaml",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2013",
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4605",
    ],
    example: "MutatingWebhookConfiguration aws-load-balancer-webhook names Service kube-system/aws-load-balancer-webhook-service, which does not exist",
    ..Rule::evidence(AWS, check)
};

/// Port of a Service that a webhook names, if it states none. Source: kubernetes/api
/// `admissionregistration/v1/types.go#ServiceReference`.
const DEFAULT_PORT: i64 = 443;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let configurations: Vec<Object<'_>> = evidence
        .documents_by_kind(DocumentKind::Webhook)
        .map(Document::object)
        .filter(|object| failing_webhooks(*object).next().is_some())
        .collect();
    if configurations.is_empty() {
        return CheckResult::not_applicable("no webhook of the AWS Load Balancer Controller was given");
    }
    let found = configurations.iter().filter_map(|configuration| {
        let (defect, fix) = failing_webhooks(*configuration)
            .find_map(|webhook| defect(evidence, *configuration, webhook))
            .or_else(|| not_ready(evidence))?;
        let name = configuration.text(&["metadata", "name"]).unwrap_or_default();
        let message = format!("MutatingWebhookConfiguration {} {defect}", text::printable(name));
        let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
        let violation = Violation::new(Severity::Error, resource, message, Fix::none(fix));
        Some(violation.with_respect_to(name).at(&configuration.place()))
    });
    CheckResult::counted(configurations.len(), found.collect::<Vec<_>>())
}

/// Reason why the API server cannot reach or trust a webhook, to follow the name of its configuration.
fn defect(evidence: &Evidence, configuration: Object<'_>, webhook: Object<'_>) -> Option<(String, &'static str)> {
    // Recordings of earlier versions do not have it.
    let client = webhook.at(&["clientConfig"])?;
    let is_live = configuration.text(&["metadata", "uid"]).is_some_and(|uid| !uid.is_empty());
    let has_bundle = client.text(&["caBundle"]).is_some_and(|bundle| !bundle.is_empty());
    let text = |key: &str| client.text(&["service", key]).filter(|text| !text.is_empty());
    let (namespace, name) = (text("namespace")?, text("name")?);
    let services = evidence.services.as_deref().filter(|services| covers_all_namespaces(services))?;
    let shown = format!("{namespace}/{name}");
    let shown = text::printable(&shown);
    let Some(service) = services.iter().find(|one| one.namespace == namespace && one.name == name) else {
        let fix = "install the chart of the controller again, or delete the webhook configurations";
        return Some((format!("names Service {shown}, which does not exist"), fix));
    };
    let port = client.number(&["service", "port"]).unwrap_or(DEFAULT_PORT);
    if !service.ports.iter().any(|one| one.port == port) {
        let defect = format!("names port {port} of Service {shown}, which does not have it");
        return Some((defect, "correct the port of the Service, or install the chart again"));
    }
    (is_live && !has_bundle).then(|| {
        let defect = "has no `caBundle` for the certificate of the controller".to_owned();
        (defect, "see whether cert-manager runs and injects it, or install the chart again")
    })
}

/// A controller without a ready Pod.
fn not_ready(evidence: &Evidence) -> Option<(String, &'static str)> {
    let all = companions(evidence);
    let mut own = all.iter().filter(|run| run.row.companion == Companion::LoadBalancerController).peekable();
    own.peek()?;
    let states: Option<Vec<(i64, i64, String)>> = own
        .map(|run| {
            let status = run.workload.status.as_ref()?;
            Some((status.ready, status.desired, run.workload.full_name()))
        })
        .collect();
    let states = states?;
    let (_, desired, name) = states.iter().find(|(_, desired, _)| *desired > 0)?;
    let is_down = states.iter().all(|(ready, ..)| *ready == 0);
    let number = text::count(usize::try_from(*desired).unwrap_or_default(), "Pod");
    is_down.then(|| {
        let defect = format!("leads to {}, which has 0 of {number} ready", text::printable(name));
        (defect, "see why its Pods do not start (`kubectl describe pods`)")
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const WORLD: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: aws-load-balancer-webhook
  uid: w-1
webhooks:
- name: mservice.elbv2.k8s.aws
  failurePolicy: Fail
  clientConfig:
    caBundle: LS0t
    service:
      name: aws-load-balancer-webhook-service
      namespace: kube-system
---
apiVersion: v1
kind: Service
metadata:
  name: kubernetes
  namespace: default
  uid: s-0
---
apiVersion: v1
kind: Service
metadata:
  name: aws-load-balancer-webhook-service
  namespace: kube-system
  uid: s-1
spec:
  ports:
  - port: 443
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
  uid: d-1
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
status:
  replicas: 2
  readyReplicas: 1
";

    #[test]
    fn fires() {
        for (from, to) in [
            ("name: aws-load-balancer-webhook-service\n  namespace", "name: other\n  namespace"),
            ("port: 443", "port: 8443"),
            ("caBundle: LS0t", "caBundle: ''"),
            ("  readyReplicas: 1\n", ""),
        ] {
            assert!(WORLD.contains(from), "{from}");
            lint::fires(&RULE, &WORLD.replace(from, to));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, WORLD, "uid: w-1", "uid: w-2");
        // A manifest is filled in later, and a part of the Services says nothing of the others.
        lint::silent(&RULE, &WORLD.replace("caBundle: LS0t", "caBundle: ''"), "  uid: w-1\n", "");
        let part = WORLD.replace("name: kubernetes\n", "name: web\n");
        lint::silent(&RULE, &part, "name: aws-load-balancer-webhook-service\n  namespace", "name: other\n  namespace");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &WORLD.replace("mservice.elbv2.k8s.aws", "mpod.elbv2.k8s.aws"));
        lint::does_not_apply(&RULE, &WORLD.replace("failurePolicy: Fail", "failurePolicy: Ignore"));
    }
}
