//! Kubernetes Services compared with the load balancers of Alibaba Cloud; all of these rules need `--kubernetes`.

use super::Rule;

mod ali_load_balancer_leftover;
mod ali_load_balancer_not_reusable;
mod ali_load_balancer_tags_near_quota;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_service.rs"));
