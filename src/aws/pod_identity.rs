//! Associations of EKS Pod Identity with the ServiceAccounts of a cluster.

use crate::aws::PodIdentity;
use crate::aws::view::ClusterView;
use crate::kubernetes::{Evidence, WebIdentity, Workload};

impl<'a> ClusterView<'a> {
    /// Associations of the cluster; `None` if they were not read. They are in the region of the cluster alone.
    pub(crate) fn pod_identities(&self) -> Option<Vec<&'a PodIdentity>> {
        let of_regions = self.regions.iter().filter_map(|region| region.region.pod_identities.get(self.cluster_id));
        let lists: Vec<&'a Vec<PodIdentity>> = of_regions.collect();
        (!lists.is_empty()).then(|| lists.into_iter().flatten().collect())
    }

    /// Association of a ServiceAccount. The error is that the associations were not read.
    pub(crate) fn pod_identity_of(&self, (namespace, name): (&str, &str)) -> Result<Option<&'a PodIdentity>, NotRead> {
        let all = self.pod_identities().ok_or(NotRead)?;
        Ok(all.into_iter().find(|one| one.namespace == namespace && one.service_account == name))
    }
}

/// Web identities of ServiceAccounts that no association gives a role: an association precedes the annotation.
/// Source: aws/amazon-eks-pod-identity-webhook `pkg/handler/handler.go#buildPodPatchConfig`.
pub(crate) fn used_identities<'e>(view: &ClusterView<'_>, evidence: &'e Evidence) -> Vec<WebIdentity<'e>> {
    let mut identities = evidence.web_identities();
    identities.retain(|one| {
        let association = view.pod_identity_of((one.namespace, one.service_account));
        one.workload.is_some() || !matches!(association, Ok(Some(_)))
    });
    identities
}

/// Associations that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotRead;

/// Namespace and name of the ServiceAccount of a workload. A Pod without one has the default of its namespace.
pub(crate) fn service_account_of(workload: &Workload) -> (&str, &str) {
    let name = workload.service_account.as_str();
    (&workload.namespace, if name.is_empty() { "default" } else { name })
}
