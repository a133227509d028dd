//! Ingresses and `TargetGroupBinding` objects of the AWS Load Balancer Controller, compared with the account.
//! Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/ingress/class_loader.go`, `pkg/ingress/group_loader.go`,
//! `pkg/ingress/model_build_load_balancer.go`.

use crate::aws::ingresses::{AlbIngress, CONTROLLER, PREFIX, alb_ingresses, full_name, is_deleted};
use crate::inventory::kubernetes::List;

use super::Rule;

mod gateway_not_judged;
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
