//! A cluster in AWS as rules see it.

use crate::aws::Account;
use crate::aws::companion_audit::AuditedCompanion;
use crate::aws::companions::ObjectUse;
use crate::aws::roles::{RoleAudit, RoleAudits};
use crate::aws::trusted_companions::TrustedRole;
use crate::aws::view::{ClusterView, RegionView};
use crate::controller::ControllerVersion;
use crate::inventory::{Gap, Provider};
use crate::kubernetes::Evidence;
use crate::model::existing::Existing;
use crate::nodes::KubernetesNode;
use crate::role_audit::RoleAuditOptions;
use crate::tags;

use super::check_result::CheckResult;
use super::kubernetes_context::KubernetesContext;

/// A check, by the unit on which it runs. A unit that could not be read does not stop the check of the others.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A region of an account.
    Region(fn(&Context<'_>, &RegionView<'_>) -> CheckResult),
    /// A role of the nodes or of the controller, compared with its baseline.
    Role(fn(&Context<'_>, &RoleAudit<'_>) -> CheckResult),
    /// The instance profiles and roles of an account.
    Account(fn(&Context<'_>, &Account) -> CheckResult),
    /// The cluster as a whole, over everything that was read.
    Cluster(fn(&Context<'_>) -> CheckResult),
    /// The Nodes of the cluster, if they are known.
    Nodes(fn(&Context<'_>, &[KubernetesNode]) -> CheckResult),
    /// The state in Kubernetes, compared with the cloud.
    Joined(fn(&Context<'_>) -> CheckResult),
}

/// Everything that a check may use. No client, no clock, no environment.
#[derive(Debug)]
pub struct Context<'a> {
    pub view: &'a ClusterView<'a>,
    /// The lists that could not be read, and those that contradict each other.
    pub gaps: &'a [Gap],
    /// The roles, compared with their baselines.
    pub roles: &'a RoleAudits<'a>,
    /// Controllers with separate roles, compared with what they need.
    pub(crate) companions: &'a [AuditedCompanion<'a>],
    /// Roles that the usual ServiceAccounts of controllers may assume, if no workloads were given.
    pub(crate) trusted: &'a [TrustedRole<'a>],
    /// The load balancers of the controllers.
    pub(crate) existing: &'a Existing<'a>,
    /// Options of the comparison of roles.
    pub role_options: &'a RoleAuditOptions,
    pub controller_version: Option<ControllerVersion>,
    /// `--controller-credentials elsewhere`.
    pub credentials_elsewhere: bool,
    /// `--cloud-routes`: the controller programs routes to pod networks.
    pub cloud_routes: bool,
    /// The state of the cluster in Kubernetes.
    pub kubernetes: &'a Evidence,
    /// The objects that controllers serve.
    pub(crate) objects: ObjectUse,
}

impl Context<'_> {
    /// The audited cluster id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        self.view.cluster_id
    }

    /// The context of a check on Kubernetes alone.
    pub(super) fn on_kubernetes(&self) -> KubernetesContext<'_> {
        KubernetesContext {
            cluster_id: self.cluster_id(),
            evidence: self.kubernetes,
            cloud: Some(Provider::Aws),
            controller_version: self.controller_version,
            alibaba_routes: false,
            alibaba: None,
        }
    }

    pub(super) fn cluster_key(&self) -> String {
        tags::cluster_key(self.view.cluster_id)
    }
}
