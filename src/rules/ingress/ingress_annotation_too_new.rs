use crate::aws::ingresses::only_controller;
use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::ingress::since;

use super::{NO_INGRESS, PREFIX, annotations, known_ingresses, reference};

pub(super) const RULE: Rule = Rule {
    id: "ingress-annotation-too-new",
    title: "an annotation of an Ingress is newer than the AWS Load Balancer Controller",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The running AWS Load Balancer Controller is too old to read an annotation of one of its Ingresses. Its version is that of its image, or of `--controller-version lbc=…`.",
    impact: "the annotation has no effect until the controller is upgraded, and the intended setting is missing",
    fix: "Upgrade the AWS Load Balancer Controller, or remove the annotation.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go, by its tags"],
    example: "Ingress shop/web has `alb.ingress.kubernetes.io/mutual-authentication`, which AWS Load Balancer Controller 2.6.2 does not read: 2.7.0 does",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(version) = only_controller(context.evidence).and_then(|only| only.version) else {
        return CheckResult::not_applicable(
            "the version of the AWS Load Balancer Controller is not known: see --controller-version lbc=…",
        );
    };
    let ingresses = known_ingresses(context);
    if ingresses.is_empty() {
        return CheckResult::not_applicable(NO_INGRESS);
    }
    let found = ingresses.iter().flat_map(|one| annotations(*one).map(move |(name, place)| (one, name, place)));
    let found = found.filter_map(|(object, name, place)| {
        let first = since(&name).filter(|first| version < *first)?;
        let of = super::full_name(*object);
        let message = format!(
            "Ingress {} has `{PREFIX}{}`, which AWS Load Balancer Controller {version} does not read: {first} does",
            text::printable(&of),
            text::printable(&name)
        );
        let fix = Fix::none("upgrade the AWS Load Balancer Controller, or remove the annotation");
        Some(Violation::new(Severity::Warning, reference(&of), message, fix).with_respect_to(name.as_str()).at(&place))
    });
    CheckResult::counted(ingresses.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const INGRESS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/eks/aws-load-balancer-controller:v2.6.2
        args: [--cluster-name=prod]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/scheme: internal
    alb.ingress.kubernetes.io/mutual-authentication: '[]'
";

    #[test]
    fn fires() {
        lint::fires(&RULE, INGRESS);
        lint::fires(&RULE, &INGRESS.replace("mutual-authentication", "transforms.web"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, INGRESS, "v2.6.2", "v2.7.0");
        lint::silent(&RULE, INGRESS, "mutual-authentication", "ssl-redirect");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &INGRESS.replace(":v2.6.2", "@sha256:0123"));
    }
}
