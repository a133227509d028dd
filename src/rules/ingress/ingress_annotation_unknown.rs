use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::ingress::{FORMER, names, since};

use super::{NO_INGRESS, PREFIX, annotations, known_ingresses, reference};

pub(super) const RULE: Rule = Rule {
    id: "ingress-annotation-unknown",
    title: "the AWS Load Balancer Controller does not read an annotation of an Ingress",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a name that resembles no known one"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An Ingress of the AWS Load Balancer Controller has an annotation with the prefix `alb.ingress.kubernetes.io/` that no release from 2.0.0 on reads: a misspelt one, or one that only version 1 read.",
    impact: "it has no effect, and the controller reports no error",
    fix: "Correct the name.",
    sources: &[
        "kubernetes-sigs/aws-load-balancer-controller pkg/annotations/constants.go",
        "kubernetes-sigs/aws-load-balancer-controller v1.1.9 internal/ingress/annotations",
    ],
    example: "Ingress shop/web has `alb.ingress.kubernetes.io/certificate-arns`, which the AWS Load Balancer Controller does not read",
    ..Rule::evidence(AWS, check)
};

/// Minimum similarity to a known name, from 0 to 1, for a typo.
const ALIKE: f64 = 0.9;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let ingresses = known_ingresses(context);
    if ingresses.is_empty() {
        return CheckResult::not_applicable(NO_INGRESS);
    }
    let found = ingresses.iter().flat_map(|one| annotations(*one).map(move |(name, place)| (one, name, place)));
    let found = found.filter(|(_, name, _)| since(name).is_none()).map(|(object, name, place)| {
        let former = FORMER.iter().find(|(former, _)| *former == name.as_str()).map(|(_, today)| *today);
        let nearest = former.or_else(|| text::most_alike(&name, names(), ALIKE));
        // An annotation in no table may come from a later version.
        let severity = if nearest.is_some() { Severity::Warning } else { Severity::Info };
        let of = super::full_name(*object);
        let message = format!(
            "Ingress {} has `{PREFIX}{}`, which the AWS Load Balancer Controller does not read",
            text::printable(&of),
            text::printable(&name)
        );
        let fix = nearest.map_or("remove it".to_owned(), |nearest| format!("write `{PREFIX}{nearest}`"));
        Violation::new(severity, reference(&of), message, Fix::none(fix)).with_respect_to(name.as_str()).at(&place)
    });
    CheckResult::counted(ingresses.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::finding::Severity;
    use crate::testing::lint;

    const INGRESS: &str = "
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
  annotations:
    alb.ingress.kubernetes.io/certificate-arns: arn:aws:acm:eu-west-1:111122223333:certificate/a
    alb.ingress.kubernetes.io/actions.web: '{}'
    example.com/whatever: a
spec: {ingressClassName: alb}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, INGRESS);
        for name in ["attributes", "security-group-inbound-cidrs"] {
            lint::fires(&RULE, &INGRESS.replace("certificate-arns", name));
        }
    }

    /// A name that resembles none may be that of a later release.
    #[test]
    fn another_name_is_information() {
        let (found, _) = lint::outcome(&RULE, &INGRESS.replace("certificate-arns", "zonal-shift"));
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Info]);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, INGRESS, "certificate-arns", "certificate-arn");
    }

    /// The controller of Alibaba Cloud has annotations with the same prefix.
    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &INGRESS.replace("ingress.k8s.aws/alb", "ingress.k8s.alibabacloud/alb"));
        lint::does_not_apply(&RULE, &INGRESS.replace("ingressClassName: alb", "ingressClassName: other"));
    }
}
