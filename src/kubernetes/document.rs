//! Documents from which clusters are built, recognised by their content.

use std::sync::Arc;

use crate::policy::json::{Node, Value};

use super::source::{Object, Source};

/// A document that rules check as it is written.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text that contains it.
    pub source: Arc<Source>,
    /// The parsed document.
    pub node: Node,
    pub kind: DocumentKind,
    /// Name for display: `KIND NAMESPACE/NAME`, or the file.
    pub name: String,
    /// True if the document is the value of a `ConfigMap` entry; `name` then includes that `ConfigMap`.
    pub is_embedded: bool,
    /// `apiVersion` and `kind`, which the items of a typed list do not repeat; empty if there are none.
    pub api: (String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// `provisioning.cattle.io/v1 Cluster` of Rancher.
    RancherCluster,
    /// `Amazonec2Config` of Rancher, or its older `NodeTemplate`: settings of the machines of a pool.
    RancherMachine,
    /// `cluster.yml` of RKE.
    RkeCluster,
    /// `config.yaml` of RKE2 or K3s, or one of its drop-ins.
    NodeConfig,
    /// `helm.cattle.io/v1 HelmChart`.
    HelmChart,
    /// `helm.cattle.io/v1 HelmChartConfig`.
    HelmChartConfig,
    /// Values of the chart of the AWS cloud controller.
    ControllerValues,
    /// A configuration of kubeadm.
    Kubeadm,
    /// `cluster.x-k8s.io` objects that wrap configurations of kubeadm.
    KubeadmWrapper,
    /// `cluster.x-k8s.io` objects that configure RKE2.
    Rke2Wrapper,
    /// `Cluster` and `InstanceGroup` of kOps.
    Kops,
    /// `KubeletConfiguration`.
    KubeletConfiguration,
    /// `CredentialProviderConfig` of the kubelet.
    CredentialProviderConfig,
    /// `StorageClass`.
    StorageClass,
    /// `VolumeAttributesClass`.
    VolumeAttributesClass,
    /// A `ConfigMap` that a rule checks, such as `cloud-config` of Alibaba Cloud's controller.
    ConfigMap,
    /// `ClusterRole` or `Role`.
    Role,
    /// `ClusterRoleBinding` or `RoleBinding`.
    RoleBinding,
    /// A webhook that modifies Services.
    Webhook,
    /// `Lease` of kube-system, which names the leader.
    Lease,
    /// `CSIDriver`.
    CsiDriver,
    /// `CSINode`, which lists the drivers of a node.
    CsiNode,
    /// `PersistentVolume`.
    PersistentVolume,
    /// `LeaderMigrationConfiguration` of a controller manager.
    LeaderMigration,
    /// `ServiceAccount`.
    ServiceAccount,
    /// `Endpoints`, which lists the Pods of a Service.
    Endpoints,
    /// `EndpointSlice`, which lists Pods of a Service.
    EndpointSlice,
    /// `EC2NodeClass` of Karpenter.
    Ec2NodeClass,
    /// `NodePool` of Karpenter.
    NodePool,
    /// A `Provisioner`, `Machine` or `AWSNodeTemplate` of Karpenter up to v0.32.
    KarpenterAlpha,
    Ingress,
    /// An Ingress of an API version that Kubernetes 1.22 removed: other fields name its backends.
    RemovedIngress,
    IngressClass,
    /// `IngressClassParams` of the AWS Load Balancer Controller.
    IngressClassParams,
    /// `TargetGroupBinding` of the AWS Load Balancer Controller.
    TargetGroupBinding,
    /// `AlbConfig` of the ALB Ingress controller of Alibaba Cloud.
    AlbConfig,
    /// `AWSCluster`, `AWSMachine`, `AWSMachineTemplate`, `AWSMachinePool` or `AWSManagedControlPlane` of Cluster API Provider AWS.
    ClusterApiAws,
    /// `Gateway`, or a route of the Gateway API.
    GatewayApi,
}

/// Distribution, as far as a file identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileDistribution {
    Rke2,
    K3s,
}

impl Document {
    /// The document as an object with places.
    #[must_use]
    pub fn object(&self) -> Object<'_> {
        Object { source: &self.source, node: &self.node }
    }

    /// True if it is an excerpt of a configuration, as documentation prints it: a missing key may be set elsewhere.
    #[must_use]
    pub fn is_part(&self) -> bool {
        let has = |path: &[&str]| self.node.at(path).is_some();
        match self.kind {
            DocumentKind::RancherCluster => self.api.1.is_empty() && !has(&["metadata"]),
            DocumentKind::RkeCluster => {
                let nodes = ["nodes", "kubernetes_version"].map(|key| has(&[key]));
                let wrapped = has(&["spec"]) || has(&["rancher_kubernetes_engine_config", "kubernetes_version"]);
                !nodes.contains(&true) && !wrapped
            }
            _ => false,
        }
    }

    /// Distribution of a configuration file, identified by keys that only one distribution has, by the components that
    /// it disables, by the port of its server, or by its path.
    #[must_use]
    pub fn distribution(&self) -> Option<FileDistribution> {
        let has = |keys: &[&str]| {
            let members = self.node.members().unwrap_or_default();
            members.iter().any(|member| keys.contains(&member.key.trim_end_matches('+')))
        };
        let object = self.object();
        let mut disabled = ["disable", "disable+"].into_iter().flat_map(|key| {
            let one = object.text(&[key]).into_iter();
            one.chain(object.items(&[key]).filter_map(|item| item.node.as_str()))
        });
        let of_component = disabled.find_map(|name| match name {
            name if name.starts_with("rke2-") => Some(FileDistribution::Rke2),
            name if COMPONENTS_OF_K3S.contains(&name) => Some(FileDistribution::K3s),
            _ => None,
        });
        let of_port = || {
            let server = object.text(&["server"])?.trim_end_matches('/');
            match server.rsplit_once(':')?.1 {
                "9345" => Some(FileDistribution::Rke2),
                "6443" => Some(FileDistribution::K3s),
                _ => None,
            }
        };
        let path = &self.source.file;
        let by_path = || {
            let of_rke2 = path.contains("rke2").then_some(FileDistribution::Rke2);
            of_rke2.or_else(|| path.contains("k3s").then_some(FileDistribution::K3s))
        };
        if has(&OF_RKE2) {
            return Some(FileDistribution::Rke2);
        }
        has(&OF_K3S).then_some(FileDistribution::K3s).or(of_component).or_else(of_port).or_else(by_path)
    }

    /// True if it is the `CSIDriver` of a driver, or a `CSINode` that lists it.
    #[must_use]
    pub fn has_driver(&self, driver: &str) -> bool {
        match self.kind {
            DocumentKind::CsiDriver => self.object().text(&["metadata", "name"]) == Some(driver),
            DocumentKind::CsiNode => {
                self.object().items(&["spec", "drivers"]).any(|one| one.text(&["name"]) == Some(driver))
            }
            _ => false,
        }
    }

    /// `apiVersion`; empty if missing.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.api.0
    }

    /// `kind`; empty if missing.
    #[must_use]
    pub fn kind_name(&self) -> &str {
        &self.api.1
    }

    /// `kind`, if the document is an object of an API that is read.
    pub(crate) fn known_kind(&self) -> Option<&'static str> {
        KINDS.iter().find(|(_, name, kind)| *kind == self.kind && *name == self.kind_name()).map(|(_, name, _)| *name)
    }
}

/// CSI driver of EBS volumes.
pub(crate) const EBS_DRIVER: &str = "ebs.csi.aws.com";

/// CSI driver of the disks of Alibaba Cloud, whose handles are the ids of disks.
/// Source: kubernetes-sigs/alibaba-cloud-csi-driver `pkg/disk/disk.go`.
pub(crate) const ALIBABA_DISK_DRIVER: &str = "diskplugin.csi.alibabacloud.com";

/// Keys that the configuration files of RKE2 and K3s have, and hardly any other file.
/// Sources: rancher/rke2 `pkg/cli/cmds`, k3s-io/k3s `pkg/cli/cmds`.
const OF_BOTH: [&str; 19] = [
    "agent-token",
    "cloud-provider-config",
    "cloud-provider-name",
    "cluster-init",
    "container-runtime-endpoint",
    "disable-cloud-controller",
    "disable-kube-proxy",
    "disable-scheduler",
    "etcd-arg",
    "etcd-expose-metrics",
    "etcd-s3",
    "kube-apiserver-arg",
    "kube-cloud-controller-manager-arg",
    "kube-controller-manager-arg",
    "kube-proxy-arg",
    "kube-scheduler-arg",
    "kubelet-arg",
    "node-external-ip",
    "write-kubeconfig-mode",
];

/// Keys of both that chart values and other files have as well: they identify a configuration only if all other keys
/// are known too.
const SHARED: [&str; 8] =
    ["cluster-cidr", "cluster-dns", "cluster-domain", "node-label", "node-name", "node-taint", "selinux", "tls-san"];

/// Keys of both that identify nothing by themselves.
const BESIDE: [&str; 17] = [
    "advertise-address",
    "bind-address",
    "data-dir",
    "debug",
    "disable",
    "disable-apiserver",
    "disable-controller-manager",
    "disable-etcd",
    "etcd-snapshot-retention",
    "etcd-snapshot-schedule-cron",
    "node-ip",
    "private-registry",
    "server",
    "service-cidr",
    "system-default-registry",
    "token",
    "token-file",
];

/// Keys that only one of the two has.
const OF_RKE2: [&str; 10] = [
    "audit-policy-file",
    "cloud-provider-config",
    "cloud-provider-name",
    "cni",
    "control-plane-resource-limits",
    "control-plane-resource-requests",
    "enable-servicelb",
    "ingress-controller",
    "node-name-from-cloud-provider-metadata",
    "profile",
];
const OF_K3S: [&str; 10] = [
    // RKE2 drops it (rancher/rke2 `pkg/cli/cmds/server.go`).
    "cluster-init",
    "disable-helm-controller",
    "disable-network-policy",
    "docker",
    "flannel-backend",
    "flannel-iface",
    "secrets-encryption",
    "servicelb-namespace",
    "traefik",
    "rootless",
];

/// Components that `disable` of K3s accepts; those of RKE2 begin with `rke2-`.
/// Source: K3s documentation, "Packaged Components".
const COMPONENTS_OF_K3S: [&str; 5] = ["coredns", "local-storage", "metrics-server", "servicelb", "traefik"];

/// Keys of `cloud_provider` of RKE, correct and misspelt, and services that only Kubernetes has.
const OF_RKE_PROVIDER: [&str; 4] =
    ["awsCloudProvider", "customCloudProvider", "useInstanceMetadataHostname", "use_instance_metadata_hostname"];
const OF_RKE_ROLES: [&str; 3] = ["controlplane", "etcd", "worker"];
const OF_RKE_SERVICES: [&str; 3] = ["kube-api", "kube-controller", "kubeproxy"];

/// Group of the Gateway API.
const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// API kinds that are documents, with the group of their `apiVersion`.
const KINDS: [(&str, &str, DocumentKind); 64] = [
    ("rke-machine-config.cattle.io", "Amazonec2Config", DocumentKind::RancherMachine),
    ("management.cattle.io", "NodeTemplate", DocumentKind::RancherMachine),
    ("provisioning.cattle.io", "Cluster", DocumentKind::RancherCluster),
    ("management.cattle.io", "Cluster", DocumentKind::RkeCluster),
    ("helm.cattle.io", "HelmChart", DocumentKind::HelmChart),
    ("helm.cattle.io", "HelmChartConfig", DocumentKind::HelmChartConfig),
    ("kubeadm.k8s.io", "ClusterConfiguration", DocumentKind::Kubeadm),
    ("kubeadm.k8s.io", "InitConfiguration", DocumentKind::Kubeadm),
    ("kubeadm.k8s.io", "JoinConfiguration", DocumentKind::Kubeadm),
    ("kubeadm.k8s.io", "ClusterStatus", DocumentKind::Kubeadm),
    ("kubeadm.k8s.io", "MasterConfiguration", DocumentKind::Kubeadm),
    ("kubeadm.k8s.io", "NodeConfiguration", DocumentKind::Kubeadm),
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", DocumentKind::KubeadmWrapper),
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate", DocumentKind::KubeadmWrapper),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", DocumentKind::KubeadmWrapper),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfig", DocumentKind::KubeadmWrapper),
    ("infrastructure.cluster.x-k8s.io", "AWSCluster", DocumentKind::ClusterApiAws),
    ("infrastructure.cluster.x-k8s.io", "AWSMachine", DocumentKind::ClusterApiAws),
    ("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate", DocumentKind::ClusterApiAws),
    ("infrastructure.cluster.x-k8s.io", "AWSMachinePool", DocumentKind::ClusterApiAws),
    ("controlplane.cluster.x-k8s.io", "AWSManagedControlPlane", DocumentKind::ClusterApiAws),
    ("kops.k8s.io", "Cluster", DocumentKind::Kops),
    ("kops.k8s.io", "InstanceGroup", DocumentKind::Kops),
    ("controlplane.cluster.x-k8s.io", "RKE2ControlPlane", DocumentKind::Rke2Wrapper),
    ("controlplane.cluster.x-k8s.io", "RKE2ControlPlaneTemplate", DocumentKind::Rke2Wrapper),
    ("bootstrap.cluster.x-k8s.io", "RKE2Config", DocumentKind::Rke2Wrapper),
    ("bootstrap.cluster.x-k8s.io", "RKE2ConfigTemplate", DocumentKind::Rke2Wrapper),
    ("storage.k8s.io", "StorageClass", DocumentKind::StorageClass),
    ("storage.k8s.io", "VolumeAttributesClass", DocumentKind::VolumeAttributesClass),
    ("", "ConfigMap", DocumentKind::ConfigMap),
    ("rbac.authorization.k8s.io", "ClusterRole", DocumentKind::Role),
    ("rbac.authorization.k8s.io", "Role", DocumentKind::Role),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", DocumentKind::RoleBinding),
    ("rbac.authorization.k8s.io", "RoleBinding", DocumentKind::RoleBinding),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", DocumentKind::Webhook),
    ("coordination.k8s.io", "Lease", DocumentKind::Lease),
    ("storage.k8s.io", "CSIDriver", DocumentKind::CsiDriver),
    ("storage.k8s.io", "CSINode", DocumentKind::CsiNode),
    ("", "PersistentVolume", DocumentKind::PersistentVolume),
    ("", "ServiceAccount", DocumentKind::ServiceAccount),
    ("", "Endpoints", DocumentKind::Endpoints),
    ("discovery.k8s.io", "EndpointSlice", DocumentKind::EndpointSlice),
    ("karpenter.k8s.aws", "EC2NodeClass", DocumentKind::Ec2NodeClass),
    ("karpenter.sh", "NodePool", DocumentKind::NodePool),
    ("karpenter.sh", "Provisioner", DocumentKind::KarpenterAlpha),
    ("karpenter.sh", "Machine", DocumentKind::KarpenterAlpha),
    ("karpenter.k8s.aws", "AWSNodeTemplate", DocumentKind::KarpenterAlpha),
    ("networking.k8s.io", "Ingress", DocumentKind::Ingress),
    ("extensions", "Ingress", DocumentKind::RemovedIngress),
    ("networking.k8s.io", "IngressClass", DocumentKind::IngressClass),
    ("elbv2.k8s.aws", "IngressClassParams", DocumentKind::IngressClassParams),
    ("elbv2.k8s.aws", "TargetGroupBinding", DocumentKind::TargetGroupBinding),
    ("alibabacloud.com", "AlbConfig", DocumentKind::AlbConfig),
    (GATEWAY_API, "Gateway", DocumentKind::GatewayApi),
    (GATEWAY_API, "GRPCRoute", DocumentKind::GatewayApi),
    (GATEWAY_API, "HTTPRoute", DocumentKind::GatewayApi),
    (GATEWAY_API, "ListenerSet", DocumentKind::GatewayApi),
    (GATEWAY_API, "TCPRoute", DocumentKind::GatewayApi),
    (GATEWAY_API, "TLSRoute", DocumentKind::GatewayApi),
    (GATEWAY_API, "UDPRoute", DocumentKind::GatewayApi),
    ("controllermanager.config.k8s.io", "LeaderMigrationConfiguration", DocumentKind::LeaderMigration),
    ("kubelet.config.k8s.io", "KubeletConfiguration", DocumentKind::KubeletConfiguration),
    ("kubelet.config.k8s.io", "CredentialProviderConfig", DocumentKind::CredentialProviderConfig),
    ("credentialprovider.kubelet.k8s.io", "CredentialProviderConfig", DocumentKind::CredentialProviderConfig),
];

/// Kind of an API object, by its group and kind.
#[must_use]
pub(super) fn kind_from_api(api_version: &str, kind: &str) -> Option<DocumentKind> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let known = KINDS.iter().find(|(one, name, _)| *one == group && *name == kind);
    if api_version == "networking.k8s.io/v1beta1" && kind == "Ingress" {
        return Some(DocumentKind::RemovedIngress);
    }
    // A rule reports a wrong group.
    let any = || (kind == "CredentialProviderConfig").then_some(DocumentKind::CredentialProviderConfig);
    known.map(|(.., found)| *found).or_else(any)
}

/// Kind of a document that is not an API object.
#[must_use]
pub(super) fn kind_from_keys(node: &Node) -> Option<DocumentKind> {
    let members = node.members()?;
    if node.get("apiVersion").is_some() && node.get("kind").is_some() {
        return None;
    }
    let has = |key: &str| node.get(key).is_some();
    let is_rke_role = |role: &Node| role.as_str().is_some_and(|role| OF_RKE_ROLES.contains(&role));
    let is_rke_node = |item: &Node| {
        let roles = item.get("role").and_then(Node::items).unwrap_or_default();
        item.get("address").is_some() && roles.iter().any(is_rke_role)
    };
    if node.at(&["spec", "rkeConfig"]).is_some() {
        return Some(DocumentKind::RancherCluster);
    }
    // Other files have `cloud_provider` and `nodes` too.
    let has_rke_nodes = node.get("nodes").and_then(Node::items).is_some_and(|items| items.iter().any(is_rke_node));
    let version = node.get("kubernetes_version").and_then(Node::as_str).unwrap_or_default();
    let is_plain_provider = node.get("cloud_provider").and_then(Node::members).is_some_and(|members| {
        let is_own = |key: &str| key == "name" || OF_RKE_PROVIDER.contains(&key);
        members.iter().all(|member| is_own(&member.key))
    });
    let has_own_services = node.get("services").and_then(Node::members).is_some_and(|members| {
        members.iter().any(|member| ["etcd", "kubelet", "kube-api", "kube-controller"].contains(&&*member.key))
    });
    let has_rke_keys = version.contains("-rancher")
        || version.starts_with('v')
            && (is_plain_provider || has_own_services || node.at(&["network", "plugin"]).is_some());
    // Excerpts of a configuration, as documentation prints them.
    let within = |key: &str, names: &[&str]| names.iter().any(|name| node.at(&[key, name]).is_some());
    let is_external = node.at(&["cloud_provider", "name"]).and_then(Node::as_str) == Some("external-aws");
    let has_kubelet = node.at(&["services", "kubelet", "extra_args"]).is_some();
    let has_rke_part = is_external
        || has_kubelet
        || within("cloud_provider", &OF_RKE_PROVIDER)
        || within("services", &OF_RKE_SERVICES);
    if has_rke_nodes || has_rke_keys || has_rke_part || has("rancher_kubernetes_engine_config") {
        return Some(DocumentKind::RkeCluster);
    }
    if is_controller_values(node) {
        return Some(DocumentKind::ControllerValues);
    }
    // Providers with fields that only such a configuration has: the file without its first two lines.
    let is_provider = |item: &Node| item.get("matchImages").is_some() && item.get("name").is_some();
    if node.get("providers").and_then(Node::items).is_some_and(|items| items.iter().any(is_provider)) {
        return Some(DocumentKind::CredentialProviderConfig);
    }
    let keys = || members.iter().map(|member| member.key.trim_end_matches('+'));
    let is_own =
        |key: &str| OF_BOTH.contains(&key) || (OF_RKE2.contains(&key) || OF_K3S.contains(&key)) && key.contains('-');
    let is_known = |key: &str| {
        is_own(key) || OF_RKE2.contains(&key) || OF_K3S.contains(&key) || SHARED.contains(&key) || BESIDE.contains(&key)
    };
    // An agent's file, as the quick starts print it: the server, and the token with which the node joins.
    let joins = node.get("server").and_then(Node::as_str).is_some_and(|server| server.starts_with("https://"))
        && ["token", "token-file", "agent-token"].iter().any(|key| has(key));
    let is_config = keys().any(is_own) || (joins || keys().any(|key| SHARED.contains(&key))) && keys().all(is_known);
    is_config.then_some(DocumentKind::NodeConfig)
}

/// True if a map holds values of the chart of the AWS cloud controller, identified by its image or, if none is set, by
/// its arguments. Charts of other controllers have the same keys.
fn is_controller_values(node: &Node) -> bool {
    let args = node.get("args").and_then(Node::items).unwrap_or_default();
    let is_for_aws = args.iter().filter_map(Node::as_str).any(|word| word == "--cloud-provider=aws");
    let has_other_key = ["clusterRoleRules", "hostNetworking", "nodeSelector", "tolerations", "namespace"];
    match node.at(&["image", "repository"]).and_then(Node::as_str) {
        Some(repository) => is_controller_image(repository, is_for_aws),
        None => is_for_aws && has_other_key.iter().any(|key| node.get(key).is_some()),
    }
}

/// True if an image path is that of the AWS cloud controller. Copies keep the last part of the path, which images of
/// other clouds share: then the arguments decide.
pub(super) fn is_controller_image(path: &str, is_for_aws: bool) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    path.ends_with("provider-aws/cloud-controller-manager")
        || last == "aws-cloud-controller-manager"
        || last == "cloud-controller-manager" && is_for_aws
}

/// Name of an API object for display.
#[must_use]
pub(super) fn display_name(node: &Node, kind: &str) -> String {
    let text = |key: &str| node.at(&["metadata", key]).and_then(Node::as_str).unwrap_or_default();
    match (text("namespace"), text("name")) {
        ("", "") => kind.to_owned(),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

/// Paths of texts within a document that are YAML, which are parsed as well.
#[must_use]
pub(super) fn inner_texts(kind: DocumentKind) -> &'static [&'static [&'static str]] {
    match kind {
        DocumentKind::RancherCluster => &[&["spec", "rkeConfig", "additionalManifest"]],
        DocumentKind::RkeCluster => &[
            &["addons"],
            &["rancher_kubernetes_engine_config", "addons"],
            &["spec", "rancherKubernetesEngineConfig", "addons"],
        ],
        DocumentKind::ConfigMap => &[&["data", "ClusterConfiguration"]],
        _ => &[],
    }
}

/// Texts within a document in any format: entries of a `ConfigMap`, and files that wrappers of kubeadm write.
#[must_use]
pub(super) fn embedded_texts(kind: DocumentKind, node: &Node) -> Vec<&Node> {
    const FILES: [&[&str]; 4] = [
        &["spec", "files"],
        &["spec", "template", "spec", "files"],
        &["spec", "kubeadmConfigSpec", "files"],
        &["spec", "template", "spec", "kubeadmConfigSpec", "files"],
    ];
    match kind {
        DocumentKind::ConfigMap => {
            let data = node.get("data").and_then(Node::members).unwrap_or_default();
            data.iter().map(|member| &member.value).collect()
        }
        DocumentKind::KubeadmWrapper => {
            let files = FILES.iter().filter_map(|path| node.at(path)?.items()).flatten();
            files.filter_map(|file| file.get("content")).collect()
        }
        _ => Vec::new(),
    }
}

/// True if a value is null, an empty map or an empty list.
#[must_use]
pub(crate) fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Either(_) => false,
    }
}
