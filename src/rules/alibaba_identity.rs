//! Ownership of resources in Alibaba Cloud: cluster ids and the tags of installers.

use super::Rule;
use super::alibaba::Context;
use crate::finding::ResourceRef;
use crate::resource::ResourceKind;

mod ali_cloud_config_mismatch;
mod ali_cluster_id_default;
mod ali_cluster_id_unexpected;
mod ali_controller_version_differs;
mod ali_installer_tag;
mod ali_vpc_several_clusters;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_identity.rs"));

fn cluster(context: &Context<'_>) -> ResourceRef {
    let account = context.view.inventory.accounts.first().map(|account| account.account_id.clone());
    ResourceRef { account_id: account, ..ResourceRef::bare(ResourceKind::Cluster, context.cluster_id()) }
}
