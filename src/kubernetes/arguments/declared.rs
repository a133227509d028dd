//! Arguments that configurations start nodes with, merged as the distribution merges them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::controller::ControllerVersion;
use crate::policy::json::Value;

use super::super::{Document, DocumentKind, Evidence, FileDistribution, Located, Object, is_no, is_yes, rke_part};
use super::{Component, Distribution, MachineSet, NodeArguments, Started, with_dashes};

/// Arguments of a configuration by name, in source order.
type Arguments = Vec<(String, Located<String>)>;

/// Node arguments that the configurations of the evidence declare.
#[must_use]
pub(crate) fn declared(evidence: &Evidence) -> Vec<NodeArguments> {
    let mut found = node_configs(evidence);
    for document in &evidence.documents {
        match document.kind {
            DocumentKind::RancherCluster => found.extend(rancher(document)),
            DocumentKind::RkeCluster => found.extend(rke(document)),
            DocumentKind::Kubeadm => {
                found.push(kubeadm(document, document.object(), version_beside(evidence, document)));
            }
            DocumentKind::KubeadmWrapper => found.extend(wrapped(document)),
            DocumentKind::Rke2Wrapper => found.extend(super::cluster_api::rke2(document)),
            DocumentKind::Kops => found.extend(super::kops::kops(document)),
            DocumentKind::KubeletConfiguration => found.extend(kubelet(document, version_beside(evidence, document))),
            _ => {}
        }
    }
    found
}

/// Converts a value of a flat configuration to arguments: one for each item of a list.
fn to_arguments(key: &str, value: Object<'_>) -> Arguments {
    let items = value.node.items().map_or_else(|| vec![value], |_| value.items(&[]).collect());
    let scalars = items.into_iter().filter_map(|item| {
        let value = item.scalar()?;
        let value = match value.as_str() {
            yes if is_yes(yes) => "true".to_owned(),
            no if is_no(no) => "false".to_owned(),
            _ if key.ends_with("-arg") => with_dashes(&value),
            _ => value,
        };
        Some(Located { value, place: item.place() })
    });
    scalars.map(|value| (key.to_owned(), value)).collect()
}

/// Keys of a flat configuration that only servers have.
/// Sources: rancher/rke2 `pkg/cli/cmds/server.go`, k3s-io/k3s `pkg/cli/cmds/server.go`.
const OF_SERVERS: [&str; 17] = [
    "cluster-cidr",
    "cluster-init",
    "cni",
    "disable",
    "disable-apiserver",
    "disable-cloud-controller",
    "disable-controller-manager",
    "disable-etcd",
    "disable-scheduler",
    "etcd-arg",
    "flannel-backend",
    "kube-apiserver-arg",
    "kube-cloud-controller-manager-arg",
    "kube-controller-manager-arg",
    "service-cidr",
    "tls-san",
    "write-kubeconfig-mode",
];

/// `config.yaml` with its drop-ins from `config.yaml.d`, which follow in the order of their names: a later value
/// replaces an earlier one, and a key that ends with `+` adds to it.
/// Source: K3s documentation, "Configuration Options", "Multiple Config Files".
fn node_configs(evidence: &Evidence) -> Vec<NodeArguments> {
    let mut groups: BTreeMap<String, Vec<&Document>> = BTreeMap::new();
    for document in
        evidence.documents_by_kind(DocumentKind::NodeConfig).filter(|document| is_read(&document.source.file))
    {
        groups.entry(main_file(&document.source.file)).or_default().push(document);
    }
    // A file without a hint is of the distribution that all others share.
    let of_nodes = evidence.nodes.iter().flatten().filter_map(|node| match node.kubelet_version.as_str() {
        version if version.contains("+k3s") => Some(FileDistribution::K3s),
        version if version.contains("+rke2") => Some(FileDistribution::Rke2),
        _ => None,
    });
    let told: BTreeSet<FileDistribution> =
        groups.values().flatten().filter_map(|document| document.distribution()).chain(of_nodes).collect();
    let common = told.first().copied().filter(|_| told.len() == 1);
    let mut found = Vec::new();
    for (file, mut documents) in groups {
        // `config.yaml` sorts before `config.yaml.d/…`.
        documents.sort_by_key(|document| document.source.file.clone());
        let mut merged: BTreeMap<String, Arguments> = BTreeMap::new();
        let (mut distribution, mut place) = (None, None);
        for document in documents {
            distribution = distribution.or(document.distribution());
            place.get_or_insert_with(|| document.object().head());
            merge(&mut merged, document.object());
        }
        let Some(place) = place else { continue };
        let is_server = merged.keys().any(|key| OF_SERVERS.contains(&key.as_str())).then_some(true);
        let distribution = match distribution.or(common) {
            Some(FileDistribution::K3s) => Distribution::K3s,
            Some(FileDistribution::Rke2) | None => Distribution::Rke2,
        };
        let arguments = merged.into_values().flatten();
        found.push(NodeArguments::from_configuration(file, place, distribution, None, is_server, arguments));
    }
    found
}

/// Main file of a drop-in.
fn main_file(file: &str) -> String {
    let folder = Path::new(file).parent().filter(|folder| folder.extension().is_some_and(|extension| extension == "d"));
    let main = folder.map(|folder| folder.with_extension(""));
    let main = main.filter(|main| main.extension().is_some_and(|extension| extension == "yaml"));
    main.map_or_else(|| file.to_owned(), |main| main.display().to_string())
}

/// True if the distribution reads the file: of the drop-ins only those with a YAML extension.
/// Source: k3s-io/k3s `pkg/configfilearg/parser.go#dotDFiles`.
fn is_read(file: &str) -> bool {
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    main_file(file) == file || ["yaml", "yml"].contains(&extension.to_ascii_lowercase().as_str())
}

fn merge(merged: &mut BTreeMap<String, Arguments>, config: Object<'_>) {
    for (key, value) in config.members(&[]) {
        if let Some(name) = key.value.strip_suffix('+') {
            merged.entry(name.to_owned()).or_default().extend(to_arguments(name, value));
        } else {
            let arguments = to_arguments(&key.value, value);
            merged.insert(key.value, arguments);
        }
    }
}

/// Roles of Rancher's machines, with the label that selectors use and the key of a pool.
const ROLES: [(&str, &str, &str); 3] = [
    ("etcd", "rke.cattle.io/etcd-role", "etcdRole"),
    ("control plane", "rke.cattle.io/control-plane-role", "controlPlaneRole"),
    ("worker", "rke.cattle.io/worker-role", "workerRole"),
];

/// Label of control plane machines.
const CONTROL_PLANE: &str = "rke.cattle.io/control-plane-role";

/// Label that names the pool of a machine.
/// Source: rancher/rancher `pkg/apis/rke.cattle.io/v1`, `pkg/capr/common.go#RKEMachinePoolNameLabel`.
const POOL: &str = "rke.cattle.io/rke-machine-pool-name";

/// Machines with the same configuration, by name for display and by the labels that selectors may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Machines {
    /// Roles, and the pool if a selector distinguishes pools.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Number of machines, if the pools state it.
    pub count: Option<i64>,
}

/// Arguments that a Rancher cluster passes to each kind of machine: the global configuration, then that of every
/// matching selector, whose values replace earlier ones.
/// Source: rancher/rancher `pkg/capr/planner/config.go#addUserConfig`.
fn rancher(document: &Document) -> Vec<NodeArguments> {
    let object = document.object();
    let Some(config) = object.at(&["spec", "rkeConfig"]) else { return Vec::new() };
    let kubernetes = object.text(&["spec", "kubernetesVersion"]).unwrap_or_default();
    let distribution = if kubernetes.contains("+k3s") { Distribution::K3s } else { Distribution::Rke2 };
    let mut found = Vec::new();
    for machines in machines(config) {
        let mut merged: BTreeMap<String, Arguments> = BTreeMap::new();
        let mut take = |settings: Object<'_>| {
            for (key, value) in settings.members(&[]) {
                let arguments = to_arguments(&key.value, value);
                merged.insert(key.value, arguments);
            }
        };
        if let Some(global) = config.at(&["machineGlobalConfig"]) {
            take(global);
        }
        for entry in config.items(&["machineSelectorConfig"]) {
            if let Some(settings) = entry.at(&["config"]).filter(|_| selector_matches(entry, &machines.labels)) {
                take(settings);
            }
        }
        let is_server = ROLES.iter().take(2).any(|(_, label, _)| machines.labels.contains_key(*label));
        // Rancher drops keys that the program on the machine does not accept.
        // Source: rancher/rancher `pkg/capr/planner/config.go#filterConfigData`.
        merged.retain(|key, _| !key.ends_with('+') && (is_server || !OF_SERVERS.contains(&key.as_str())));
        // Machines with only the etcd role run no control plane.
        // Source: rancher/rancher `pkg/capr/planner/config.go#addRoleConfig`.
        if is_server && !machines.labels.contains_key(CONTROL_PLANE) {
            for switch in ["disable-apiserver", "disable-controller-manager", "disable-scheduler"] {
                let value = Located { value: "true".to_owned(), place: object.head() };
                merged.insert(switch.to_owned(), vec![(switch.to_owned(), value)]);
            }
        }
        let arguments = merged.into_values().flatten();
        let version = kubernetes.parse().ok();
        let place = object.head();
        let mut own = NodeArguments::from_configuration(
            document.name.clone(),
            place.clone(),
            distribution,
            version,
            Some(is_server),
            arguments,
        );
        let set = MachineSet { name: machines.name, count: machines.count };
        own.started = Started::Declared { name: document.name.clone(), machines: Some(set), place };
        own.is_part = document.is_part();
        found.push(own);
    }
    found
}

/// Kinds of machines: the pools grouped by their roles, each pool separately if a selector uses another label, or one
/// server and one worker if machines register manually.
#[must_use]
pub(crate) fn machines(config: Object<'_>) -> Vec<Machines> {
    let of_roles = |roles: Vec<&'static str>| {
        let names: Vec<&str> =
            ROLES.iter().filter(|(_, label, _)| roles.contains(label)).map(|(name, ..)| *name).collect();
        let labels = roles.into_iter().map(|label| (label.to_owned(), "true".to_owned()));
        Machines { name: names.join(" and "), labels: labels.collect(), count: None }
    };
    let by_pool = config.items(&["machineSelectorConfig"]).any(|entry| {
        let by_labels = entry.members(&["machineLabelSelector", "matchLabels"]).map(|(key, _)| key.value);
        let by_expressions = entry.items(&["machineLabelSelector", "matchExpressions"]);
        let by_expressions = by_expressions.filter_map(|one| one.text(&["key"]).map(str::to_owned));
        by_labels.chain(by_expressions).any(|key| !ROLES.iter().any(|(_, label, _)| *label == key))
    });
    let pools = config.items(&["machinePools"]).filter_map(|pool| {
        let held = ROLES.iter().filter(|(.., key)| pool.switch(&[key]) == Some(true));
        let mut machines = of_roles(held.map(|(_, label, _)| *label).collect());
        if machines.labels.is_empty() {
            return None;
        }
        machines.count = pool.number(&["quantity"]);
        if by_pool {
            let name = pool.text(&["name"]).unwrap_or_default();
            machines.name = format!("pool {name} ({})", machines.name);
            machines.labels.insert(POOL.to_owned(), name.to_owned());
            let own = pool.members(&["labels"]).filter_map(|(key, value)| Some((key.value, value.scalar()?)));
            machines.labels.extend(own);
        }
        Some(machines)
    });
    let mut all: Vec<Machines> = pools.collect();
    if all.is_empty() {
        let labels = ROLES.map(|(_, label, _)| label);
        all.push(of_roles(labels.iter().take(2).copied().collect()));
        all.push(of_roles(labels.iter().skip(2).copied().collect()));
    }
    all.sort();
    let mut merged: Vec<Machines> = Vec::new();
    for one in all {
        match merged.last_mut().filter(|last| (&last.name, &last.labels) == (&one.name, &one.labels)) {
            Some(last) => last.count = last.count.zip(one.count).map(|(a, b)| a + b),
            None => merged.push(one),
        }
    }
    merged
}

/// True if a machine selector matches machines with these labels, or if there is no selector. The API server rejects a
/// value that is not a string.
/// Source: rancher/rancher `pkg/capr/planner/config.go#addUserConfig`, by `metav1.LabelSelectorAsSelector`.
#[must_use]
pub(crate) fn selector_matches(entry: Object<'_>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = entry.at(&["machineLabelSelector"]).filter(|found| found.node.value != Value::Null) else {
        return true;
    };
    let value = |key: &str| labels.get(key).map(String::as_str);
    let by_labels = selector
        .members(&["matchLabels"])
        .all(|(key, wanted)| value(&key.value).is_some_and(|found| wanted.node.as_str() == Some(found)));
    let by_expressions = selector.items(&["matchExpressions"]).all(|expression| {
        let found = value(expression.text(&["key"]).unwrap_or_default());
        let is_among = || expression.items(&["values"]).any(|wanted| wanted.node.as_str() == found);
        match expression.text(&["operator"]).unwrap_or_default() {
            "In" => found.is_some() && is_among(),
            "NotIn" => found.is_none() || !is_among(),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    by_labels && by_expressions
}

/// Formats a map of arguments as `NAME=VALUE`, as they are passed.
fn passed(component: Component, found: impl Iterator<Item = (Located<String>, Option<String>)>) -> Arguments {
    let argument = |(key, value): (Located<String>, Option<String>)| {
        let value = with_dashes(&format!("{}={}", key.value, value.unwrap_or_default()));
        (component.argument().to_owned(), Located { value, place: key.place })
    };
    found.map(argument).collect()
}

/// `extra_args` of the services of RKE, which apply to all of its nodes.
fn rke(document: &Document) -> Option<NodeArguments> {
    let cluster = rke_part(document);
    let services = [
        (Component::Kubelet, &["kubelet"][..]),
        (Component::ApiServer, &["kube-api", "kubeApi"]),
        (Component::ControllerManager, &["kube-controller", "kubeController"]),
    ];
    let mut arguments = Arguments::new();
    for (component, names) in services {
        for name in names {
            for args in ["extra_args", "extraArgs"] {
                let members = cluster.members(&["services", name, args]);
                arguments.extend(passed(component, members.map(|(key, value)| (key, value.scalar()))));
            }
            for lists in ["extra_args_array", "extraArgsArray"] {
                for (key, values) in cluster.members(&["services", name, lists]) {
                    let values = values.items(&[]).map(|value| (key.clone(), value.scalar()));
                    arguments.extend(passed(component, values));
                }
            }
        }
    }
    let version = ["kubernetes_version", "kubernetesVersion"].into_iter().find_map(|key| cluster.text(&[key]));
    let version = version.and_then(|version| version.parse().ok());
    let is_rke = cluster.node.get("services").is_some() || cluster.node.get("nodes").is_some();
    is_rke.then(|| {
        let (name, place) = (document.name.clone(), document.object().head());
        let own = NodeArguments::from_configuration(name, place, Distribution::Rke, version, Some(true), arguments);
        NodeArguments { is_part: document.is_part(), ..own }
    })
}

/// Kubernetes version in the `ClusterConfiguration` of the same file.
fn version_beside(evidence: &Evidence, document: &Document) -> Option<ControllerVersion> {
    let beside =
        evidence.documents_by_kind(DocumentKind::Kubeadm).filter(|other| other.source.file == document.source.file);
    let mut versions = beside.filter_map(|other| other.object().text(&["kubernetesVersion"])?.parse().ok());
    versions.next()
}

/// Arguments of kubeadm: a map up to v1beta3, a list of names and values from v1beta4 on. Both are accepted here.
fn extra_args(component: Component, object: Object<'_>, path: &[&str]) -> Arguments {
    match object.at(path).map(|found| &found.node.value) {
        Some(Value::Object(_)) => passed(component, object.members(path).map(|(key, value)| (key, value.scalar()))),
        Some(Value::Array(_)) => {
            let named = object.items(path).filter_map(|item| {
                let name = item.located(&["name"])?;
                Some((name, item.at(&["value"]).and_then(Object::scalar)))
            });
            passed(component, named)
        }
        _ => Arguments::new(),
    }
}

fn kubeadm(document: &Document, object: Object<'_>, version: Option<ControllerVersion>) -> NodeArguments {
    let mut arguments = extra_args(Component::Kubelet, object, &["nodeRegistration", "kubeletExtraArgs"]);
    arguments.extend(extra_args(Component::ApiServer, object, &["apiServer", "extraArgs"]));
    arguments.extend(extra_args(Component::ControllerManager, object, &["controllerManager", "extraArgs"]));
    let is_server = match document.kind_name() {
        "JoinConfiguration" => object.node.get("controlPlane").map(|_| true),
        _ => Some(true),
    };
    let version = object.text(&["kubernetesVersion"]).and_then(|version| version.parse().ok()).or(version);
    let name = if document.is_embedded {
        document.name.clone()
    } else {
        format!("{} of {}", document.name, document.source.file)
    };
    let is_of_kubelet = ["InitConfiguration", "JoinConfiguration"].contains(&document.kind_name());
    let own =
        NodeArguments::from_configuration(name, object.head(), Distribution::Kubeadm, version, is_server, arguments);
    NodeArguments { is_of_kubelet, ..own }
}

/// Settings of a kubelet configuration that are flags as well; `--cloud-provider` exists only as a flag.
/// Source: kubernetes/kubernetes `staging/src/k8s.io/kubelet/config/v1beta1/types.go#KubeletConfiguration`.
fn kubelet(document: &Document, version: Option<ControllerVersion>) -> Option<NodeArguments> {
    let object = document.object();
    let gates = object.members(&["featureGates"]).filter_map(|(key, value)| {
        let value = Located { value: format!("feature-gates={}={}", key.value, value.scalar()?), place: key.place };
        Some(("kubelet-arg".to_owned(), value))
    });
    let id = object.at(&["providerID"]).and_then(|id| {
        let value = Located { value: format!("provider-id={}", id.scalar()?), place: id.place() };
        Some(("kubelet-arg".to_owned(), value))
    });
    let arguments: Arguments = gates.chain(id).collect();
    if arguments.is_empty() {
        return None;
    }
    let name = format!("{} of {}", document.name, document.source.file);
    let own = NodeArguments::from_configuration(name, object.head(), Distribution::Kubelet, version, None, arguments);
    Some(NodeArguments { is_part: true, is_of_kubelet: false, ..own })
}

/// Configurations of kubeadm within objects of Cluster API.
fn wrapped(document: &Document) -> Vec<NodeArguments> {
    let object = document.object();
    let places: [&[&str]; 4] = [
        &["spec", "kubeadmConfigSpec"],
        &["spec", "template", "spec", "kubeadmConfigSpec"],
        &["spec", "template", "spec"],
        &["spec"],
    ];
    let Some(spec) = places.into_iter().filter_map(|path| object.at(path)).find(|spec| {
        ["clusterConfiguration", "initConfiguration", "joinConfiguration"]
            .iter()
            .any(|key| spec.node.get(key).is_some())
    }) else {
        return Vec::new();
    };
    let version = object.text(&["spec", "version"]).and_then(|version| version.parse().ok());
    let is_control_plane = document.kind_name().starts_with("KubeadmControlPlane");
    let mut found = Vec::new();
    for key in ["clusterConfiguration", "initConfiguration", "joinConfiguration"] {
        let Some(part) = spec.at(&[key]).filter(|part| part.node.members().is_some_and(|members| !members.is_empty()))
        else {
            continue;
        };
        let mut own = kubeadm(document, part, version);
        own.is_server = Some(is_control_plane);
        own.is_of_kubelet = key != "clusterConfiguration";
        let name = format!("{}, {key}", document.name);
        own.started = Started::Declared { name, machines: None, place: part.head() };
        found.push(own);
    }
    found
}
