//! Arguments of nodes and cloud controllers, derived from the evidence once.

use crate::controller::ControllerVersion;
use crate::inventory::Provider;

use super::arguments::{self, NodeArguments};
use super::controller::{CloudController, from_helm_chart, from_values, from_workload};
use super::document::{Document, DocumentKind};
use super::evidence::Evidence;
use super::source::Object;

/// Annotations through which a `ServiceAccount` assumes a role. Sources: Amazon EKS User Guide, "Assign IAM roles to
/// Kubernetes service accounts"; Alibaba Cloud documentation, "Use RRSA to configure RAM permissions for pods".
const ROLE_ANNOTATIONS: [&str; 2] = ["eks.amazonaws.com/role-arn", "pod-identity.alibabacloud.com/role-name"];
impl Evidence {
    /// Kubernetes version: the highest that a Node runs or a configuration sets. The API server has at least this
    /// version.
    #[must_use]
    pub fn kubernetes_version(&self) -> Option<ControllerVersion> {
        let of_nodes = self.nodes.iter().flatten().filter_map(|node| node.kubelet_version.parse().ok());
        let of_configurations = self.arguments().iter().filter_map(|arguments| arguments.version);
        of_nodes.chain(of_configurations).max().or(self.assumed)
    }

    /// Arguments of nodes, from Nodes that report them and from configurations.
    #[must_use]
    pub fn arguments(&self) -> &[NodeArguments] {
        self.arguments.get_or_init(|| {
            let mut all = NodeArguments::from_nodes(self.nodes.as_deref().unwrap_or_default());
            all.extend(arguments::from_static_pods(&self.workloads, self.nodes.as_deref().unwrap_or_default()));
            all.extend(arguments::declared(self));
            for one in &mut all {
                one.version = one.version.or(self.assumed);
            }
            all
        })
    }

    /// Cloud controllers: workloads, and those that charts create from their values.
    #[must_use]
    pub fn controllers(&self) -> &[CloudController] {
        self.controllers.get_or_init(|| controllers(self))
    }

    pub fn aws_controllers(&self) -> impl Iterator<Item = &CloudController> + Clone {
        self.controllers().iter().filter(|one| one.cloud == Provider::Aws)
    }

    pub fn alibaba_controllers(&self) -> impl Iterator<Item = &CloudController> + Clone {
        self.controllers().iter().filter(|one| one.cloud == Provider::Alibaba)
    }

    /// Evidence for display that the controller of a cloud has credentials other than those of its nodes: its workload
    /// sets some, or its `ServiceAccount` assumes a role.
    #[must_use]
    pub fn own_credentials(&self, cloud: Provider) -> Option<String> {
        let controllers = self.controllers().iter().filter(|one| one.cloud == cloud);
        controllers.into_iter().find_map(|controller| {
            let workload = &controller.workload;
            if let Some(given) = workload.credentials.first() {
                return Some(format!("`{}` sets {given}", workload.full_name()));
            }
            let is_its_own = |account: &Object<'_>| {
                account.text(&["metadata", "name"]) == Some(&workload.service_account)
                    && account.text(&["metadata", "namespace"]).unwrap_or("default") == workload.namespace
            };
            let mut accounts = self.documents_by_kind(DocumentKind::ServiceAccount).map(Document::object);
            let account = accounts.find(is_its_own)?;
            let role =
                ROLE_ANNOTATIONS.into_iter().find(|key| account.at(&["metadata", "annotations", key]).is_some())?;
            Some(format!("its `ServiceAccount {}` has the annotation {role}", workload.service_account))
        })
    }
}

/// Collects the cloud controllers of the evidence.
fn controllers(evidence: &Evidence) -> Vec<CloudController> {
    let mut found: Vec<CloudController> = evidence.workloads.iter().filter_map(from_workload).collect();
    for document in &evidence.documents {
        match document.kind {
            DocumentKind::HelmChart => found.extend(from_helm_chart(document)),
            DocumentKind::ControllerValues => {
                let object = document.object();
                found.push(from_values(document, document.name.clone(), object, None, None));
            }
            _ => {}
        }
    }
    found
}
