//! ECS instances of the cluster.

use super::Rule;

mod ali_instance_classic_network;
mod ali_instance_role_missing;
mod ali_instance_tag_missing;
mod ali_metadata_tokens_required;
mod ali_pool_roles_differ;
mod ali_tags_near_quota;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_instance.rs"));
