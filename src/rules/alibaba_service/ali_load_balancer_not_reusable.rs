use crate::alibaba::{CLUSTER_TAG, LoadBalancer, SERVICE_TAG};
use crate::kubernetes::Service;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{annotation, requested};

pub(super) const RULE: Rule = Rule {
    id: "ali-load-balancer-not-reusable",
    title: "a Service names a load balancer that the controller does not reuse",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service of type LoadBalancer names, with the annotation `…-loadbalancer-id`, a load balancer that carries `ack.aliyun.com` or `kubernetes.do.not.delete`, whatever their values: one that a controller created, or that of the API server.",
    impact: "the controller refuses it (`can not reuse loadbalancer created by kubernetes`), and the Service gets no address",
    fix: "Name a manually created load balancer, or remove the annotation and let the controller create one.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/model_applier.go#isLoadBalancerReusable",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/model_applier.go#isNLBReusable",
    ],
    example: "Service `shop/web` names load balancer `lb-bp1`, which carries `ack.aliyun.com`",
    reads: &[Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers],
    ..Rule::alibaba(alibaba::Check::Services(check))
};

fn check(context: &Context<'_>, services: &[Service]) -> CheckResult {
    let version = context.on_kubernetes().alibaba_controller_version();
    let mut checked = 0;
    let mut found = Vec::new();
    for service in services.iter().filter(|service| requested(service, version).is_some()) {
        let Some(id) = annotation(service, "id") else { continue };
        checked += 1;
        let all = context.view.regions.iter().flat_map(|view| view.region.load_balancers.iter().flatten());
        let Some(load_balancer) = all.into_iter().find(|one| one.id == id) else { continue };
        let Some(key) = refused_for(load_balancer) else { continue };
        let name = service.full_name();
        let message = format!(
            "Service `{}` names load balancer `{}`, which carries `{key}`",
            text::printable(&name),
            load_balancer.id
        );
        let fix = Fix::none("name a manually created one, or remove the annotation");
        let violation = Violation::new(Severity::Error, ResourceRef::bare(ResourceKind::Service, &name), message, fix);
        found.push(violation.related([ResourceRef::bare(ResourceKind::LoadBalancer, &load_balancer.id)]));
    }
    CheckResult::counted(checked, found)
}

/// The tag because of which the controller refuses it.
fn refused_for(load_balancer: &LoadBalancer) -> Option<&'static str> {
    [SERVICE_TAG, CLUSTER_TAG].into_iter().find(|key| tags::value(&load_balancer.tags, key).is_some())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let annotations = &mut c.service("api")["metadata"]["annotations"];
            annotations["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id"] = "lb-bp1api".into();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let annotations = &mut c.service("api")["metadata"]["annotations"];
            annotations["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id"] = "lb-bp1hand".into();
        });
    }
}
