use crate::aws::ingresses::CONTROLLER;
use crate::inventory::Provider;
use crate::kubernetes::{Document, DocumentKind, Evidence, Object};
use crate::model::load_balancer_controller::Config;
use crate::model::simulate::ObjectKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::sync_failures::{READS, Stopped, check as check_failures, check_files as check_failures_on_files};

use super::{LISTS, full_name, reference};

pub(super) const RULE: Rule = Rule {
    id: "ingress-sync-fails",
    title: "the AWS Load Balancer Controller stops with an error at an Ingress",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The AWS Load Balancer Controller, as [`tagaudit simulate`](simulate.md) models it, stops with an error at an Ingress, or at a group of Ingresses. The version is that of the option or of the image; if it is not known, every version from 2.5 on must stop. `lint` runs the same check against an account that contains every resource that the objects name, so an error is caused by the object alone. Skipped: errors that depend on facts that were not read, and Ingresses that several controllers share.",
    impact: "no load balancer is created, or an existing one does not follow any change",
    fix: "Correct what the error names; `tagaudit simulate` shows the steps before it.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/ingress/model_builder.go#Build"],
    example: "the AWS Load Balancer Controller (2.13.4) stops at Ingress shop/web: `conflicting scheme: map[internal:{} internet-facing:{}]`",
    reads: READS,
    restates_model: true,
    on_files: Some(check_files),
    lists: LISTS,
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    check_failures(context, ObjectKind::Ingress, super::NO_INGRESS, |stopped| violation(context.kubernetes, stopped))
}

fn check_files(context: &KubernetesContext<'_>) -> CheckResult {
    // The ALB Ingress controller of Alibaba Cloud has the same default class, and the same prefix of its annotations.
    let evidence = context.evidence;
    let mut classes = evidence.documents_by_kind(DocumentKind::IngressClass).map(Document::object);
    let is_in_aws = context.is_of(Provider::Aws)
        || Config::is_in(evidence)
        || classes.any(|class| class.text(&["spec", "controller"]) == Some(CONTROLLER));
    if !is_in_aws {
        return CheckResult::not_applicable(super::NO_INGRESS);
    }
    check_failures_on_files(context, ObjectKind::Ingress, super::NO_INGRESS, |stopped| {
        Some(violation(context.evidence, stopped))
    })
}

fn violation(evidence: &Evidence, stopped: &Stopped<'_>) -> Violation {
    let mut objects = evidence.documents_by_kind(DocumentKind::Ingress).map(Document::object);
    let object = objects.find(|one| full_name(*one) == stopped.name);
    let addresses = object.and_then(|object| object.items(&["status", "loadBalancer", "ingress"]).next());
    let place = object.map(Object::head);
    let members = stopped.failure.decision.members.iter();
    let others = members.map(|one| format!("{}/{}", one.namespace, one.name)).filter(|name| *name != stopped.name);
    stopped
        .violation("Ingress", reference(&stopped.name), addresses.is_some(), place.as_ref())
        .related(others.map(|name| reference(&name)))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, with_load_balancer_controller};
    use crate::testing::lint;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = with_load_balancer_controller!(
                "
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/scheme: public}
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: web, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
"
            );
        });
    }

    const IN_A_FILE: &str = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/listen-ports: '[{\"TCP\": 443}]'
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
";

    #[test]
    fn a_file_shows_errors_of_the_ingress_itself() {
        const CLASS: &str = "---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: other}
spec: {controller: ingress.k8s.aws/alb}
";
        let given = format!("{IN_A_FILE}{CLASS}");
        lint::fires(&RULE, &given);
        lint::silent(&RULE, &given, "TCP", "HTTP");
        // The controller of Alibaba Cloud has the same default class.
        lint::does_not_apply(&RULE, IN_A_FILE);
        lint::does_not_apply(&RULE, &given.replace("k8s.aws", "k8s.alibabacloud"));
        // Another controller may have the class.
        let class = "    kubernetes.io/ingress.class: alb\n";
        let named = IN_A_FILE.replace(class, "").replace("spec:\n", "spec:\n  ingressClassName: alb\n");
        lint::does_not_apply(&RULE, &named);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = with_load_balancer_controller!(
                "
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/scheme: internet-facing}
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: web, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
"
            );
        });
    }
}
