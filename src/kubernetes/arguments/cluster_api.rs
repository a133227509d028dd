//! Arguments with which Cluster API's provider for RKE2 starts nodes.
//! Sources: rancher/cluster-api-provider-rke2 `bootstrap/api/v1beta1/rke2config_types.go`,
//! `controlplane/api/v1beta1/rke2controlplane_types.go`, `pkg/rke2/config.go`.

use super::super::{Document, Located, Object};
use super::{Distribution, NodeArguments, with_dashes};

/// Paths of the server and agent configuration: in the object, or in the template within it.
const PLACES: [&[&str]; 2] = [&["spec", "template", "spec"], &["spec"]];

/// Components whose arguments are lists, with the key of `config.yaml` that each becomes.
const COMPONENTS: [(&[&str], &str); 4] = [
    (&["agentConfig", "kubelet", "extraArgs"], "kubelet-arg"),
    (&["serverConfig", "kubeAPIServer", "extraArgs"], "kube-apiserver-arg"),
    (&["serverConfig", "kubeControllerManager", "extraArgs"], "kube-controller-manager-arg"),
    (&["serverConfig", "cloudControllerManager", "extraArgs"], "kube-cloud-controller-manager-arg"),
];

/// Arguments of a control plane, or of the machines of a configuration.
#[must_use]
pub(super) fn rke2(document: &Document) -> Option<NodeArguments> {
    let object = document.object();
    let is_config = |spec: &Object<'_>| ["agentConfig", "serverConfig"].iter().any(|key| spec.node.get(key).is_some());
    let spec = PLACES.into_iter().filter_map(|path| object.at(path)).find(is_config)?;
    let mut arguments: Vec<(String, Located<String>)> = Vec::new();
    for (path, key) in COMPONENTS {
        let values = spec.items(path).filter_map(|item| {
            let text = item.node.as_str()?;
            // RKE2 accepts them with and without leading dashes.
            Some(Located { value: with_dashes(text.trim_start_matches('-')), place: item.place() })
        });
        arguments.extend(values.map(|value| (key.to_owned(), value)));
    }
    let name = spec.located(&["serverConfig", "cloudProviderName"]).filter(|name| !name.value.is_empty());
    arguments.extend(name.map(|name| ("cloud-provider-name".to_owned(), name)));
    let disabled = spec.items(&["serverConfig", "disableComponents", "kubernetesComponents"]);
    let own = disabled.filter(|item| item.node.as_str() == Some("cloudController"));
    arguments.extend(own.map(|item| {
        ("disable-cloud-controller".to_owned(), Located { value: "true".to_owned(), place: item.place() })
    }));
    let version = [&["version"][..], &["agentConfig", "version"]];
    let version = version.into_iter().find_map(|path| spec.text(path)).and_then(|version| version.parse().ok());
    let is_server = Some(document.kind_name().starts_with("RKE2ControlPlane"));
    let (name, place) = (document.name.clone(), object.head());
    Some(NodeArguments::from_configuration(name, place, Distribution::Rke2, version, is_server, arguments))
}
