//! Nodes of RKE2 and K3s, with what they were started with.

use serde_json::{Value, json};

/// Writes on the Nodes what their distribution started them with.
pub(crate) fn started_with(
    nodes: &mut Value,
    annotation: &str,
    is_server: impl Fn(&str) -> bool,
    server: &[&str],
    agent: &[&str],
) {
    for node in nodes["items"].as_array_mut().unwrap() {
        let is_server = is_server(node["metadata"]["name"].as_str().unwrap());
        let (role, own) = if is_server { ("server", server) } else { ("agent", agent) };
        let words: Vec<&str> = [role].iter().chain(own).copied().chain(["--token", "********"]).collect();
        node["metadata"]["annotations"][annotation] = json!(json!(words).to_string());
    }
}

/// What servers and agents beside an external cloud controller are started with.
pub(crate) const EXTERNAL_SERVER: &[&str] = &[
    "--disable-cloud-controller",
    "true",
    "--kubelet-arg",
    "cloud-provider=external",
    "--kube-controller-manager-arg",
    "cloud-provider=external",
];
pub(crate) const EXTERNAL_AGENT: &[&str] = &["--kubelet-arg", "cloud-provider=external"];

/// What stops upgrades: a server as documents of 2023 would have it.
pub(crate) const ENDING_SERVER: &[&str] = &[
    "--cloud-provider-name",
    "external",
    "--kube-apiserver-arg",
    "cloud-provider=external",
    "--kube-controller-manager-arg",
    "cloud-provider=aws",
    "--kubelet-arg",
    "cloud-config=/etc/kubernetes/cloud.conf",
    "--kubelet-arg",
    "feature-gates=CSIMigrationAWS=false,GracefulNodeShutdown=true",
];
