//! Arguments that nodes are started with: those that RKE2 and K3s record on their Nodes, and those in configurations of
//! RKE2, K3s, Rancher, RKE and kubeadm.
//!
//! RKE2 and K3s write on each Node, as a JSON array, the arguments that it was started with: the configuration file and
//! its drop-ins merged, secrets masked. Source: k3s-io/k3s `pkg/nodeconfig/nodeconfig.go#SetNodeConfigAnnotations`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::kubernetes::{Located, Place, is_false, is_true};
use crate::nodes::KubernetesNode;

mod cluster_api;
mod declared;
mod kops;
mod static_pods;
mod unit;

pub(crate) use declared::{Machines, declared, machines, selector_matches};
pub(super) use static_pods::from_static_pods;
pub(crate) use static_pods::{static_pod_flags, static_pod_node};
pub(super) use unit::{from_unit, is_unit};

/// Software that starts the components of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distribution {
    Rke2,
    K3s,
    /// RKE, end of life in 2025.
    Rke,
    Kubeadm,
    /// The kubelet, which reads a `KubeletConfiguration`.
    Kubelet,
    /// The systemd unit of the kubelet, or the file of variables that it reads.
    Unit,
    /// Manifest of a static pod on a control plane machine.
    StaticPod,
    Kops,
}

impl Distribution {
    /// Name for display.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rke2 => "RKE2",
            Self::K3s => "K3s",
            Self::Rke => "RKE",
            Self::Kubeadm => "kubeadm",
            Self::Kubelet => "the kubelet",
            Self::Unit => "the unit of the kubelet",
            Self::StaticPod => "the static pod",
            Self::Kops => "kOps",
        }
    }

    /// Annotations that hold the arguments and the environment.
    const fn annotations(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Rke2 => Some(("rke2.io/node-args", "rke2.io/node-env")),
            Self::K3s => Some(("k3s.io/node-args", "k3s.io/node-env")),
            Self::Rke | Self::Kubeadm | Self::Kubelet | Self::Unit | Self::StaticPod | Self::Kops => None,
        }
    }

    /// Setting of its configuration that holds the arguments of a component.
    #[must_use]
    pub fn setting(self, component: Component) -> &'static str {
        match (self, component) {
            (Self::Rke2 | Self::K3s, Component::Kubelet) => "kubelet-arg",
            (Self::Rke2 | Self::K3s, Component::ApiServer) => "kube-apiserver-arg",
            (Self::Rke2 | Self::K3s, Component::ControllerManager) => "kube-controller-manager-arg",
            (Self::Rke, Component::Kubelet) => "services.kubelet.extra_args",
            (Self::Rke, Component::ApiServer) => "services.kube-api.extra_args",
            (Self::Rke, Component::ControllerManager) => "services.kube-controller.extra_args",
            (Self::Kubeadm, Component::Kubelet) => "nodeRegistration.kubeletExtraArgs",
            (Self::Kubeadm, Component::ApiServer) => "apiServer.extraArgs",
            (Self::Kubeadm, Component::ControllerManager) => "controllerManager.extraArgs",
            // A `KubeletConfiguration` holds nothing about the other components.
            (Self::Kubelet, _) => "featureGates",
            (Self::Unit, _) => "ExecStart or KUBELET_EXTRA_ARGS",
            (Self::StaticPod, _) => "the command of the manifest",
            (Self::Kops, Component::Kubelet) => "spec.kubelet",
            (Self::Kops, Component::ApiServer) => "spec.kubeAPIServer",
            (Self::Kops, Component::ControllerManager) => "spec.kubeControllerManager",
        }
    }
}

/// True if `cloud-provider-name: aws` of RKE2 only names the node and passes no argument to a component.
/// Source: rancher/rke2 `pkg/rke2/rke2_linux.go`, by its tags.
#[must_use]
pub(crate) fn is_name_only(version: Option<ControllerVersion>) -> bool {
    version.is_some_and(|version| match version.minor() {
        Some(29) => version >= ControllerVersion::new(1, 29, 11),
        Some(30) => version >= ControllerVersion::new(1, 30, 7),
        Some(31) => version >= ControllerVersion::new(1, 31, 3),
        Some(minor) => minor > 31,
        None => true,
    })
}

/// A component to which the distribution passes arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The kubelet, which every node runs.
    Kubelet,
    /// kube-apiserver, on servers.
    ApiServer,
    /// kube-controller-manager, on servers.
    ControllerManager,
}

impl Component {
    pub const ALL: [Self; 3] = [Self::Kubelet, Self::ApiServer, Self::ControllerManager];

    /// Name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }

    /// Server argument that disables the component.
    const fn left_out_by(self) -> Option<&'static str> {
        match self {
            Self::Kubelet => None,
            Self::ApiServer => Some("disable-apiserver"),
            Self::ControllerManager => Some("disable-controller-manager"),
        }
    }

    /// Argument name of RKE2 and K3s, which also stands for the arguments of the other distributions.
    const fn argument(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet-arg",
            Self::ApiServer => "kube-apiserver-arg",
            Self::ControllerManager => "kube-controller-manager-arg",
        }
    }
}

/// Component flags that rules check and that take one value: the last occurrence counts.
const SINGLE: [&str; 12] = [
    "cloud-config",
    "cloud-provider",
    "cluster-cidr",
    "enable-leader-migration",
    "external-cloud-volume-plugin",
    "hostname-override",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "leader-elect",
    "max-pods",
    "node-ip",
    "provider-id",
];

/// Subject of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Started {
    /// A Node that reports its arguments.
    Node(String),
    /// Nodes that a configuration declares.
    Declared {
        /// Name of the configuration, and of the part of it.
        name: String,
        /// Machines that share the arguments, if the configuration declares several kinds.
        machines: Option<MachineSet>,
        /// Start of the configuration or of the part.
        place: Place,
    },
}

impl Started {
    /// The name of the Node, or of the configuration and its machines.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Node(name) | Self::Declared { name, machines: None, .. } => Cow::Borrowed(name),
            Self::Declared { name, machines: Some(machines), .. } => {
                Cow::Owned(format!("{name}, machines of {}", machines.name))
            }
        }
    }
}

/// Machines of a Rancher cluster that are started with the same arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineSet {
    /// Roles, and the pool if a selector distinguishes pools.
    pub name: String,
    /// Number of machines, if the pools state it.
    pub count: Option<i64>,
}

/// Arguments of one node, or of the nodes of one configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeArguments {
    /// Node or machines that are started with them.
    pub started: Started,
    /// Distribution that passes them.
    pub distribution: Distribution,
    /// Kubernetes version, if known.
    pub version: Option<ControllerVersion>,
    /// True for a server, which runs the control plane; `None` if the configuration does not state it.
    pub is_server: Option<bool>,
    /// True if it is only part of a configuration: a missing argument may be set elsewhere.
    pub is_part: bool,
    /// True if kubelet arguments are set here; a `ClusterConfiguration` of kubeadm has none.
    pub is_of_kubelet: bool,
    arguments: Vec<Argument>,
    environment: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    name: String,
    value: Option<String>,
    place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentArgument<'a> {
    /// Name without dashes.
    pub name: &'a str,
    pub value: &'a str,
    /// Place, if it is from a file.
    pub place: Option<&'a Place>,
}

impl NodeArguments {
    /// Arguments that a Node reports. `None` if it reports none, or not in the format of its distribution.
    #[must_use]
    pub fn from_node(node: &KubernetesNode) -> Option<Self> {
        [Distribution::Rke2, Distribution::K3s].into_iter().find_map(|distribution| {
            let (arguments, environment) = distribution.annotations()?;
            let words: Vec<String> = serde_json::from_str(node.annotations.get(arguments)?).ok()?;
            let environment = node.annotations.get(environment).and_then(|text| serde_json::from_str(text).ok());
            let (role, words) = words.split_first()?;
            Some(Self {
                started: Started::Node(node.name.clone()),
                distribution,
                version: node.kubelet_version.parse().ok(),
                is_server: Some(role == "server"),
                is_part: false,
                is_of_kubelet: true,
                arguments: parse(words),
                environment: environment.unwrap_or_default(),
            })
        })
    }

    /// Arguments of a configuration: names and values with their places.
    fn from_configuration(
        name: String,
        place: Place,
        distribution: Distribution,
        version: Option<ControllerVersion>,
        is_server: Option<bool>,
        arguments: impl IntoIterator<Item = (String, Located<String>)>,
    ) -> Self {
        let arguments = arguments.into_iter().map(|(name, value)| Argument {
            name,
            value: Some(value.value),
            place: Some(value.place),
        });
        Self {
            started: Started::Declared { name, machines: None, place },
            distribution,
            version,
            is_server,
            is_part: false,
            is_of_kubelet: true,
            arguments: arguments.collect(),
            environment: BTreeMap::new(),
        }
    }

    /// Arguments of all Nodes that report them.
    #[must_use]
    pub fn from_nodes(nodes: &[KubernetesNode]) -> Vec<Self> {
        nodes.iter().filter_map(Self::from_node).collect()
    }

    /// Name of the Node, if the subject is one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        match &self.started {
            Started::Node(name) => Some(name),
            Started::Declared { .. } => None,
        }
    }

    /// Value of a single-value argument: the last occurrence counts. `None` if that is empty.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).last().map(|(value, _)| value).filter(|value| !value.is_empty())
    }

    /// Place of the last occurrence of an argument, if it is from a file.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.arguments.iter().rfind(|argument| argument.name == name)?.place.as_ref()
    }

    /// All arguments with their values, in order; a switch without a value is `true`.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str, Option<&Place>)> {
        self.arguments.iter().map(|argument| {
            (argument.name.as_str(), argument.value.as_deref().unwrap_or("true"), argument.place.as_ref())
        })
    }

    /// All values of an argument, with their places.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<(&str, Option<&Place>)> {
        self.values(name).collect()
    }

    /// Value of `cloud-provider-name`, which RKE2 also reads from its environment.
    /// Source: rancher/rke2 `pkg/cli/cmds/root.go`.
    #[must_use]
    pub fn cloud_provider_name(&self) -> Option<&str> {
        let from_environment = || self.environment.get("RKE2_CLOUD_PROVIDER_NAME").map(String::as_str);
        self.value("cloud-provider-name").or_else(from_environment).filter(|name| !name.is_empty())
    }

    /// True if a switch is on: set without a value, or to one that Go parses as true.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        let last = self.arguments.iter().rfind(|argument| argument.name == name);
        last.is_some_and(|argument| argument.value.as_deref().is_none_or(is_true))
    }

    /// True if a component disables the gate `CSIMigrationAWS`: up to 1.24 the in-tree plugin then handles volumes.
    #[must_use]
    pub fn keeps_in_tree_volumes(&self) -> bool {
        self.has_gate("CSIMigrationAWS", is_false)
    }

    /// True if a component enables the gate `CSIMigrationAWS`: from 1.17 on the driver then handles volumes.
    #[must_use]
    pub fn hands_volumes_over(&self) -> bool {
        self.has_gate("CSIMigrationAWS", is_true)
    }

    /// True if a component sets a gate to a matching value.
    fn has_gate(&self, name: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
        let is_so = |value: &str| {
            let mut gates = value.split(',').filter_map(|gate| gate.split_once('='));
            gates.any(|(gate, value)| gate.trim() == name && is_wanted(value.trim()))
        };
        let mut given = Component::ALL.into_iter().flat_map(|component| self.component_arguments(component));
        given.any(|argument| argument.name == "feature-gates" && is_so(argument.value))
    }

    /// True if the node runs a component: agents have no control plane, and a server may disable parts of it.
    #[must_use]
    pub fn runs(&self, component: Component) -> bool {
        component.left_out_by().is_none_or(|switch| self.is_server != Some(false) && !self.is_on(switch))
    }

    /// Arguments that a component is started with in addition to the distribution's own; the last occurrence of a
    /// single-value flag counts. Empty if the node does not run the component.
    #[must_use]
    pub fn component_arguments(&self, component: Component) -> Vec<ComponentArgument<'_>> {
        if !self.runs(component) {
            return Vec::new();
        }
        let mut given: Vec<ComponentArgument<'_>> = Vec::new();
        for (text, place) in self.values(component.argument()) {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            // `+=` and `-=` add to the distribution's own arguments.
            // Source: k3s-io/k3s `pkg/util/args.go#GetArgs`.
            let name = name.trim_start_matches('-').trim_end_matches(['+', '-']);
            if SINGLE.contains(&name) {
                given.retain(|before| before.name != name);
            }
            given.push(ComponentArgument { name, value, place });
        }
        given
    }

    #[must_use]
    pub fn component_value(&self, component: Component, name: &str) -> Option<&str> {
        self.component_arguments(component)
            .into_iter()
            .rfind(|argument| argument.name == name)
            .map(|argument| argument.value)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = (&str, Option<&Place>)> {
        let named = self.arguments.iter().filter(move |argument| argument.name == name);
        named.filter_map(|argument| Some((argument.value.as_deref()?, argument.place.as_ref())))
    }
}

/// Normalises an argument as the component does, which accepts underscores for dashes in flag names.
/// Source: kubernetes/component-base `cli/flag/flags.go#WordSepNormalizeFunc`.
fn with_dashes(argument: &str) -> String {
    match argument.split_once('=') {
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
        None => argument.replace('_', "-"),
    }
}

/// Parses arguments: a value follows `=`, or is the next word unless that is an argument itself.
fn parse(words: &[String]) -> Vec<Argument> {
    let mut found: Vec<Argument> = Vec::new();
    for word in words {
        match word.strip_prefix('-') {
            Some(rest) => {
                let rest = rest.trim_start_matches('-');
                let (name, value) = match rest.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (rest, None),
                };
                found.push(Argument { name: name.to_owned(), value, place: None });
            }
            None => {
                if let Some(Argument { value: value @ None, .. }) = found.last_mut() {
                    *value = Some(word.clone());
                }
            }
        }
    }
    let of_components = Component::ALL.map(Component::argument);
    for argument in found.iter_mut().filter(|argument| of_components.contains(&argument.name.as_str())) {
        argument.value = argument.value.as_deref().map(with_dashes);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(annotation: &str, text: &str) -> KubernetesNode {
        let annotations = BTreeMap::from([(annotation.to_owned(), text.to_owned())]);
        KubernetesNode { name: "a".into(), annotations, ..KubernetesNode::default() }
    }

    #[test]
    fn arguments_are_read_in_each_form_and_the_last_one_counts() {
        let text = r#"["server","--cloud-provider-name","aws","--cloud-provider-name=external","-kubelet-arg","cloud-provider=external","--kubelet-arg=--node-ip=10.0.0.1","--disable-cloud-controller","--token","********"]"#;
        let node = node("rke2.io/node-args", text);
        let found = NodeArguments::from_node(&node).unwrap();
        assert_eq!((found.distribution, found.is_server), (Distribution::Rke2, Some(true)));
        assert_eq!(found.cloud_provider_name(), Some("external"));
        assert!(found.is_on("disable-cloud-controller") && !found.is_on("disable-apiserver"));
        let kubelet = found.component_arguments(Component::Kubelet);
        let kubelet: Vec<_> = kubelet.iter().map(|argument| (argument.name, argument.value)).collect();
        assert_eq!(kubelet, [("cloud-provider", "external"), ("node-ip", "10.0.0.1")]);
    }

    #[test]
    fn switches_are_read_as_go_does() {
        for (value, is_on) in [("true", true), ("T", true), ("1", true), ("false", false), ("", false), ("yes", false)]
        {
            let node = node("k3s.io/node-args", &format!(r#"["server","--disable-cloud-controller={value}"]"#));
            assert_eq!(NodeArguments::from_node(&node).unwrap().is_on("disable-cloud-controller"), is_on, "{value}");
        }
    }

    #[test]
    fn a_component_that_a_node_does_not_run_has_no_arguments() {
        let with = |first: &str, more: &str| {
            let text = format!(r#"["{first}","--kube-apiserver-arg","cloud-provider=external"{more}]"#);
            let node = node("rke2.io/node-args", &text);
            NodeArguments::from_node(&node).unwrap().component_arguments(Component::ApiServer).len()
        };
        assert_eq!(with("server", ""), 1);
        assert_eq!(with("agent", ""), 0);
        assert_eq!(with("server", r#","--disable-apiserver","true""#), 0);
    }

    #[test]
    fn what_no_distribution_writes_is_not_known() {
        for text in ["", "[]", "{}", "[1]", r#""server""#, r#"["server""#] {
            assert_eq!(NodeArguments::from_node(&node("rke2.io/node-args", text)), None, "{text}");
        }
        assert_eq!(NodeArguments::from_node(&KubernetesNode::default()), None);
    }
}
