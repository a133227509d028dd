use crate::alibaba::LoadBalancerKind;
use crate::kubernetes::Service;
use crate::kubernetes::alibaba_cloud_config::Switch;
use crate::model::cloud_provider_alibaba::{NEWEST, is_switched_off, wanted};
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::prelude::*;
use crate::service_annotations::alibaba as annotations;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-internet-forbidden",
    title: "a Service requests an internet-facing load balancer, which the cloud configuration forbids",
    severity: RuleSeverity::depends(Severity::Error, "error; warning for a Service that has an address"),
    resources: &[ResourceKind::Service],
    condition: "A Service gets a Classic Load Balancer, its `…-loadbalancer-address-type` is absent or `internet`, and `disablePublicSLB` is true in the cloud configuration.",
    impact: "the controller writes the event `create public address slb is not allowed` and does nothing: the Service stays pending, and a load balancer that exists is no longer updated",
    fix: "Set `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type: intranet`, or remove `disablePublicSLB` from the cloud configuration.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/service_controller.go#reconcile",
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/cloud_config.go",
    ],
    example: "Service shop/web requests an internet-facing load balancer, and `disablePublicSLB` of the cloud configuration forbids it",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(services) = &context.evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let configs = context.evidence.alibaba_cloud_configs();
    if !configs.iter().any(|(_, config)| config.public_disabled == Switch::On) {
        return CheckResult::not_applicable("no cloud configuration with `disablePublicSLB` was given");
    }
    if is_switched_off(context.evidence, LoadBalancerKind::Clb) {
        return CheckResult::not_applicable("`--controllers` of the cloud controller has no `service`");
    }
    let version = context.alibaba_controller_version().unwrap_or(NEWEST);
    // With a feature gate, an annotation states the kind.
    let is_classic = |service: &Service| {
        let kind = |has_gate| wanted(service, version, has_gate);
        [false, true].into_iter().all(|has_gate| kind(has_gate) == Some(LoadBalancerKind::Clb))
    };
    let asked: Vec<&Service> = services
        .iter()
        .filter(|service| service.is_load_balancer() && service.deleted_at.is_none() && is_classic(service))
        .collect();
    let found = asked.iter().filter(|service| matches!(annotations::get(service, "address-type"), "" | "internet"));
    let found = found.map(|service| {
        let name = service.full_name();
        let message = format!(
            "Service {} requests an internet-facing load balancer, and `disablePublicSLB` of the cloud configuration forbids it",
            text::printable(&name)
        );
        let severity = if service.ingress.is_empty() { Severity::Error } else { Severity::Warning };
        let fix = Fix::none("request an intranet address, or remove `disablePublicSLB`");
        Violation::new(severity, ResourceRef::bare(ResourceKind::Service, &name), message, fix).at(&service.place)
    });
    CheckResult::counted(asked.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  type: LoadBalancer
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cloud-config
  namespace: kube-system
data:
  cloud-config.conf: '{"Global": {"clusterID": "prod", "disablePublicSLB": true}}'
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        let private = "namespace: shop\n  annotations:\n    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type: intranet";
        lint::silent(&RULE, DEFECT, "namespace: shop", private);
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace(", \"disablePublicSLB\": true", ""));
        let network = "type: LoadBalancer\n  loadBalancerClass: alibabacloud.com/nlb";
        lint::does_not_apply(&RULE, &DEFECT.replace("type: LoadBalancer", network));
    }
}
