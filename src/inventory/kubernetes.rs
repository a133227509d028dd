//! The lists that are read from a live cluster, and their recording. The requests, the permissions for them, and the
//! checks that a missing one prevents are all derived from here.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Provider;
use crate::resource::ResourceKind;

/// A list of a live cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    /// Names and start arguments of nodes.
    Nodes,
    /// Services that request load balancers.
    Services,
    /// Cloud controllers and drivers.
    DaemonSets,
    /// Cloud controllers and drivers.
    Deployments,
    /// Cloud controllers and drivers.
    StatefulSets,
    /// Static pods of control planes.
    Pods,
    StorageClasses,
    PersistentVolumes,
    /// Drivers of volumes.
    CsiDrivers,
    /// Drivers on each node.
    CsiNodes,
    /// Cluster-wide permissions of controllers.
    ClusterRoles,
    /// Bindings of those permissions.
    ClusterRoleBindings,
    /// Permissions of controllers in kube-system.
    Roles,
    /// Bindings of those permissions.
    RoleBindings,
    /// Leaders.
    Leases,
    /// Webhooks that change Services.
    MutatingWebhookConfigurations,
    /// Cluster configurations: two maps, by name.
    ConfigMaps,
    /// Roles that pods assume by web identity.
    ServiceAccounts,
    /// Reasons for which Pods of controllers do not start: warnings alone.
    Events,
    /// Application load balancers.
    Ingresses,
    /// Controllers of Ingresses.
    IngressClasses,
    /// Ingress settings for the AWS Load Balancer Controller.
    IngressClassParams,
    /// Targets of load balancers, of the AWS Load Balancer Controller.
    TargetGroupBindings,
    /// Node templates of Karpenter.
    Ec2NodeClasses,
    /// Node pools of Karpenter.
    NodePools,
    /// Load balancer settings for the ALB Ingress controller of Alibaba Cloud.
    AlbConfigs,
    /// Clusters of Cluster API Provider AWS.
    AwsClusters,
    /// Machines of Cluster API Provider AWS.
    AwsMachines,
    /// Templates of its machines.
    AwsMachineTemplates,
    /// Machine pools of Cluster API Provider AWS.
    AwsMachinePools,
    /// EKS clusters of Cluster API Provider AWS.
    AwsManagedControlPlanes,
}

/// A list in API terms.
#[derive(Debug, Clone, Copy)]
struct Words {
    /// API group; empty for the core.
    group: &'static str,
    version: &'static str,
    /// The resource in paths and permissions.
    resource: &'static str,
    /// The kind of its items.
    kind: &'static str,
    /// The namespace, if one is enough.
    namespace: Option<&'static str>,
}

/// Group of the infrastructure of Cluster API.
const CLUSTER_API: &str = "infrastructure.cluster.x-k8s.io";

/// Group of the AWS Load Balancer Controller.
const ELBV2: &str = "elbv2.k8s.aws";

/// The namespace of the controllers' own objects.
const SYSTEM: &str = "kube-system";

/// Config maps that are read: that of the cloud controller, and the copy of kubeadm's configuration.
const CONFIG_MAPS: [&str; 2] = ["cloud-config", "kubeadm-config"];

impl List {
    /// All lists, in the order of the requests.
    pub const ALL: [Self; 31] = [
        Self::Nodes,
        Self::Services,
        Self::DaemonSets,
        Self::Deployments,
        Self::StatefulSets,
        Self::Pods,
        Self::StorageClasses,
        Self::PersistentVolumes,
        Self::CsiDrivers,
        Self::CsiNodes,
        Self::ClusterRoles,
        Self::ClusterRoleBindings,
        Self::Roles,
        Self::RoleBindings,
        Self::Leases,
        Self::MutatingWebhookConfigurations,
        Self::ConfigMaps,
        Self::ServiceAccounts,
        Self::Events,
        Self::Ingresses,
        Self::IngressClasses,
        Self::IngressClassParams,
        Self::TargetGroupBindings,
        Self::Ec2NodeClasses,
        Self::NodePools,
        Self::AlbConfigs,
        Self::AwsClusters,
        Self::AwsMachines,
        Self::AwsMachineTemplates,
        Self::AwsMachinePools,
        Self::AwsManagedControlPlanes,
    ];

    const fn words(self) -> Words {
        const RBAC: &str = "rbac.authorization.k8s.io";
        const STORAGE: &str = "storage.k8s.io";
        const NETWORKING: &str = "networking.k8s.io";
        let (group, resource, kind, namespace) = match self {
            Self::Nodes => ("", "nodes", "Node", None),
            Self::Services => ("", "services", "Service", None),
            Self::DaemonSets => ("apps", "daemonsets", "DaemonSet", None),
            Self::Deployments => ("apps", "deployments", "Deployment", None),
            Self::StatefulSets => ("apps", "statefulsets", "StatefulSet", None),
            Self::Pods => ("", "pods", "Pod", Some(SYSTEM)),
            Self::StorageClasses => (STORAGE, "storageclasses", "StorageClass", None),
            Self::PersistentVolumes => ("", "persistentvolumes", "PersistentVolume", None),
            Self::CsiDrivers => (STORAGE, "csidrivers", "CSIDriver", None),
            Self::CsiNodes => (STORAGE, "csinodes", "CSINode", None),
            Self::ClusterRoles => (RBAC, "clusterroles", "ClusterRole", None),
            Self::ClusterRoleBindings => (RBAC, "clusterrolebindings", "ClusterRoleBinding", None),
            Self::Roles => (RBAC, "roles", "Role", Some(SYSTEM)),
            Self::RoleBindings => (RBAC, "rolebindings", "RoleBinding", Some(SYSTEM)),
            Self::Leases => ("coordination.k8s.io", "leases", "Lease", Some(SYSTEM)),
            Self::MutatingWebhookConfigurations => {
                ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", None)
            }
            Self::ConfigMaps => ("", "configmaps", "ConfigMap", Some(SYSTEM)),
            Self::ServiceAccounts => ("", "serviceaccounts", "ServiceAccount", None),
            Self::Events => ("", "events", "Event", Some(SYSTEM)),
            Self::Ingresses => (NETWORKING, "ingresses", "Ingress", None),
            Self::IngressClasses => (NETWORKING, "ingressclasses", "IngressClass", None),
            Self::IngressClassParams => (ELBV2, "ingressclassparams", "IngressClassParams", None),
            Self::TargetGroupBindings => (ELBV2, "targetgroupbindings", "TargetGroupBinding", None),
            Self::Ec2NodeClasses => ("karpenter.k8s.aws", "ec2nodeclasses", "EC2NodeClass", None),
            Self::NodePools => ("karpenter.sh", "nodepools", "NodePool", None),
            Self::AlbConfigs => ("alibabacloud.com", "albconfigs", "AlbConfig", None),
            Self::AwsClusters => (CLUSTER_API, "awsclusters", "AWSCluster", None),
            Self::AwsMachines => (CLUSTER_API, "awsmachines", "AWSMachine", None),
            Self::AwsMachineTemplates => (CLUSTER_API, "awsmachinetemplates", "AWSMachineTemplate", None),
            Self::AwsMachinePools => (CLUSTER_API, "awsmachinepools", "AWSMachinePool", None),
            Self::AwsManagedControlPlanes => {
                ("controlplane.cluster.x-k8s.io", "awsmanagedcontrolplanes", "AWSManagedControlPlane", None)
            }
        };
        let version = match self {
            _ if self.is_of_cluster_api() => "v1beta2",
            Self::IngressClassParams | Self::TargetGroupBindings => "v1beta1",
            _ => "v1",
        };
        Words { group, version, resource, kind, namespace }
    }

    /// API group; empty for the core.
    #[must_use]
    pub fn group(self) -> &'static str {
        self.words().group
    }

    /// The resource in paths and permissions.
    #[must_use]
    pub fn resource(self) -> &'static str {
        self.words().resource
    }

    /// The namespace, if one is enough.
    #[must_use]
    pub fn namespace(self) -> Option<&'static str> {
        self.words().namespace
    }

    /// `apiVersion` and `kind` of its items.
    #[must_use]
    pub fn kind(self) -> (String, &'static str) {
        let Words { group, version, kind, .. } = self.words();
        (if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }, kind)
    }

    /// True if only an installed controller defines it: a cluster without that controller does not have the list.
    #[must_use]
    pub fn is_custom(self) -> bool {
        let is_of_controller = matches!(
            self,
            Self::IngressClassParams
                | Self::TargetGroupBindings
                | Self::Ec2NodeClasses
                | Self::NodePools
                | Self::AlbConfigs
        );
        is_of_controller || self.is_of_cluster_api()
    }

    /// True for the lists of Cluster API Provider AWS, which are requested only where its controller runs.
    #[must_use]
    pub const fn is_of_cluster_api(self) -> bool {
        matches!(
            self,
            Self::AwsClusters
                | Self::AwsMachines
                | Self::AwsMachineTemplates
                | Self::AwsMachinePools
                | Self::AwsManagedControlPlanes
        )
    }

    /// The cloud whose rules alone use the list; `None` if those of all clouds do.
    pub(crate) fn provider(self) -> Option<Provider> {
        match self {
            Self::IngressClassParams | Self::TargetGroupBindings | Self::Ec2NodeClasses | Self::NodePools => {
                Some(Provider::Aws)
            }
            Self::AlbConfigs => Some(Provider::Alibaba),
            _ if self.is_of_cluster_api() => Some(Provider::Aws),
            _ => None,
        }
    }

    /// Names of objects that are requested individually; empty if the list is read.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        if self == Self::ConfigMaps { &CONFIG_MAPS } else { &[] }
    }

    /// Selector of the items that are read; `None` for all. Source: kubernetes/kubernetes
    /// `pkg/registry/core/event/strategy.go#ToSelectableFields`.
    #[must_use]
    pub fn field_selector(self) -> Option<&'static str> {
        (self == Self::Events).then_some("type=Warning")
    }

    /// The required verb.
    #[must_use]
    pub fn verb(self) -> &'static str {
        if self.names().is_empty() { "list" } else { "get" }
    }

    #[must_use]
    pub fn path(self) -> String {
        let Words { group, version, resource, namespace, .. } = self.words();
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
            None => format!("{root}/{resource}"),
        }
    }

    /// Resource kinds of which every rule uses the list: without it these rules report nothing. Of the lists of other
    /// controllers, each rule names its own.
    #[must_use]
    pub fn affected_kinds(self) -> &'static [ResourceKind] {
        use ResourceKind::{
            Cluster, ClusterConfig, Instance, Node, Role, Service, ServiceAccount, StorageClass, Volume, Workload,
        };
        match self {
            Self::Nodes => &[Node, Instance, Cluster, ClusterConfig, Workload, Service, StorageClass],
            Self::Services | Self::MutatingWebhookConfigurations => &[Service],
            Self::DaemonSets | Self::Deployments | Self::StatefulSets => {
                &[Workload, Node, Cluster, ClusterConfig, Service, StorageClass]
            }
            Self::PersistentVolumes => &[StorageClass, Cluster, Volume],
            Self::StorageClasses | Self::CsiDrivers | Self::CsiNodes => &[StorageClass, Cluster],
            Self::Pods | Self::ClusterRoles | Self::ClusterRoleBindings | Self::Roles | Self::RoleBindings => {
                &[Workload, Cluster]
            }
            Self::ServiceAccounts => &[ServiceAccount, Role],
            Self::ConfigMaps => &[ClusterConfig],
            Self::Leases
            | Self::Events
            | Self::Ingresses
            | Self::IngressClasses
            | Self::IngressClassParams
            | Self::TargetGroupBindings
            | Self::Ec2NodeClasses
            | Self::NodePools
            | Self::AlbConfigs
            | Self::AwsClusters
            | Self::AwsMachines
            | Self::AwsMachineTemplates
            | Self::AwsMachinePools
            | Self::AwsManagedControlPlanes => &[],
        }
    }

    /// Purpose of reading it.
    #[must_use]
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Nodes => {
                "names, providerIDs, taints and versions of nodes, and their start arguments from RKE2 and K3s"
            }
            Self::Services => "Services that request load balancers, and their settings",
            Self::DaemonSets | Self::Deployments | Self::StatefulSets => "cloud controllers and drivers",
            Self::Pods => "static pods of control planes",
            Self::StorageClasses | Self::PersistentVolumes => "EBS volumes",
            Self::CsiDrivers | Self::CsiNodes => "volume drivers",
            Self::ClusterRoles | Self::ClusterRoleBindings | Self::Roles | Self::RoleBindings => {
                "permissions of cloud controllers"
            }
            Self::Leases => "leaders of cloud controllers",
            Self::MutatingWebhookConfigurations => "other controllers that take new Services",
            Self::ConfigMaps => "the configuration of the cloud controller, and that of kubeadm",
            Self::ServiceAccounts => "roles that controllers assume by web identity",
            Self::Events => "reasons for which Pods of controllers do not start",
            Self::Ingresses | Self::IngressClasses | Self::IngressClassParams | Self::TargetGroupBindings => {
                "load balancers of the AWS Load Balancer Controller"
            }
            Self::Ec2NodeClasses | Self::NodePools => "nodes of Karpenter",
            Self::AlbConfigs => "load balancers of the ALB Ingress controller",
            Self::AwsClusters
            | Self::AwsMachines
            | Self::AwsMachineTemplates
            | Self::AwsMachinePools
            | Self::AwsManagedControlPlanes => "what Cluster API Provider AWS creates, where it runs",
        }
    }

    /// The name of a missing list in reports.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Nodes => "kubernetes:list nodes",
            Self::Services => "kubernetes:list services",
            Self::DaemonSets => "kubernetes:list daemonsets.apps",
            Self::Deployments => "kubernetes:list deployments.apps",
            Self::StatefulSets => "kubernetes:list statefulsets.apps",
            Self::Pods => "kubernetes:list pods",
            Self::StorageClasses => "kubernetes:list storageclasses.storage.k8s.io",
            Self::PersistentVolumes => "kubernetes:list persistentvolumes",
            Self::CsiDrivers => "kubernetes:list csidrivers.storage.k8s.io",
            Self::CsiNodes => "kubernetes:list csinodes.storage.k8s.io",
            Self::ClusterRoles => "kubernetes:list clusterroles.rbac.authorization.k8s.io",
            Self::ClusterRoleBindings => "kubernetes:list clusterrolebindings.rbac.authorization.k8s.io",
            Self::Roles => "kubernetes:list roles.rbac.authorization.k8s.io",
            Self::RoleBindings => "kubernetes:list rolebindings.rbac.authorization.k8s.io",
            Self::Leases => "kubernetes:list leases.coordination.k8s.io",
            Self::MutatingWebhookConfigurations => {
                "kubernetes:list mutatingwebhookconfigurations.admissionregistration.k8s.io"
            }
            Self::ConfigMaps => "kubernetes:get configmaps",
            Self::ServiceAccounts => "kubernetes:list serviceaccounts",
            Self::Events => "kubernetes:list events",
            Self::Ingresses => "kubernetes:list ingresses.networking.k8s.io",
            Self::IngressClasses => "kubernetes:list ingressclasses.networking.k8s.io",
            Self::IngressClassParams => "kubernetes:list ingressclassparams.elbv2.k8s.aws",
            Self::TargetGroupBindings => "kubernetes:list targetgroupbindings.elbv2.k8s.aws",
            Self::Ec2NodeClasses => "kubernetes:list ec2nodeclasses.karpenter.k8s.aws",
            Self::NodePools => "kubernetes:list nodepools.karpenter.sh",
            Self::AlbConfigs => "kubernetes:list albconfigs.alibabacloud.com",
            Self::AwsClusters => "kubernetes:list awsclusters.infrastructure.cluster.x-k8s.io",
            Self::AwsMachines => "kubernetes:list awsmachines.infrastructure.cluster.x-k8s.io",
            Self::AwsMachineTemplates => "kubernetes:list awsmachinetemplates.infrastructure.cluster.x-k8s.io",
            Self::AwsMachinePools => "kubernetes:list awsmachinepools.infrastructure.cluster.x-k8s.io",
            Self::AwsManagedControlPlanes => "kubernetes:list awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io",
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.resource())
    }
}

/// A list that was not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListGap {
    pub list: List,
    /// The API's reason (`Forbidden`, `Unauthorized`, `Expired`, …), or one of tagaudit: `Timeout`, `Unreachable`,
    /// `Protocol`, `Pagination`.
    pub reason: String,
    /// Description of the failure, for display.
    pub message: String,
}

impl ListGap {
    /// True if the credentials may not read the list. Source: kubernetes/apimachinery
    /// `meta/v1/types.go#StatusReasonForbidden`.
    #[must_use]
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.reason.as_str(), "Forbidden")
    }

    /// Reason that a group of gaps shares, and what to do about it.
    #[must_use]
    pub(crate) fn why(group: &[&Self]) -> String {
        match group.first() {
            Some(first) if first.is_refused() => {
                "the credentials may not read this; `tagaudit permissions --kubernetes` prints the roles that a scan needs"
                    .to_owned()
            }
            first => first.map(|gap| gap.message.clone()).unwrap_or_default(),
        }
    }

    /// Groups gaps with the same reason and message, in their order. The API server states each list that it refuses in
    /// another message: those are one group.
    #[must_use]
    pub fn grouped(gaps: &[Self]) -> Vec<Vec<&Self>> {
        let mut groups: Vec<Vec<&Self>> = Vec::new();
        for gap in gaps {
            let is_same =
                |first: &&Self| first.reason == gap.reason && (first.message == gap.message || gap.is_refused());
            match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
                Some(group) => group.push(gap),
                None => groups.push(vec![gap]),
            }
        }
        groups
    }
}

/// The recording of a live cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Time of reading, by the clock of the API server, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
    /// The lists that were read, in the order of [`List::ALL`].
    pub lists: Vec<RecordedList>,
    /// The lists that were not read.
    pub gaps: Vec<ListGap>,
}

/// A list that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedList {
    pub list: List,
    /// Its items, reduced to the fields that rules inspect.
    pub items: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_called_in_reports_as_in_rights() {
        for list in List::ALL {
            let group = list.group();
            let dot = if group.is_empty() { "" } else { "." };
            assert_eq!(list.what(), format!("kubernetes:{} {}{dot}{group}", list.verb(), list.resource()));
        }
    }
}
