//! Ingresses and `TargetGroupBinding` objects of the AWS Load Balancer Controller, compared with the account.
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/class_loader.go`, `pkg/ingress/group_loader.go`,
//! `pkg/ingress/model_build_load_balancer.go`.

use crate::aws::ingresses::{AlbIngress, CONTROLLER, PREFIX, alb_ingresses, full_name, is_deleted, reference};
use crate::inventory::kubernetes::List;
use crate::kubernetes::{Document, DocumentKind, Object, Place};

use super::Rule;
use super::kubernetes_context::KubernetesContext;

mod gateway_not_judged;
mod ingress_annotation_too_new;
mod ingress_annotation_unknown;
mod ingress_class_unusable;
mod ingress_reference_missing;
mod ingress_sync_fails;
mod ingress_zones_too_few;
mod target_group_binding_service_missing;
mod target_group_binding_unusable;

/// Lists that these rules use.
const LISTS: &[List] = &[List::Ingresses, List::IngressClasses, List::IngressClassParams, List::TargetGroupBindings];

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/ingress.rs"));

const NO_INGRESS: &str = "no Ingress of one AWS Load Balancer Controller was given";

/// Ingresses that certainly are those of the AWS Load Balancer Controller: those that it serves, or in files without it,
/// those of its classes.
fn known_ingresses<'e>(context: &KubernetesContext<'e>) -> Vec<Object<'e>> {
    let evidence = context.evidence;
    let served: Vec<Object<'e>> = alb_ingresses(evidence).iter().map(|ingress| ingress.object).collect();
    if !served.is_empty() {
        return served;
    }
    let objects = |kind| evidence.documents_by_kind(kind).map(Document::object);
    let is_own = |class: &Object<'_>| class.text(&["spec", "controller"]) == Some(CONTROLLER);
    let classes: Vec<&str> = objects(DocumentKind::IngressClass)
        .filter(is_own)
        .filter_map(|class| class.text(&["metadata", "name"]))
        .collect();
    let of_class =
        |object: &Object<'_>| object.text(&["spec", "ingressClassName"]).is_some_and(|name| classes.contains(&name));
    objects(DocumentKind::Ingress).filter(|object| !is_deleted(*object) && of_class(object)).collect()
}

/// Annotations of the controller on an Ingress: names without the prefix, and places.
fn annotations(object: Object<'_>) -> impl Iterator<Item = (String, Place)> {
    let all = object.members(&["metadata", "annotations"]);
    all.filter_map(|(key, value)| Some((key.value.strip_prefix(PREFIX)?.to_owned(), value.place())))
}
