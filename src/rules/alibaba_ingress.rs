//! Ingresses for Application Load Balancer of Alibaba Cloud, their classes and `AlbConfig` objects. The controller is a part of the
//! open cloud controller, or a Deployment of ACK.

use super::Rule;
use crate::kubernetes::{DocumentKind, Evidence, Object};

mod ali_alb_class_config_missing;
mod ali_alb_config_unusable;
mod ali_ingress_unserved;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_ingress.rs"));

/// Controller of the `IngressClass` objects.
/// Source: Container Service for Kubernetes documentation, "ALB Ingress quick start".
const CONTROLLER: &str = "ingress.k8s.alibabacloud/alb";

/// Class of the open controller, whatever its `IngressClass` states.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/ingress/reconcile/store/common.go#IngressClassName`.
const CLASS: &str = "alb";

/// `IngressClass` objects of the controller.
fn classes(evidence: &Evidence) -> impl Iterator<Item = Object<'_>> {
    let all = evidence.documents_by_kind(DocumentKind::IngressClass).map(crate::kubernetes::Document::object);
    all.filter(|class| class.text(&["spec", "controller"]) == Some(CONTROLLER))
}
