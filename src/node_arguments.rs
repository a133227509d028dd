//! What RKE2 and K3s started a node with. They write it on the Node, as a JSON array of arguments: the configuration file and its
//! drop-ins merged, secrets masked. Source: k3s-io/k3s `pkg/nodeconfig/nodeconfig.go#SetNodeConfigAnnotations`.

use std::collections::BTreeMap;

use crate::controller::ControllerVersion;
use crate::nodes::KubernetesNode;

/// A distribution that says what it started a node with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distribution {
    /// RKE2.
    Rke2,
    /// K3s.
    K3s,
}

impl Distribution {
    /// As it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rke2 => "RKE2",
            Self::K3s => "K3s",
        }
    }

    /// Annotations with the arguments and with the environment.
    const fn annotations(self) -> (&'static str, &'static str) {
        match self {
            Self::Rke2 => ("rke2.io/node-args", "rke2.io/node-env"),
            Self::K3s => ("k3s.io/node-args", "k3s.io/node-env"),
        }
    }
}

/// A component to which the distribution passes arguments on.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kubelet, Self::ApiServer, Self::ControllerManager];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }

    /// The argument of a server that leaves it out.
    const fn left_out_by(self) -> Option<&'static str> {
        match self {
            Self::Kubelet => None,
            Self::ApiServer => Some("disable-apiserver"),
            Self::ControllerManager => Some("disable-controller-manager"),
        }
    }
}

/// The arguments of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeArguments<'n> {
    /// The Node.
    pub node: &'n KubernetesNode,
    /// Who started it.
    pub distribution: Distribution,
    /// Whether it is a server: those run the control plane.
    pub is_server: bool,
    arguments: Vec<(String, Option<String>)>,
    environment: BTreeMap<String, String>,
}

impl<'n> NodeArguments<'n> {
    /// Those of a Node. `None` where it does not say them, or not as its distribution writes them.
    #[must_use]
    pub fn of(node: &'n KubernetesNode) -> Option<Self> {
        [Distribution::Rke2, Distribution::K3s].into_iter().find_map(|distribution| {
            let (arguments, environment) = distribution.annotations();
            let words: Vec<String> = serde_json::from_str(node.annotations.get(arguments)?).ok()?;
            let environment = node.annotations.get(environment).and_then(|text| serde_json::from_str(text).ok());
            let (role, words) = words.split_first()?;
            Some(Self {
                node,
                distribution,
                is_server: role == "server",
                arguments: parse(words),
                environment: environment.unwrap_or_default(),
            })
        })
    }

    /// The Kubernetes version of the node.
    #[must_use]
    pub fn version(&self) -> Option<ControllerVersion> {
        self.node.kubelet_version.parse().ok()
    }

    /// The value of an argument that is given once; of several the last one counts. An empty one is none.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).last().filter(|value| !value.is_empty())
    }

    /// The value of `cloud-provider-name`, which RKE2 takes from its environment too.
    /// Source: rancher/rke2 `pkg/cli/cmds/root.go`.
    #[must_use]
    pub fn cloud_provider_name(&self) -> Option<&str> {
        let from_environment = || self.environment.get("RKE2_CLOUD_PROVIDER_NAME").map(String::as_str);
        self.value("cloud-provider-name").or_else(from_environment).filter(|name| !name.is_empty())
    }

    /// Whether a switch is on: given without a value, or with one that Go takes for true.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        let last = self.arguments.iter().rfind(|(found, _)| found == name);
        last.is_some_and(|(_, value)| {
            value.as_deref().is_none_or(|value| ["1", "t", "T", "true", "TRUE", "True"].contains(&value))
        })
    }

    /// The arguments that a component is started with beside the distribution's own, as names and values; of several of one name
    /// the last one counts, but for `feature-gates`, which add up. None where the node does not run the component.
    #[must_use]
    pub fn of_component(&self, component: Component) -> Vec<(&str, &str)> {
        if component.left_out_by().is_some_and(|switch| !self.is_server || self.is_on(switch)) {
            return Vec::new();
        }
        let name = match component {
            Component::Kubelet => "kubelet-arg",
            Component::ApiServer => "kube-apiserver-arg",
            Component::ControllerManager => "kube-controller-manager-arg",
        };
        let mut given: Vec<(&str, &str)> = Vec::new();
        for text in self.values(name) {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let name = name.trim_start_matches('-');
            if name != "feature-gates" {
                given.retain(|(before, _)| *before != name);
            }
            given.push((name, value));
        }
        given
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.arguments.iter().filter(move |(found, _)| found == name);
        named.filter_map(|(_, value)| value.as_deref())
    }
}

/// Names and values. A value is the next word, unless that is an argument itself, or stands behind `=`.
fn parse(words: &[String]) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for word in words {
        match word.strip_prefix('-') {
            Some(rest) => {
                let rest = rest.trim_start_matches('-');
                let (name, value) = match rest.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (rest, None),
                };
                found.push((name.to_owned(), value));
            }
            None => {
                if let Some((_, value @ None)) = found.last_mut() {
                    *value = Some(word.clone());
                }
            }
        }
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
        let found = NodeArguments::of(&node).unwrap();
        assert_eq!((found.distribution, found.is_server), (Distribution::Rke2, true));
        assert_eq!(found.cloud_provider_name(), Some("external"));
        assert!(found.is_on("disable-cloud-controller") && !found.is_on("disable-apiserver"));
        assert_eq!(found.of_component(Component::Kubelet), [("cloud-provider", "external"), ("node-ip", "10.0.0.1")]);
    }

    #[test]
    fn switches_are_read_as_go_does() {
        for (value, is_on) in [("true", true), ("T", true), ("1", true), ("false", false), ("", false), ("yes", false)]
        {
            let node = node("k3s.io/node-args", &format!(r#"["server","--disable-cloud-controller={value}"]"#));
            assert_eq!(NodeArguments::of(&node).unwrap().is_on("disable-cloud-controller"), is_on, "{value}");
        }
    }

    #[test]
    fn a_component_that_a_node_does_not_run_has_no_arguments() {
        let with = |first: &str, more: &str| {
            let text = format!(r#"["{first}","--kube-apiserver-arg","cloud-provider=external"{more}]"#);
            let node = node("rke2.io/node-args", &text);
            NodeArguments::of(&node).unwrap().of_component(Component::ApiServer).len()
        };
        assert_eq!(with("server", ""), 1);
        assert_eq!(with("agent", ""), 0);
        assert_eq!(with("server", r#","--disable-apiserver","true""#), 0);
    }

    #[test]
    fn what_no_distribution_writes_is_not_known() {
        for text in ["", "[]", "{}", "[1]", r#""server""#, r#"["server""#] {
            assert_eq!(NodeArguments::of(&node("rke2.io/node-args", text)), None, "{text}");
        }
        assert_eq!(NodeArguments::of(&KubernetesNode::default()), None);
    }
}
