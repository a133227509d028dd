use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::{annotation, requested};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-zone-maps-missing",
    title: "a Service requests a network load balancer without zones",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service with `loadBalancerClass: alibabacloud.com/nlb` names neither a load balancer (annotation `…-loadbalancer-id`) nor zones (`…-loadbalancer-zone-maps`), or an item of `zone-maps` is not of the form ZONE:VSWITCH, or the controller is older than 2.5.1, the first version with network load balancers.",
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

/// First version with network load balancers; 2.4.4, the one before it, has none.
const FIRST: ControllerVersion = ControllerVersion::new(2, 5, 1);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services.iter().filter(|service| requested(service) == Some(LoadBalancerKind::Nlb)) {
        checked += 1;
        let zones = annotation(service, "zone-maps");
        let malformed = zones.and_then(|zones| zones.split(',').find(|item| item.split(':').count() < 2));
        let is_too_old = context.alibaba_controller_version().filter(|version| *version < FIRST);
        let (defect, fix) = match (is_too_old, malformed) {
            (Some(version), _) => (
                format!("but the controller is version {version}, and network load balancers came with {FIRST}"),
                "upgrade the controller".to_owned(),
            ),
            (None, Some(item)) => (
                format!("but `{}` in its `zone-maps` is not ZONE:VSWITCH", text::printable(item)),
                "write `zone-maps` as ZONE:VSWITCH,ZONE:VSWITCH".to_owned(),
            ),
            (None, None) if zones.is_none() && annotation(service, "id").is_none() => (
                "but has no annotation `zone-maps`".to_owned(),
                "add `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps`".to_owned(),
            ),
            (None, None) => continue,
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
    }
}
