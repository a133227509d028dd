//! A cluster as rules on Kubernetes alone see it.

use crate::controller::ControllerVersion;
use crate::inventory::Provider;
use crate::kubernetes::Evidence;
use crate::nodes::KubernetesNode;

/// Reason that a rule on Nodes does not apply.
pub(super) const NODES_NOT_GIVEN: &str = "the Nodes are not known: give them with --kubernetes";

/// Everything that a check on Kubernetes alone may use.
#[derive(Debug, Clone, Copy)]
pub struct KubernetesContext<'a> {
    /// The audited cluster id.
    pub cluster_id: &'a str,
    /// The evidence that was given.
    pub evidence: &'a Evidence,
    /// Cloud of the cluster, if it is known.
    pub cloud: Option<Provider>,
    pub controller_version: Option<ControllerVersion>,
    /// True if the cloud controller of Alibaba Cloud writes routes, as its flags or the operator state.
    pub alibaba_routes: bool,
    /// The cluster in an account of Alibaba Cloud, if one was read.
    pub alibaba: Option<&'a crate::alibaba::ClusterView<'a>>,
}

impl<'a> KubernetesContext<'a> {
    /// The Nodes, if they belong to AWS.
    pub(super) fn aws_nodes(&self) -> Result<&'a [KubernetesNode], &'static str> {
        self.nodes_for(Provider::Aws)
    }

    /// The Nodes, if they belong to Alibaba Cloud.
    pub(super) fn alibaba_nodes(&self) -> Result<&'a [KubernetesNode], &'static str> {
        self.nodes_for(Provider::Alibaba)
    }

    fn nodes_for(&self, cloud: Provider) -> Result<&'a [KubernetesNode], &'static str> {
        let nodes = self.evidence.nodes.as_deref().ok_or(NODES_NOT_GIVEN)?;
        if self.is_of(cloud) {
            return Ok(nodes);
        }
        Err("the Nodes are of another cloud, or their cloud is unknown")
    }

    /// True if the cluster belongs to the given cloud: the audited one, or else one that a providerID or a cloud
    /// controller belongs to.
    pub(super) fn is_of(&self, cloud: Provider) -> bool {
        // Each controller writes its own form of providerID.
        let names_it = |node: &KubernetesNode| match cloud {
            Provider::Aws => node.provider_id.starts_with("aws://"),
            Provider::Alibaba => crate::alibaba::provider_id::looks_like_one(
                node.provider_id.strip_prefix("alicloud://").unwrap_or(&node.provider_id),
            )
            .is_some(),
        };
        let is_told = || {
            let mut nodes = self.evidence.nodes.iter().flatten();
            self.evidence.controllers().iter().any(|one| one.cloud == cloud) || nodes.any(names_it)
        };
        self.cloud.map_or_else(is_told, |audited| audited == cloud)
    }

    /// The version of the cloud controller of Alibaba Cloud: the one of its image, or else the given one.
    pub(super) fn alibaba_controller_version(&self) -> Option<ControllerVersion> {
        let controllers = self.evidence.alibaba_controllers();
        controllers.filter_map(|one| one.version).min().or(self.controller_version)
    }

    /// The version of the AWS cloud controller: the given one, or else the one of its image.
    pub(super) fn aws_controller_version(&self) -> Option<ControllerVersion> {
        let controllers = self.evidence.aws_controllers();
        self.controller_version.or_else(|| controllers.filter_map(|one| one.version).max())
    }
}
