//! Arguments of nodes and cloud controllers, derived from the evidence once.

use crate::controller::ControllerVersion;
use crate::controller::alibaba::AlibabaController;
use crate::inventory::Provider;

use super::arguments::{self, NodeArguments};
use super::controller::{CloudController, from_helm_chart, from_values, from_workload};
use super::document::{Document, DocumentKind};
use super::evidence::Evidence;
use super::source::Object;
use super::web_identity::ROLE_ANNOTATION;

/// Annotation through which a `ServiceAccount` assumes a role of Alibaba Cloud.
/// Source: Alibaba Cloud documentation, "Use RRSA to configure RAM permissions for pods".
pub(crate) const RRSA_ANNOTATION: &str = "pod-identity.alibabacloud.com/role-name";

/// The environment variables that Alibaba Cloud's cloud controller reads for an access key; it takes both or none.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.
const KEY_VARIABLES: [&str; 2] = ["ACCESS_KEY_ID", "ACCESS_KEY_SECRET"];

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
            all.extend(self.kubelet_units.iter().cloned());
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
    /// sets some, or its `ServiceAccount` assumes a role. Alibaba Cloud's reads two variables, and no token.
    #[must_use]
    pub fn own_credentials(&self, cloud: Provider) -> Option<String> {
        let mut controllers = self.controllers().iter().filter(|one| one.cloud == cloud);
        controllers.find_map(|controller| {
            let workload = &controller.workload;
            match cloud {
                Provider::Aws => match workload.credentials.iter().find(|one| !KEY_VARIABLES.contains(one)) {
                    Some(given) => Some(format!("`{}` sets {given}", workload.full_name())),
                    None => self.annotated(controller, ROLE_ANNOTATION),
                },
                Provider::Alibaba => {
                    let has_both = KEY_VARIABLES.iter().all(|name| controller.credentials.contains(name));
                    has_both.then(|| format!("`{}` sets {}", workload.full_name(), KEY_VARIABLES[0]))
                }
            }
        })
    }

    /// True if Alibaba Cloud's cloud controller may have credentials that are not visible.
    pub(crate) fn has_hidden_alibaba_credentials(&self) -> bool {
        self.alibaba_controllers().any(|controller| controller.has_hidden_credentials)
    }

    /// Credentials for display that Alibaba Cloud's cloud controller was given and does not read.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.
    pub(crate) fn ignored_credentials(&self, controller: &CloudController) -> Option<String> {
        let given = &controller.credentials;
        if self.own_credentials(Provider::Alibaba).is_some() {
            return None;
        }
        if let Some(name) = given.iter().find(|name| !KEY_VARIABLES.contains(name)) {
            return Some(format!("the environment variable {name}"));
        }
        let [id, secret] = KEY_VARIABLES;
        let alone = match (given.contains(&id), given.contains(&secret)) {
            (true, false) => Some((id, secret)),
            (false, true) => Some((secret, id)),
            _ => None,
        };
        // The other one may come from a whole Secret.
        match alone.filter(|_| !controller.workload.has_hidden_credentials) {
            Some((has, lacks)) => Some(format!("the environment variable {has} without {lacks}")),
            None => self.annotated(controller, RRSA_ANNOTATION),
        }
    }

    /// The annotation with which the `ServiceAccount` of a controller assumes a role, for display.
    fn annotated(&self, controller: &CloudController, annotation: &str) -> Option<String> {
        let workload = &controller.workload;
        let is_its_own = |account: &Object<'_>| {
            account.text(&["metadata", "name"]) == Some(&workload.service_account)
                && account.text(&["metadata", "namespace"]).unwrap_or("default") == workload.namespace
        };
        let mut accounts = self.documents_by_kind(DocumentKind::ServiceAccount).map(Document::object);
        accounts.find(is_its_own)?.at(&["metadata", "annotations", annotation])?;
        Some(format!("its `ServiceAccount {}` has the annotation {annotation}", workload.service_account))
    }

    /// The controllers within Alibaba Cloud's cloud controller that run, and `None` if it was not given with its flags.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/controller.go#AddToManager`.
    pub(crate) fn alibaba_running(&self) -> Option<Vec<AlibabaController>> {
        let runs = |one: &&CloudController| one.workload.replicas > 0 && one.knows_flags;
        let given: Vec<&CloudController> = self.alibaba_controllers().filter(runs).collect();
        if given.is_empty() {
            return None;
        }
        let all: Vec<AlibabaController> = given.into_iter().flat_map(runs_within).collect();
        Some(AlibabaController::ALL.iter().copied().filter(|one| all.contains(one)).collect())
    }

    /// True if Alibaba Cloud's cloud controller was given and writes routes: it does unless a flag switches them off.
    pub(crate) fn alibaba_writes_routes(&self) -> bool {
        self.alibaba_running().is_some_and(|running| running.contains(&AlibabaController::Route))
    }
}

/// The controllers that run within a cloud controller of Alibaba Cloud.
fn runs_within(one: &CloudController) -> Vec<AlibabaController> {
    let listed = one.listed("controllers");
    let is_listed = |name: &str| listed.iter().any(|one| one.trim() == name);
    let is_known = |name: &String| AlibabaController::ALL.iter().any(|one| one.name() == name.trim());
    // Version 1 knew `*`, as other cloud controllers do; a list without a known name starts nothing.
    let is_unset = one.flag("controllers").is_none();
    let is_default = is_unset || is_listed("*") || !listed.is_empty() && !listed.iter().any(is_known);
    let is_run = |controller: &AlibabaController| {
        let is_named = if is_default {
            AlibabaController::DEFAULT.contains(controller) && !is_listed(&format!("-{}", controller.name()))
        } else {
            is_listed(controller.name())
        };
        is_named && (*controller != AlibabaController::Route || one.is_on("configure-cloud-routes", true))
    };
    AlibabaController::ALL.iter().copied().filter(is_run).collect()
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
