//! ECS instances of the cluster.

use super::Rule;
use super::alibaba::Context;

mod ali_instance_classic_network;
mod ali_instance_role_missing;
mod ali_instance_tag_missing;
mod ali_metadata_disabled;
mod ali_metadata_tokens_required;
mod ali_pool_roles_differ;
mod ali_tags_near_quota;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_instance.rs"));

/// True if the configuration has all that the controller asks the metadata service for.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#NewMetaData`, `#CfgMetaData`.
fn asks_for_nothing(context: &Context<'_>) -> bool {
    let configs = context.kubernetes.alibaba_cloud_configs();
    let mut variables = context.kubernetes.alibaba_controllers().flat_map(|one| &one.workload.environment);
    let has_variable = variables.any(|name| name == "ACCESS_KEY_ID");
    configs.iter().any(|(_, config)| {
        config.vpc.is_some()
            && config.vswitches.is_some()
            && config.region.is_some()
            && (config.has_key() || has_variable)
    })
}
