//! Kubernetes Services compared with the load balancers of Alibaba Cloud; all of these rules need `--kubernetes`.

use super::Rule;
use crate::alibaba::LoadBalancerKind;
use crate::kubernetes::Service;

mod ali_load_balancer_duplicate;
mod ali_load_balancer_leftover;
mod ali_load_balancer_not_reusable;
mod ali_load_balancer_tags_near_quota;
mod ali_load_balancer_unusable;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_service.rs"));

/// Prefixes of the annotations: the current one, and the one before it, which the controller still reads.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#AnnotationRequest`.
const PREFIXES: [&str; 2] =
    ["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-", "service.beta.kubernetes.io/alicloud-loadbalancer-"];

/// Value of an annotation, by its name after the prefix; `None` if it is empty, as the controller reads it.
pub(super) fn annotation<'s>(service: &'s Service, name: &str) -> Option<&'s str> {
    let mut values = PREFIXES.iter().filter_map(|prefix| service.annotations.get(&format!("{prefix}{name}")));
    values.find(|value| !value.is_empty()).map(String::as_str)
}

/// Kind of the load balancer that the controller keeps for a Service. `None` if it leaves the Service alone, or if an
/// annotation decides that only a feature gate makes it read.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#NeedCLB`, `#NeedNLB`.
pub(super) fn requested(service: &Service) -> Option<LoadBalancerKind> {
    const CLASS: &str = "service.beta.kubernetes.io/class";
    let is_gated = ["type", "tunnel-type"].iter().any(|name| annotation(service, name).is_some());
    match service.load_balancer_class.as_deref() {
        _ if service.service_type != "LoadBalancer" || is_gated => None,
        Some("alibabacloud.com/nlb") => Some(LoadBalancerKind::Nlb),
        None if service.annotations.get(CLASS).is_none_or(String::is_empty) => Some(LoadBalancerKind::Clb),
        Some(_) | None => None,
    }
}
