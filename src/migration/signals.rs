//! Signals of the migration stage: the provider of each component, the controllers that work, and the holder of the
//! lock.

use std::collections::BTreeSet;

use crate::controller::ControllerVersion;
use crate::inventory::Provider;
use crate::kubernetes::arguments::{
    Component, Distribution, NodeArguments, Started, is_name_only, static_pod_flags, static_pod_node,
};
use crate::kubernetes::{
    CloudController, DocumentKind, EBS_DRIVER, Evidence, MIGRATION_LOCK, WorkloadKind, is_true, rke_part,
};
use crate::nodes::KubernetesNode;
use crate::text;

/// Provider that a component requests with `--cloud-provider`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudProvider {
    InTree,
    External,
    /// No provider.
    None,
}

impl CloudProvider {
    fn from_flag(value: &str) -> Self {
        match value {
            "aws" => Self::InTree,
            "external" => Self::External,
            _ => Self::None,
        }
    }
}

/// Tool that created a cluster, which decides where its settings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// RKE2, provisioned by Rancher.
    Rancher,
    /// RKE2 alone.
    Rke2,
    /// K3s, which never shipped an AWS provider.
    K3s,
    Rke,
    Kubeadm,
    Kops,
    /// Something else.
    Other,
}

impl Maker {
    /// Name for display.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rancher => "RKE2 of Rancher",
            Self::Rke2 => "RKE2",
            Self::K3s => "K3s",
            Self::Rke => "RKE",
            Self::Kubeadm => "kubeadm",
            Self::Kops => "kOps",
            Self::Other => "unknown",
        }
    }

    /// Identifies the tool by labels and annotations of Nodes, otherwise by configurations.
    fn detect(evidence: &Evidence) -> Self {
        let nodes = evidence.nodes.as_deref().unwrap_or_default();
        let runs = |mark: &str| nodes.iter().any(|node| node.kubelet_version.contains(mark));
        let has_label = |key: &str| nodes.iter().any(|node| node.labels.contains_key(key));
        let has_annotation = |key: &str| nodes.iter().any(|node| node.annotations.contains_key(key));
        let has = |kind: DocumentKind| evidence.documents_by_kind(kind).next().is_some();
        let declares = |distribution: Distribution| {
            evidence.arguments().iter().any(|arguments| arguments.distribution == distribution)
        };
        let is_rancher = has(DocumentKind::RancherCluster) || has_label("rke.cattle.io/machine");
        if runs("+k3s") || nodes.is_empty() && declares(Distribution::K3s) {
            Self::K3s
        } else if runs("+rke2") || declares(Distribution::Rke2) {
            if is_rancher { Self::Rancher } else { Self::Rke2 }
        } else if has_annotation("rke.cattle.io/internal-ip") || declares(Distribution::Rke) {
            Self::Rke
        } else if has_label("kops.k8s.io/instancegroup") {
            Self::Kops
        } else if nodes.iter().any(KubernetesNode::is_kubeadm) || declares(Distribution::Kubeadm) {
            Self::Kubeadm
        } else {
            Self::Other
        }
    }
}

/// An instance of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Node or configuration that starts it.
    pub who: String,
    /// Provider that it requests.
    pub provider: CloudProvider,
    /// True if it is started with `enable-leader-migration`.
    pub migrates: bool,
    /// Version, if known.
    pub version: Option<ControllerVersion>,
    /// Pod range, if it programs routes for pods.
    pub routes: Option<String>,
}

/// Holder of the migration lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// kube-controller-manager, which also holds its own lock.
    ControllerManager,
    CloudController,
    /// A process that holds no other lock.
    Unknown,
}

/// Signals of a cluster.
#[derive(Debug)]
pub struct Signals<'e> {
    /// Tool that created it.
    pub maker: Maker,
    /// Kubernetes version.
    pub version: Option<ControllerVersion>,
    pub kubelets: Vec<Seen>,
    /// Instances of kube-controller-manager.
    pub managers: Vec<Seen>,
    /// Instances of kube-apiserver.
    pub api_servers: Vec<Seen>,
    /// AWS cloud controllers that work; without a cluster, those that files declare.
    pub working: Vec<&'e CloudController>,
    /// AWS cloud controllers that exist but do none of the work that kube-controller-manager did: they select no node,
    /// or that work is disabled.
    pub idle: Vec<&'e CloudController>,
    /// AWS cloud controllers to be installed, from files next to a cluster.
    pub planned: Vec<&'e CloudController>,
    /// True if all workloads were given, so that a controller that was not found does not exist.
    pub knows_controllers: bool,
    pub nodes: &'e [KubernetesNode],
    /// Number of control plane nodes.
    pub control_planes: Option<usize>,
    /// Holder of the migration lock, if the lock exists.
    pub lock: Option<Holder>,
    /// Reason why the migration does not apply to the cluster.
    pub other: Option<&'static str>,
}

impl<'e> Signals<'e> {
    /// Collects the signals of a cluster.
    #[must_use]
    pub fn new(evidence: &'e Evidence) -> Self {
        let nodes = evidence.nodes.as_deref().unwrap_or_default();
        let is_live = nodes.iter().any(|node| !node.kubelet_version.is_empty());
        let (mut working, mut idle, mut planned) = (Vec::new(), Vec::new(), Vec::new());
        for controller in evidence.aws_controllers() {
            let is_there = !controller.workload.uid.is_empty() || controller.workload.is_static;
            match (is_live && !is_there, is_idle(controller, nodes)) {
                (true, _) => planned.push(controller),
                (false, true) => idle.push(controller),
                (false, false) => working.push(controller),
            }
        }
        let of = |component: Component| seen(evidence, component);
        Self {
            maker: Maker::detect(evidence),
            // A configured version may not be running yet.
            version: nodes
                .iter()
                .filter_map(|node| node.kubelet_version.parse().ok())
                .max()
                .or_else(|| evidence.kubernetes_version()),
            kubelets: of(Component::Kubelet),
            managers: of(Component::ControllerManager),
            api_servers: of(Component::ApiServer),
            working,
            idle,
            planned,
            knows_controllers: evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]),
            nodes,
            control_planes: control_planes(evidence),
            lock: holder(evidence),
            other: other(evidence),
        }
    }

    /// True if a kubelet or an instance of kube-controller-manager has the provider.
    #[must_use]
    pub fn any(&self, provider: CloudProvider) -> bool {
        self.kubelets.iter().chain(&self.managers).any(|one| one.provider == provider)
    }

    /// True if a component requests a provider that its version lacks.
    #[must_use]
    pub fn asks_in_vain(&self) -> bool {
        let all = self.kubelets.iter().chain(&self.managers).chain(&self.api_servers);
        all.filter(|one| one.provider == CloudProvider::InTree)
            .any(|one| one.version.or(self.version).is_some_and(|version| version >= ControllerVersion::new(1, 27, 0)))
    }

    /// True if an external kube-controller-manager still takes part in the migration: it holds the lock and does
    /// nothing.
    #[must_use]
    pub fn keeps_lock_in_vain(&self) -> bool {
        self.managers.iter().any(|one| one.provider == CloudProvider::External && one.migrates)
    }

    /// Pod range for which kube-controller-manager programs routes today.
    #[must_use]
    pub fn routes(&self) -> Option<&str> {
        self.managers.iter().find_map(|manager| manager.routes.as_deref())
    }

    /// True if a cloud controller initialises nodes, even if it leaves other work to others.
    #[must_use]
    pub fn initialises(&self) -> bool {
        let runs = |controller: &CloudController| {
            controller.runs(&CloudController::NODE) && !controller.is_nowhere(self.nodes)
        };
        !self.working.is_empty() || self.idle.iter().any(|controller| runs(controller))
    }

    /// Nodes that are not Ready, by name.
    #[must_use]
    pub fn not_ready(&self) -> Vec<&'e str> {
        let nodes = self.nodes.iter().filter(|node| node.is_ready == Some(false));
        nodes.map(|node| node.name.as_str()).collect()
    }

    /// True if the Kubernetes version is this minor version or later.
    #[must_use]
    pub fn is_from(&self, minor: u32) -> bool {
        self.version.is_some_and(|version| version >= ControllerVersion::new(1, minor, 0))
    }

    /// True if all cloud controllers that work take part in the migration.
    #[must_use]
    pub fn controllers_migrate(&self) -> bool {
        self.working.iter().all(|controller| controller.is_on("enable-leader-migration", false))
    }

    /// Signals as sentences for display.
    #[must_use]
    pub fn told(&self, evidence: &Evidence) -> Vec<String> {
        let mut told = Vec::new();
        let maker = self.maker.name();
        told.extend(self.version.map(|version| format!("Kubernetes {version}, created with: {maker}")));
        for (component, seen) in [("kubelet", &self.kubelets), ("kube-controller-manager", &self.managers)] {
            if seen.is_empty() {
                told.push(format!("the arguments of {component} are not known"));
            }
            for provider in [CloudProvider::InTree, CloudProvider::External, CloudProvider::None] {
                let those: Vec<&Seen> = seen.iter().filter(|one| one.provider == provider).collect();
                if those.is_empty() {
                    continue;
                }
                let names: Vec<&str> = those.iter().map(|one| one.who.as_str()).collect();
                let flag = match provider {
                    CloudProvider::InTree => "with `cloud-provider=aws`",
                    CloudProvider::External => "with `cloud-provider=external`",
                    CloudProvider::None => "without a cloud provider",
                };
                let migrates = if those.iter().all(|one| one.migrates) { " and `enable-leader-migration`" } else { "" };
                told.push(format!("{component} {flag}{migrates}: {}", text::list(&names, 3)));
            }
        }
        for (controllers, does) in
            [(&self.working, "works"), (&self.idle, "exists and does nothing"), (&self.planned, "is to be installed")]
        {
            for controller in controllers {
                let flag = if controller.is_on("enable-leader-migration", false) {
                    "with `enable-leader-migration`"
                } else {
                    "without `enable-leader-migration`"
                };
                let version = controller.version.map_or_else(String::new, |version| format!(" {version}"));
                told.push(format!("cloud controller{version} {does}, {flag}: {}", controller.name()));
            }
        }
        if self.working.is_empty() && self.idle.is_empty() {
            told.push(if self.knows_controllers {
                "no AWS cloud controller is among the workloads".to_owned()
            } else {
                "unknown if an AWS cloud controller runs: not all DaemonSets and Deployments were given".to_owned()
            });
        }
        told.push(match self.lock {
            Some(Holder::ControllerManager) => format!("lease {MIGRATION_LOCK} is held by kube-controller-manager"),
            Some(Holder::CloudController) => format!("lease {MIGRATION_LOCK} is held by the cloud controller"),
            Some(Holder::Unknown) => format!("lease {MIGRATION_LOCK} is not held by a leading controller"),
            None if evidence.document_lists.contains(&DocumentKind::Lease) => format!("no lease {MIGRATION_LOCK}"),
            None => "leases were not given".to_owned(),
        });
        if !evidence.document_lists.contains(&DocumentKind::CsiDriver) {
            told.push(format!("unknown if the driver {EBS_DRIVER} is installed: CSIDrivers were not given"));
        }
        told
    }
}

/// True if it does none of the work of the in-tree provider: no node is selected, or the work is disabled.
fn is_idle(controller: &CloudController, nodes: &[KubernetesNode]) -> bool {
    let jobs = [
        CloudController::SERVICE,
        ["route", "node-route-controller"],
        ["cloud-node-lifecycle", "cloud-node-lifecycle-controller"],
    ];
    controller.is_nowhere(nodes) || !jobs.iter().any(|names| controller.runs(names))
}

/// Reason why the migration does not apply: the cluster is in another cloud, or is an EKS cluster.
fn other(evidence: &Evidence) -> Option<&'static str> {
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    if nodes.iter().any(KubernetesNode::is_eks) {
        return Some("this is an EKS cluster, whose control plane AWS runs: there is nothing to migrate");
    }
    if evidence.controllers().iter().any(|controller| controller.cloud != Provider::Aws) {
        return Some("the cloud controller of another cloud runs here: this cluster is not on AWS");
    }
    let is_of_aws = |node: &KubernetesNode| node.provider_id.starts_with("aws:");
    let is_foreign = |node: &KubernetesNode| is_foreign_provider_id(&node.provider_id);
    (nodes.iter().any(is_foreign) && !nodes.iter().any(is_of_aws))
        .then_some("the providerIDs of its Nodes are of another cloud: this cluster is not on AWS")
}

/// True if a providerID is of another cloud, and not of a distribution's own controller.
pub(super) fn is_foreign_provider_id(provider_id: &str) -> bool {
    let own = ["aws:", "rke2://", "k3s://", "i-"];
    !provider_id.is_empty() && !own.iter().any(|beginning| provider_id.starts_with(beginning))
}

/// Instances of a component: from static pods, which show what really runs, otherwise from Nodes, otherwise from
/// configurations.
fn seen(evidence: &Evidence, component: Component) -> Vec<Seen> {
    let of_pods: Vec<Seen> = evidence
        .workloads
        .iter()
        .filter_map(|workload| {
            let flags = static_pod_flags(workload, component)?;
            let is_named = |flag: &str, name: &str| flag.replace('_', "-") == name;
            let value =
                |name: &str| flags.iter().rfind(|flag| is_named(&flag.name, name)).map(|flag| flag.value.as_str());
            let node = static_pod_node(workload, component);
            let version = evidence.nodes.iter().flatten().find(|found| found.name == node);
            Some(Seen {
                version: version.and_then(|node| node.kubelet_version.parse().ok()),
                routes: routes(value),
                who: node.to_owned(),
                provider: value("cloud-provider").map_or(CloudProvider::None, CloudProvider::from_flag),
                migrates: value("enable-leader-migration").is_some_and(is_true),
            })
        })
        .collect();
    if !of_pods.is_empty() {
        return of_pods;
    }
    let all = evidence.arguments();
    let of_nodes: Vec<Seen> = all
        .iter()
        .filter(|one| one.node().is_some() && !one.is_part)
        .filter_map(|one| started(evidence, one, component))
        .collect();
    if !of_nodes.is_empty() {
        return of_nodes;
    }
    all.iter().filter(|one| one.node().is_none()).filter_map(|one| started(evidence, one, component)).collect()
}

/// Component that the arguments start; `None` if they do not run it, or do not determine its provider.
fn started(evidence: &Evidence, arguments: &NodeArguments, component: Component) -> Option<Seen> {
    if !arguments.runs(component) {
        return None;
    }
    let given = arguments.component_arguments(component);
    let value = |name: &str| given.iter().rfind(|one| one.name == name).map(|one| one.value);
    let provider = match (value("cloud-provider"), arguments.distribution) {
        (Some(value), _) => CloudProvider::from_flag(value),
        (None, Distribution::Rke2) => match arguments.cloud_provider_name() {
            // The meaning depends on the version.
            Some("aws") if arguments.version.is_none() => return None,
            Some("aws") if !is_name_only(arguments.version) => CloudProvider::InTree,
            Some("external") if component != Component::ApiServer => CloudProvider::External,
            _ => CloudProvider::None,
        },
        (None, Distribution::Rke) => rke_provider(evidence, &arguments.started)?,
        (None, Distribution::K3s) => CloudProvider::None,
        // Another kubeadm configuration may set it.
        (
            None,
            Distribution::Kubeadm
            | Distribution::Kubelet
            | Distribution::Unit
            | Distribution::StaticPod
            | Distribution::Kops,
        ) => return None,
    };
    let who = arguments.started.name().into_owned();
    let migrates = value("enable-leader-migration").is_some_and(|value| value.is_empty() || is_true(value));
    Some(Seen { who, provider, migrates, version: arguments.version, routes: routes(value) })
}

/// Pod range for which the in-tree provider programs routes: if it allocates node ranges, and routes are not disabled.
/// Source: kubernetes/kubernetes `cmd/kube-controller-manager/app/core.go#startRouteController`, until 1.26.
fn routes<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let allocates = value("allocate-node-cidrs").is_some_and(is_true);
    let programs = value("configure-cloud-routes").is_none_or(is_true);
    let is_in_tree = value("cloud-provider") == Some("aws");
    let is_range = |text: &&str| text.chars().all(|c| c.is_ascii_hexdigit() || ":./,".contains(c));
    value("cluster-cidr").filter(is_range).filter(|_| is_in_tree && allocates && programs).map(str::to_owned)
}

/// Provider that RKE sets for all components with `cloud_provider.name`.
fn rke_provider(evidence: &Evidence, started: &Started) -> Option<CloudProvider> {
    let Started::Declared { place, .. } = started else { return None };
    let document = evidence.documents_by_kind(DocumentKind::RkeCluster).find(|one| one.object().head() == *place)?;
    let cluster = rke_part(document);
    let name = [["cloud_provider", "name"], ["cloudProvider", "name"]].iter().find_map(|path| cluster.text(path));
    Some(match name.unwrap_or_default() {
        "aws" => CloudProvider::InTree,
        "external" | "external-aws" => CloudProvider::External,
        _ => CloudProvider::None,
    })
}

/// Number of control plane nodes: those with the label, otherwise machines that a configuration counts.
fn control_planes(evidence: &Evidence) -> Option<usize> {
    let nodes = evidence.nodes.as_deref().unwrap_or_default();
    let labelled = nodes.iter().filter(|node| node.has_control_plane_label()).count();
    if labelled > 0 {
        return Some(labelled);
    }
    let rke = evidence.documents_by_kind(DocumentKind::RkeCluster).next().map(|document| {
        let is_one = |node: &crate::kubernetes::Object<'_>| {
            node.items(&["role"]).any(|role| role.node.as_str() == Some("controlplane"))
        };
        rke_part(document).items(&["nodes"]).filter(is_one).count()
    });
    let count = |arguments: &NodeArguments| match &arguments.started {
        Started::Declared { machines, .. } => machines.as_ref()?.count,
        Started::Node(_) => None,
    };
    let declared = evidence.arguments().iter().filter(|one| one.is_server == Some(true)).map(count);
    let declared: Option<i64> = declared.collect::<Option<Vec<i64>>>().map(|counts| counts.into_iter().sum());
    let declared = declared.and_then(|count| usize::try_from(count).ok());
    rke.or(declared).filter(|count| *count > 0)
}

/// Holder of the migration lock. A process uses one identity for all of its locks.
/// Sources: kubernetes/kubernetes `cmd/kube-controller-manager/app/controllermanager.go#Run`; kubernetes/cloud-provider
/// `app/controllermanager.go#Run`.
fn holder(evidence: &Evidence) -> Option<Holder> {
    let named = |flag: &str| -> Vec<String> {
        let controllers = evidence.controllers().iter().filter_map(|one| Some(one.flag(flag)?.value.clone()));
        controllers.collect()
    };
    let mut of_controller = named("leader-elect-resource-name");
    of_controller.push("cloud-controller-manager".to_owned());
    let identities = |name: &str| -> BTreeSet<&str> {
        let holders = evidence.leases(name).filter_map(|lease| lease.text(&["spec", "holderIdentity"]));
        holders.filter(|holder| !holder.is_empty()).collect()
    };
    evidence.leases(MIGRATION_LOCK).next()?;
    let own = identities(MIGRATION_LOCK);
    Some(if !own.is_disjoint(&identities("kube-controller-manager")) {
        Holder::ControllerManager
    } else if of_controller.iter().any(|name| !own.is_disjoint(&identities(name))) {
        Holder::CloudController
    } else {
        Holder::Unknown
    })
}
