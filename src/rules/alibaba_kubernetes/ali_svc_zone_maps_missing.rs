use crate::alibaba::LoadBalancerKind;
use crate::model::cloud_provider_alibaba::is_switched_off;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{annotation, has_annotation, requested};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-zone-maps-missing",
    title: "a Service requests a network load balancer without zones",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service with `loadBalancerClass: alibabacloud.com/nlb` names neither a load balancer (annotation `…-loadbalancer-id`) nor zones (`…-loadbalancer-zone-maps`), or an item of `zone-maps` is not of the form ZONE:VSWITCH. Controllers before 2.5.1, which ignore the class, and those without `nlb` in `--controllers` are skipped.",
    impact: "the controller creates no load balancer (`ParameterMissing, zone mappings are required`), and the Service stays pending",
    fix: "Add the annotation with two zones: `cn-hangzhou-h:vsw-…,cn-hangzhou-i:vsw-…`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/loadbalancer.go#parseZoneMappings",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/428",
    ],
    example: "Service shop/web requests a network load balancer, but has no annotation `zone-maps`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    if is_switched_off(context.evidence, LoadBalancerKind::Nlb) {
        return CheckResult::not_applicable("the controller keeps no network load balancers");
    }
    let version = context.alibaba_controller_version();
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services.iter().filter(|service| requested(service, version) == Some(LoadBalancerKind::Nlb)) {
        checked += 1;
        let is_malformed = |item: &&str| item.split(':').filter(|part| !part.is_empty()).count() < 2;
        let malformed = annotation(service, "zone-maps").and_then(|zones| zones.split(',').find(is_malformed));
        let (defect, fix) = match malformed {
            Some(item) => (
                format!("but `{}` in its `zone-maps` is not ZONE:VSWITCH", text::printable(item)),
                "write `zone-maps` as ZONE:VSWITCH,ZONE:VSWITCH",
            ),
            None if ["zone-maps", "id"].iter().any(|name| has_annotation(service, name)) => continue,
            None => (
                "but has no annotation `zone-maps`".to_owned(),
                "add `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps`",
            ),
        };
        let name = service.full_name();
        let message = format!("Service {} requests a network load balancer, {defect}", text::printable(&name));
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        found.push(Violation::new(Severity::Error, resource, message, Fix::none(fix)).at(&service.place));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no Service requests a network load balancer of Alibaba Cloud");
    }
    CheckResult::counted(checked, found)
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
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-spec: slb.s1.small
spec:
  type: LoadBalancer
  loadBalancerClass: alibabacloud.com/nlb
";
    const SPEC: &str = "spec: slb.s1.small";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace(SPEC, "zone-maps: cn-hangzhou-h"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, SPEC, "zone-maps: cn-hangzhou-h:vsw-bp1,cn-hangzhou-i:vsw-bp2");
        lint::silent(&RULE, DEFECT, SPEC, "id: nlb-bp1");
        lint::silent(&RULE, DEFECT, SPEC, "zone-maps: ${ZONE_MAPS}");
    }
}
