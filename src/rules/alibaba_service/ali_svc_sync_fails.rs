use crate::alibaba::{Region, service_tag_value};
use crate::inventory::Provider;
use crate::kubernetes::Service;
use crate::model::any_account::failures_in_any_account_of_alibaba;
use crate::model::failures::certain_failures_of_alibaba;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::rules::sync_failures::{NOT_MODELLED, SEVERAL_REGIONS, Stopped, reported};

const NO_SERVICE: &str = "no Service requests a load balancer of Alibaba Cloud";

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-sync-fails",
    title: "the cloud controller stops with an error at a Service",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "The cloud controller, as [`tagaudit simulate`](simulate.md) models it, stops with an error at a Service of type `LoadBalancer`. The version is that of the option or of the image; if it is not known, every version from 2.5.1 on must stop. Errors that depend on unread facts are skipped; `lint` reports those that occur in every account.",
    impact: "no load balancer is created, or an existing one does not follow any change",
    fix: "Correct what the error names; `tagaudit simulate` shows the steps before it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/service_controller.go#buildAndApplyModel",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/nlb_controller.go#buildAndApplyModel",
    ],
    example: "the cloud controller of Alibaba Cloud (2.14.0) stops at Service shop/web: `build lb local model error: build nlb attribute error: ParameterMissing, zone mappings are required`",
    reads: &[Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers, Read::DescribeVSwitches],
    restates_model: true,
    on_files: Some(check_files),
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let version = context.on_kubernetes().alibaba_controller_version();
    let failures = certain_failures_of_alibaba(context.view, context.kubernetes, version);
    reported(failures, (SEVERAL_REGIONS, NO_SERVICE), |stopped| {
        let service = named(services, stopped);
        let has_address = service.is_some_and(|one| !one.ingress.is_empty() || has_load_balancer(context, one));
        let resource = ResourceRef::bare(ResourceKind::Service, &stopped.name);
        Some(stopped.violation("Service", resource, has_address, service.map(|one| &one.place)))
    })
}

/// The Service at which the controller stops.
fn named<'s>(services: &'s [Service], stopped: &Stopped<'_>) -> Option<&'s Service> {
    let object = &stopped.failure.decision.object;
    services.iter().find(|one| one.namespace == object.namespace && one.name == object.name)
}

fn check_files(context: &KubernetesContext<'_>) -> CheckResult {
    let version = context.alibaba_controller_version();
    let failures = failures_in_any_account_of_alibaba(context.evidence, context.cluster_id, version);
    reported(failures, (NOT_MODELLED, NO_SERVICE), |stopped| {
        let service = named(context.evidence.services.as_deref()?, stopped)?;
        let is_here = || service.annotations.keys().any(|key| key.contains("/alibaba-cloud-loadbalancer-"));
        (context.is_of(Provider::Alibaba) || is_here()).then(|| {
            let resource = ResourceRef::bare(ResourceKind::Service, service.full_name());
            stopped.violation("Service", resource, !service.ingress.is_empty(), Some(&service.place))
        })
    })
}

/// True if a load balancer carries the tag of a Service.
fn has_load_balancer(context: &Context<'_>, service: &Service) -> bool {
    let tag = service_tag_value(&service.uid);
    let has = |region: &Region| region.load_balancers_of_services(|value| value == tag).next().is_some();
    !service.uid.is_empty() && context.view.regions.iter().any(|view| has(view.region))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.service("web")["metadata"]["annotations"]["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth"] =
                "5M".into();
        });
        // One Node without a providerID is enough.
        alibaba::fires(&RULE, |c| {
            for node in c.objects.iter_mut().filter(|one| one["kind"] == "Node") {
                node["status"]["conditions"] = serde_json::json!([{"type": "Ready", "status": "True"}]);
            }
            c.service("web")["spec"]["ports"] = serde_json::json!([{"port": 80, "nodePort": 30_080}]);
            c.node(alibaba::WORKER)["spec"]["providerID"] = "i-bp1worker1".into();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.service("web")["metadata"]["annotations"]["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth"] =
                "5".into();
        });
    }
}
