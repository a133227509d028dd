//! Kubernetes Services compared with the load balancers of Alibaba Cloud; all of these rules need `--kubernetes`.

use super::{KubernetesContext, Rule};
use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::tags;

mod ali_load_balancer_duplicate;
mod ali_load_balancer_leftover;
mod ali_load_balancer_not_reusable;
mod ali_load_balancer_tags_near_quota;
mod ali_load_balancer_unusable;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_service.rs"));

/// Prefixes of the annotations: the current one, and the one before it, which the controller still reads.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#AnnotationRequest`.
pub(super) const PREFIXES: [&str; 2] =
    ["service.beta.kubernetes.io/alibaba-cloud-loadbalancer-", "service.beta.kubernetes.io/alicloud-loadbalancer-"];

/// Value of an annotation, by its name after the prefix; `None` if it is empty, or an unfilled placeholder. The current
/// prefix wins even if its value is empty.
/// Source: kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/service/reconcile/annotation/annotations.go#AnnotationRequest.Get`.
pub(super) fn annotation<'s>(service: &'s Service, name: &str) -> Option<&'s str> {
    set_value(service, name).filter(|value| !tags::is_placeholder(value))
}

/// True if a Service has an annotation, even if its value is a placeholder that something else fills in.
pub(super) fn has_annotation(service: &Service, name: &str) -> bool {
    set_value(service, name).is_some()
}

fn set_value<'s>(service: &'s Service, name: &str) -> Option<&'s str> {
    let mut values = PREFIXES.iter().filter_map(|prefix| service.annotations.get(&format!("{prefix}{name}")));
    values.next().map(String::as_str).filter(|value| !value.is_empty())
}

/// Annotation with which the controller leaves a Service to another one.
pub(super) const CLASS: &str = "service.beta.kubernetes.io/class";

/// Class of network load balancers.
pub(super) const NLB_CLASS: &str = "alibabacloud.com/nlb";

/// First version with network load balancers; 2.4.4, the one before it, ignores `loadBalancerClass`.
pub(super) const FIRST_WITH_NLB: ControllerVersion = ControllerVersion::new(2, 5, 1);

/// Kind of the load balancer that the controller keeps for a Service. `None` if it leaves the Service alone, releases
/// its load balancer because the Service is being deleted, or reads an annotation only with a feature gate or in some
/// versions.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#NeedCLB`, `#NeedNLB`,
/// `#NeedDeleteLoadBalancer`; up to 2.4.4 `pkg/controller/service/helper.go#needLoadBalancer`.
pub(super) fn requested(service: &Service, version: Option<ControllerVersion>) -> Option<LoadBalancerKind> {
    if service.service_type != "LoadBalancer" || service.deleted_at.is_some() {
        return None;
    }
    let key = |name: &str| format!("{}{name}", PREFIXES[0]);
    let is_gated = service.annotations.contains_key(&key("tunnel-type"))
        || service.annotations.get(&key("type")).is_some_and(|kind| !kind.is_empty());
    let is_classed = service.annotations.get(CLASS).is_some_and(|class| !class.is_empty());
    match service.load_balancer_class.as_deref() {
        Some(_) if version.is_some_and(|version| version < FIRST_WITH_NLB) => Some(LoadBalancerKind::Clb),
        Some(NLB_CLASS) => Some(LoadBalancerKind::Nlb),
        None if !is_gated && !is_classed => Some(LoadBalancerKind::Clb),
        Some(_) | None => None,
    }
}

/// Kind of the load balancer that a controller which runs keeps for a Service.
pub(super) fn kept(context: &KubernetesContext<'_>, service: &Service) -> Option<LoadBalancerKind> {
    requested(service, context.alibaba_controller_version()).filter(|kind| !context.alibaba_leaves_alone(*kind))
}
