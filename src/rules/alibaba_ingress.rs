//! Ingresses for Application Load Balancer of Alibaba Cloud, their classes and `AlbConfig` objects. The controller is a part of the
//! open cloud controller, or a Deployment of ACK.

use super::Rule;
use crate::controller::alibaba::AlibabaController;
use crate::controller::alibaba_companion::image_parts;
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

/// Name of the separate controller: of its image, its Deployment and its account.
/// Source: Container Service for Kubernetes documentation, "Manage the ALB Ingress controller".
const SEPARATE: &str = "alb-ingress-controller";

/// True if the separate controller runs.
fn has_separate_controller(evidence: &Evidence) -> bool {
    evidence.workloads.iter().filter(|workload| workload.replicas > 0).any(|workload| {
        let images = || workload.containers.iter().map(|one| image_parts(&one.image.value).0);
        let is_named = workload.name == SEPARATE || workload.service_account == SEPARATE;
        // `aws-alb-ingress-controller` is another one, which has the same name.
        let is_of_aws = images().any(|image| image.starts_with("aws-"));
        !is_of_aws && (is_named || images().any(|image| image.ends_with(SEPARATE)))
    })
}

/// True if the open cloud controller runs with its controller of Ingresses.
fn has_open_controller(evidence: &Evidence) -> bool {
    evidence.alibaba_running().is_some_and(|running| running.contains(&AlibabaController::Ingress))
}

/// `IngressClass` objects of the controller.
fn classes(evidence: &Evidence) -> impl Iterator<Item = Object<'_>> {
    let all = evidence.documents_by_kind(DocumentKind::IngressClass).map(crate::kubernetes::Document::object);
    all.filter(|class| class.text(&["spec", "controller"]) == Some(CONTROLLER))
}
