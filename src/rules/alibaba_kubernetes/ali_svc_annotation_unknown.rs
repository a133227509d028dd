use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::prelude::*;
use crate::service_annotations::alibaba::{KNOWN, PREFIXES, is_by_version, is_removed, reads};

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-annotation-unknown",
    title: "an annotation that the cloud controller does not read",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a name that resembles no known one"),
    resources: &[ResourceKind::Service],
    condition: "A Service has an annotation `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-…` (or the older `alicloud-loadbalancer-…`) whose name the cloud controller does not know, or which its version does not read: such as `preserve-lb-on-delete` before 2.10.0, `network-type` before 2.12.4, and `slb-network-type` from then on.",
    impact: "the annotation has no effect, and nothing reports that",
    fix: "Correct the name.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go"],
    example: "Service shop/web has `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-adress-type`, which the cloud controller does not read",
    ..Rule::evidence(ALIBABA, check)
};

/// Annotation that keeps a load balancer when its Service is deleted.
const PRESERVED: &str = "preserve-lb-on-delete";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let asked: Vec<_> = services.iter().filter(|service| service.is_load_balancer()).collect();
    let mut found = Vec::new();
    let version = context.alibaba_controller_version();
    for service in &asked {
        for (key, (place, _)) in &service.annotation_places {
            let Some((prefix, name)) = PREFIXES.iter().find_map(|prefix| Some((prefix, key.strip_prefix(prefix)?)))
            else {
                continue;
            };
            let full = service.full_name();
            let (severity, reader, fix) = if is_by_version(name) {
                let Some(version) = version.filter(|version| reads(name, *version) == Some(false)) else { continue };
                let fix = match name {
                    "slb-network-type" => "write `network-type`",
                    "network-type" => "write `slb-network-type`, or upgrade the controller",
                    name if is_removed(name) => "remove it",
                    _ => "upgrade the controller",
                };
                (Severity::Warning, format!("version {version} of the cloud controller"), fix.to_owned())
            } else if KNOWN.contains(&name) {
                continue;
            } else {
                let nearest = text::most_alike(name, KNOWN.iter().copied(), 0.9);
                // An annotation that is in no table may belong to a later version.
                let severity = if nearest.is_some() { Severity::Warning } else { Severity::Info };
                let fix =
                    nearest.map_or_else(|| "remove it".to_owned(), |nearest| format!("write `{prefix}{nearest}`"));
                (severity, "the cloud controller".to_owned(), fix)
            };
            let message = format!(
                "Service {} has `{}`, which {reader} does not read",
                text::printable(&full),
                text::printable(key)
            );
            let resource = ResourceRef::bare(ResourceKind::Service, full.as_str());
            let violation = Violation::new(severity, resource, message, Fix::none(fix));
            let impact = (name == PRESERVED).then(|| "the load balancer is deleted with its Service".to_owned());
            let violation = if impact.is_some() { violation.impact(impact) } else { violation };
            found.push(violation.with_respect_to(key.as_str()).at(place));
        }
    }
    CheckResult::counted(asked.len(), found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-adress-type: intranet
spec:
  type: LoadBalancer
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "adress-type", "address-type");
    }
}
