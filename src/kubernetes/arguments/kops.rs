//! Arguments with which kOps starts nodes. kOps chooses the cloud provider of every component by the version, so only
//! settings that it passes on unchanged are checked: feature gates.
//! Sources: kubernetes/kops `pkg/apis/kops/v1alpha2/componentconfig.go` (`FeatureGates`),
//! `pkg/model/components/kubelet.go`.

use super::super::{Document, Located};
use super::{Distribution, NodeArguments};

/// Components in the `spec` of a cluster or an instance group, with the configuration key that each becomes.
const COMPONENTS: [(&str, &str); 5] = [
    ("kubelet", "kubelet-arg"),
    ("controlPlaneKubelet", "kubelet-arg"),
    ("masterKubelet", "kubelet-arg"),
    ("kubeAPIServer", "kube-apiserver-arg"),
    ("kubeControllerManager", "kube-controller-manager-arg"),
];

/// Arguments of a `Cluster` or an `InstanceGroup`; `None` if it is for another cloud than AWS.
#[must_use]
pub(super) fn kops(document: &Document) -> Option<NodeArguments> {
    let object = document.object();
    let of_another = object.at(&["spec", "cloudProvider"]).is_some_and(|provider| {
        provider.text(&[]).is_some_and(|name| name != "aws")
            || provider.node.members().is_some_and(|members| !members.iter().any(|member| *member.key == *"aws"))
    });
    if of_another {
        return None;
    }
    let mut arguments = Vec::new();
    for (component, key) in COMPONENTS {
        for (gate, value) in object.members(&["spec", component, "featureGates"]) {
            let Some(is_on) = value.scalar() else { continue };
            let value = Located { value: format!("feature-gates={}={is_on}", gate.value), place: gate.place };
            arguments.push((key.to_owned(), value));
        }
    }
    let version = object.text(&["spec", "kubernetesVersion"]).and_then(|version| version.parse().ok());
    let (name, place) = (document.name.clone(), object.head());
    let found = NodeArguments::from_configuration(name, place, Distribution::Kops, version, None, arguments);
    // kOps chooses the rest itself.
    Some(NodeArguments { is_part: true, is_of_kubelet: false, ..found })
}
