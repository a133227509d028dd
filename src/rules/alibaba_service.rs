//! Kubernetes Services compared with the load balancers of Alibaba Cloud; all of these rules need `--kubernetes`.

use super::{KubernetesContext, Rule};
use crate::alibaba::LoadBalancerKind;
use crate::controller::ControllerVersion;
use crate::kubernetes::Service;
use crate::model::cloud_provider_alibaba::is_switched_off;
pub(super) use crate::model::cloud_provider_alibaba::{CLASS, NLB_CLASS, OLDEST as FIRST_WITH_NLB};
use crate::model::cloud_provider_alibaba::{NEWEST, OLDEST, wanted};
use crate::service_annotations::alibaba;
pub(super) use crate::service_annotations::alibaba::PREFIXES;
use crate::tags;

mod ali_load_balancer_allowlist_ignored;
mod ali_load_balancer_duplicate;
mod ali_load_balancer_leftover;
mod ali_load_balancer_not_reusable;
mod ali_load_balancer_port_dropped;
mod ali_load_balancer_port_shared;
mod ali_load_balancer_tags_near_quota;
mod ali_load_balancer_unusable;
mod ali_svc_security_group_unusable;
mod ali_svc_source_ranges_ignored;
mod ali_svc_sync_fails;
mod ali_svc_vswitch_unusable;
mod ali_svc_zone_unavailable;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_service.rs"));

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
    Some(alibaba::get(service, name)).filter(|value| !value.is_empty())
}

/// Kind of the load balancer that the controller keeps for a Service. `None` if it leaves the Service alone, releases
/// its load balancer because the Service is being deleted, or reads an annotation only with a feature gate or in some
/// versions.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#NeedCLB`, `#NeedNLB`,
/// `#NeedDeleteLoadBalancer`; up to 2.4.4 `pkg/controller/service/helper.go#needLoadBalancer`.
pub(super) fn requested(service: &Service, version: Option<ControllerVersion>) -> Option<LoadBalancerKind> {
    if !service.is_load_balancer() || service.deleted_at.is_some() {
        return None;
    }
    let has = |name: &str| service.annotations.get(&format!("{}{name}", PREFIXES[0]));
    // A feature gate decides about the first, the version about the second.
    if has("type").is_some_and(|kind| !kind.is_empty()) || has("tunnel-type").is_some() {
        return None;
    }
    match version {
        Some(version) if version < OLDEST && service.load_balancer_class.is_some() => Some(LoadBalancerKind::Clb),
        _ => wanted(service, version.unwrap_or(NEWEST), false),
    }
}

/// Kind of the load balancer that a controller which runs keeps for a Service.
pub(super) fn kept(context: &KubernetesContext<'_>, service: &Service) -> Option<LoadBalancerKind> {
    requested(service, context.alibaba_controller_version()).filter(|kind| !is_switched_off(context.evidence, *kind))
}
