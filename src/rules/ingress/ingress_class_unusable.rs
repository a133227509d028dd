use crate::kubernetes::{Document, DocumentKind};
use crate::rules::AWS;
use crate::rules::kubernetes_context::NODES_NOT_GIVEN;
use crate::rules::prelude::*;

use super::{CONTROLLER, LISTS, PREFIX, full_name, is_deleted};

pub(super) const RULE: Rule = Rule {
    id: "ingress-class-unusable",
    title: "an Ingress names a class that the AWS Load Balancer Controller cannot use",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An Ingress with annotations of the AWS Load Balancer Controller names an IngressClass that does not exist, one whose `controller` is a misspelling of `ingress.k8s.aws/alb`, or one of the controller whose `parameters` name another kind than IngressClassParams of `elbv2.k8s.aws`, or an IngressClassParams that does not exist. A kind is checked only if objects of it and Nodes were given: manifests without Nodes may define the class in another file.",
    impact: "no load balancer is created for the Ingress (`invalid ingress class`)",
    fix: "Create the IngressClass or the IngressClassParams, or correct the name.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/ingress/class_loader.go#Load"],
    example: "Ingress shop/web names the IngressClass `alb-public`, which does not exist",
    lists: LISTS,
    ..Rule::evidence(AWS, check)
};

/// Similarity from which the controller of a class counts as a misspelling.
const ALIKE: f64 = 0.85;

/// Controller of Alibaba Cloud, whose annotations have the same prefix.
/// Source: Container Service for Kubernetes documentation, "ALB Ingress quick start".
const OF_ALIBABA: &str = "ingress.k8s.alibabacloud/alb";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    if evidence.nodes.is_none() {
        return CheckResult::not_applicable(NODES_NOT_GIVEN);
    }
    let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
    let is_given = |kind| evidence.document_lists.contains(&kind);
    let mut checked = 0;
    let mut found = Vec::new();
    for object in objects(DocumentKind::Ingress) {
        // The legacy annotation precedes the class.
        let annotated = object.at(&["metadata", "annotations", "kubernetes.io/ingress.class"]).is_some();
        if annotated || is_deleted(object) {
            continue;
        }
        let mut annotations = object.members(&["metadata", "annotations"]);
        let is_for_it = annotations.any(|(key, _)| key.value.starts_with(PREFIX));
        let Some(name) = object.text(&["spec", "ingressClassName"]).filter(|_| is_for_it) else { continue };
        if !is_given(DocumentKind::IngressClass) {
            continue;
        }
        checked += 1;
        let class = objects(DocumentKind::IngressClass).find(|one| one.text(&["metadata", "name"]) == Some(name));
        let fault = match class {
            None => Some("which does not exist".to_owned()),
            Some(class) if class.text(&["spec", "controller"]) != Some(CONTROLLER) => {
                let named = class.text(&["spec", "controller"]).unwrap_or_default();
                // Another controller may read these annotations too.
                let is_misspelt = named != OF_ALIBABA && text::most_alike(named, [CONTROLLER], ALIKE).is_some();
                is_misspelt.then(|| format!("whose controller is `{}`, not `{CONTROLLER}`", text::printable(named)))
            }
            Some(class) => class.at(&["spec", "parameters"]).and_then(|parameters| {
                let text = |key: &str| parameters.text(&[key]).unwrap_or_default();
                let is_kind = text("apiGroup") == "elbv2.k8s.aws" && text("kind") == "IngressClassParams";
                let mut all = objects(DocumentKind::IngressClassParams);
                let exists = all.any(|one| one.text(&["metadata", "name"]) == Some(text("name")));
                if !is_kind {
                    Some("whose parameters are not an IngressClassParams of elbv2.k8s.aws".to_owned())
                } else if is_given(DocumentKind::IngressClassParams) && !exists {
                    Some(format!("whose IngressClassParams `{}` does not exist", text::printable(text("name"))))
                } else {
                    None
                }
            }),
        };
        let Some(fault) = fault else { continue };
        let ingress = full_name(object);
        let message = format!(
            "Ingress {} names the IngressClass `{}`, {fault}",
            text::printable(&ingress),
            text::printable(name)
        );
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, format!("Ingress/{ingress}"));
        let fix = Fix::none("create the IngressClass or the IngressClassParams, or correct the name");
        let place =
            object.at(&["spec", "ingressClassName"]).map_or_else(|| object.head(), crate::kubernetes::Object::place);
        found.push(Violation::new(Severity::Error, resource, message, fix).at(&place));
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no Ingress of the AWS Load Balancer Controller with a class, or no IngressClasses were given",
        );
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const WORLD: &str = "
apiVersion: v1
kind: Node
metadata:
  name: a
spec:
  providerID: aws:///us-east-1a/i-0a
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: alb
spec:
  controller: ingress.k8s.aws/alb
  parameters:
    apiGroup: elbv2.k8s.aws
    kind: IngressClassParams
    name: public
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata:
  name: public
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/scheme: internal
spec:
  ingressClassName: alb
";

    #[test]
    fn fires() {
        for (from, to) in [
            ("ingressClassName: alb", "ingressClassName: alb-public"),
            ("    name: public", "    name: private"),
            ("apiGroup: elbv2.k8s.aws", "apiGroup: elbv2.aws"),
        ] {
            assert!(WORLD.contains(from), "{from}");
            lint::fires(&RULE, &WORLD.replace(from, to));
        }
    }

    #[test]
    fn a_misspelt_controller_serves_nothing() {
        let alibaba = "controller: ingress.k8s.alibabacloud/alb";
        lint::silent(&RULE, WORLD, "controller: ingress.k8s.aws/alb", alibaba);
        lint::fires(&RULE, &WORLD.replace("controller: ingress.k8s.aws/alb", "controller: ingress.k8s.aws/albb"));
        lint::silent(&RULE, WORLD, "controller: ingress.k8s.aws/alb", "controller: k8s.io/ingress-nginx");
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, WORLD, "scheme: internal", "scheme: internet-facing");
        lint::silent(&RULE, WORLD, "controller: ingress.k8s.aws/alb", "controller: k8s.io/ingress-nginx");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &WORLD.replace("alb.ingress.kubernetes.io/scheme", "example.com/x"));
        let (_, manifests) = WORLD.split_once("---\n").unwrap();
        lint::does_not_apply(&RULE, &manifests.replace("ingressClassName: alb", "ingressClassName: alb-public"));
    }
}
