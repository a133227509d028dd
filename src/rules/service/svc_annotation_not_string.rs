use crate::rules::ANY_CLOUD;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::prelude::*;

use super::on_service;

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-not-string",
    title: "an unquoted annotation is a boolean or a number",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The value of a Service's annotation is unquoted, and YAML reads it as a boolean or a number: `true`, `yes`, `on`, `443`. Annotations are strings.",
    impact: "the API server refuses the Service: `cannot unmarshal … into Go struct field ObjectMeta.metadata.annotations of type string`",
    fix: "Put the value in quotes.",
    sources: &[
        "kubernetes/apimachinery pkg/apis/meta/v1/types.go#ObjectMeta",
        "kubernetes-sigs/yaml goyaml.v2/resolve.go",
        "https://github.com/kubernetes/kubernetes/issues/68227",
    ],
    example: "Service shop/web has `service.beta.kubernetes.io/aws-load-balancer-internal: true`, which is a boolean, not a string",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let mut found = Vec::new();
    for service in services {
        for (key, kind) in &service.not_strings {
            let (name, given) = (service.full_name(), service.annotations.get(key).map_or("", String::as_str));
            let (name, shown, given) = (text::printable(&name), text::printable(key), text::printable(given));
            let message = format!("Service {name} has `{shown}: {given}`, which is {kind}, not a string");
            let place = service.annotation_places.get(key).map_or(&service.place, |(_, value)| value);
            let fix = Fix::none(format!("put the value in quotes: `\"{given}\"`"));
            found.push(on_service(service, Severity::Error, message, fix).with_respect_to(key.clone()).at(place));
        }
    }
    CheckResult::counted(services.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-internal: true
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "internal: true", "internal: \"true\"");
    }
}
