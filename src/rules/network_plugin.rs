//! The network plugin of a cluster, as its `DaemonSet`s and its configuration show it.

use crate::controller::alibaba_companion::image_parts;
use crate::kubernetes::arguments::{Distribution, NodeArguments, Started};
use crate::kubernetes::{Document, DocumentKind, Evidence, WorkloadKind};
use crate::text;

use super::cluster_configuration::is_declared_for;

/// Images of flannel, by the last part of their name.
const FLANNEL: [&str; 3] = ["flannel", "hardened-flannel", "mirrored-flannel-flannel"];

/// Images of the agent of Calico.
const CALICO: [&str; 2] = ["node", "mirrored-calico-node"];

/// The plugin that encapsulates the traffic of the Pods between Nodes, as the start of a sentence.
pub(super) fn encapsulation(evidence: &Evidence) -> Option<String> {
    flannel(evidence).or_else(|| cilium(evidence)).or_else(|| calico(evidence)).or_else(|| bundled(evidence))
}

/// The plugin that gives Pods addresses which no network interface of the cloud has: it takes them from `podCIDR` or from
/// its pools. `None` if Terway runs, whose Pods have interfaces.
pub(super) fn without_interfaces(evidence: &Evidence) -> Option<&'static str> {
    if runs(evidence, &["terway"]) {
        return None;
    }
    if runs(evidence, &FLANNEL) {
        return Some("flannel");
    }
    // Calico may enforce policies alone: only where it installs its plugin does it give addresses.
    let installs =
        images(evidence).any(|image| image.contains("calico/cni") || image_parts(image).0 == "mirrored-calico-cni");
    (installs || runs(evidence, &["hardened-calico"])).then_some("Calico")
}

fn images(evidence: &Evidence) -> impl Iterator<Item = &str> {
    let sets = evidence.workloads.iter().filter(|one| one.kind == WorkloadKind::DaemonSet);
    sets.flat_map(|one| one.containers.iter().map(|container| &container.image).chain(&one.init_images))
        .map(|image| image.value.as_str())
}

/// True if a `DaemonSet` has an image whose repository ends with a name.
fn runs(evidence: &Evidence, names: &[&str]) -> bool {
    images(evidence).any(|image| names.contains(&image_parts(image).0))
}

fn maps(evidence: &Evidence) -> impl Iterator<Item = &Document> {
    evidence.documents_by_kind(DocumentKind::ConfigMap)
}

/// Flannel with a backend that encapsulates everything between the Nodes. Others may need the routes of the VPC.
fn flannel(evidence: &Evidence) -> Option<String> {
    let text = maps(evidence).find_map(|map| map.object().text(&["data", "net-conf.json"]))?;
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let backend = json.get("Backend")?.get("Type")?.as_str()?;
    // Nodes of one vSwitch send to each other without encapsulation.
    let is_direct = json.get("Backend")?.get("DirectRouting").and_then(serde_json::Value::as_bool) == Some(true);
    let is_it = !is_direct && runs(evidence, &FLANNEL);
    (is_it && matches!(backend, "vxlan" | "wireguard" | "ipsec" | "ipip" | "udp"))
        .then(|| format!("flannel connects the Pods by `{}`", text::printable(backend)))
}

/// Cilium with a tunnel; `routing-mode` since v1.14, `tunnel` before.
fn cilium(evidence: &Evidence) -> Option<String> {
    let map = maps(evidence).find(|map| map.object().text(&["metadata", "name"]) == Some("cilium-config"))?;
    let value = |key: &str| map.object().text(&["data", key]);
    let has_tunnel = match value("routing-mode") {
        Some(mode) => mode == "tunnel",
        None => matches!(value("tunnel"), Some("vxlan" | "geneve")),
    };
    (has_tunnel && runs(evidence, &["cilium", "mirrored-cilium-cilium"]))
        .then(|| "Cilium connects the Pods by a tunnel".to_owned())
}

/// Calico that encapsulates everything between the Nodes, by the pool that `calico-node` creates at its first start.
/// `CrossSubnet` sends without encapsulation in a vSwitch.
/// Source: Calico documentation, Configuring calico/node, `CALICO_IPV4POOL_IPIP` and `CALICO_IPV4POOL_VXLAN`.
fn calico(evidence: &Evidence) -> Option<String> {
    let sets = evidence.workloads.iter().filter(|one| one.kind == WorkloadKind::DaemonSet);
    let mut containers = sets.flat_map(|one| &one.containers);
    let node = containers.find(|one| CALICO.contains(&image_parts(&one.image.value).0))?;
    let is_set = |name: &str, to: &str| node.settings.get(name).is_some_and(|value| value.eq_ignore_ascii_case(to));
    // Policies alone, or pools that something else creates.
    if is_set("CALICO_NETWORKING_BACKEND", "none") || is_set("NO_DEFAULT_POOLS", "true") {
        return None;
    }
    let is_always = |name: &str| node.settings.get(name).is_some_and(|value| value == "Always");
    [("CALICO_IPV4POOL_VXLAN", "VXLAN"), ("CALICO_IPV4POOL_IPIP", "IP-in-IP")]
        .into_iter()
        .find(|(name, _)| is_always(name))
        .map(|(name, mode)| format!("Calico creates its pool with {mode} (`{name}: Always`)"))
}

/// The plugin that a configuration of RKE2 or K3s names.
fn bundled(evidence: &Evidence) -> Option<String> {
    let is_of_it = |one: &&NodeArguments| match &one.started {
        Started::Node(_) => true,
        Started::Declared { place, .. } => is_declared_for(evidence.alibaba_controllers(), place),
    };
    evidence.arguments().iter().filter(is_of_it).find_map(|one| {
        let (option, overlays): (&str, &[&str]) = match one.distribution {
            // Calico and Cilium of RKE2 may be configured without encapsulation.
            Distribution::Rke2 => ("cni", &["canal", "flannel"]),
            Distribution::K3s => ("flannel-backend", &["vxlan", "wireguard", "wireguard-native", "ipsec"]),
            _ => return None,
        };
        let all = one.all(option);
        let mut values = all.iter().flat_map(|(value, _)| value.split(',')).map(str::trim);
        let value = values.find(|value| overlays.contains(value))?;
        Some(format!("{} connects the Pods itself (`{option}: {value}`)", one.distribution.name()))
    })
}
