use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "object-field-type",
    title: "the API server rejects an object because of the type of a field",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A field of a Service, an Ingress or an IngressClass, of those that decide about load balancers, has another type than in the API: a number in quotes, a string where a list belongs, a list of annotations. The first such field of an object is reported.",
    impact: "`kubectl apply` fails with `cannot unmarshal … into Go struct field …`, and the object is not created or changed",
    fix: "Write the value with the type that the API has.",
    sources: &[
        "kubernetes/kubernetes staging/src/k8s.io/api/core/v1/types.go#ServiceSpec",
        "kubernetes/kubernetes staging/src/k8s.io/api/networking/v1/types.go#IngressSpec",
        "kubernetes/kubernetes staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go#Decode",
    ],
    example: "Service shop/web: `spec.ports[0].port` is a string instead of an integer",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let checked = evidence.services.iter().flatten().count()
        + evidence.documents.iter().filter(|document| document.kind.has_field_types()).count();
    if checked == 0 {
        return CheckResult::not_applicable("no Service, no Ingress and no IngressClass was given");
    }
    let found = evidence.rejected.iter().map(|one| {
        let message = format!("{}: {}", text::printable(&one.document), one.wrong);
        on(&one.document, Severity::Error, &one.wrong.place, "type", message, "write it with the type that the API has")
    });
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const SERVICE: &str = "
kind: Service
apiVersion: v1
metadata: {name: web}
spec:
  type: LoadBalancer
  loadBalancerSourceRanges: [10.0.0.0/8]
  ports: [{port: 80}]
";

    const INGRESS: &str = "
kind: Ingress
apiVersion: networking.k8s.io/v1
metadata: {name: web}
spec:
  ingressClassName: alb
  tls: [{hosts: [example.com]}]
  rules:
  - host: example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
";

    const CLASS: &str = "
kind: IngressClass
apiVersion: networking.k8s.io/v1
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
";

    #[test]
    fn fires() {
        for (before, after) in
            [("port: 80", "port: \"80\""), ("[10.0.0.0/8]", "10.0.0.0/8"), ("type: LoadBalancer", "type: 5")]
        {
            assert!(SERVICE.contains(before), "{before}");
            lint::fires(&RULE, &SERVICE.replacen(before, after, 1));
        }
        for (before, after) in [("number: 80", "number: \"80\""), ("ingressClassName: alb", "ingressClassName: [alb]")]
        {
            lint::fires(&RULE, &INGRESS.replacen(before, after, 1));
        }
        lint::fires(&RULE, &CLASS.replacen("ingress.k8s.aws/alb", "5", 1));
    }

    #[test]
    fn silent() {
        let wrong = SERVICE.replacen("port: 80", "port: \"80\"", 1);
        lint::silent(&RULE, &wrong, "port: \"80\"", "port: 80");
        let wrong = INGRESS.replacen("number: 80", "number: \"80\"", 1);
        lint::silent(&RULE, &wrong, "number: \"80\"", "number: 80");
    }
}
