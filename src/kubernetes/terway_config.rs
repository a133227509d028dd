//! The configuration of terway, the network plugin of Alibaba Cloud: the entry `eni_conf` of its `ConfigMap`.
//! Source: AliyunContainerService/terway `types/daemon/config.go#Config`, `daemon/builder.go#setupAliyunClient`.

use serde_json::{Map, Value};

use super::document::DocumentKind;
use super::evidence::Evidence;

/// Entry of the `ConfigMap`.
pub(crate) const ENTRY: &str = "eni_conf";

/// Keys by which it has credentials other than those of its node.
pub(crate) const CREDENTIALS: [&str; 3] = ["access_key", "access_secret", "credential_path"];

/// Who allocates addresses: `crd` is the control plane of terway. And their families.
pub(crate) const MODES: [&str; 2] = ["ipam_type", "ip_stack"];

/// Values of the modes; a recording hides any other.
pub(crate) const VALUES: [&str; 6] = ["", "crd", "default", "dual", "ipv4", "ipv6"];

/// True if terway in a namespace certainly allocates IPv4 addresses with the role of its node. False as well if a
/// further configuration is there, which the label `terway-config` of a Node selects.
pub(crate) fn allocates_as_its_node(evidence: &Evidence, namespace: &str) -> bool {
    let maps = evidence.documents_by_kind(DocumentKind::ConfigMap).filter_map(|map| {
        let map = map.object();
        let is_here = map.text(&["metadata", "namespace"]).unwrap_or("default") == namespace;
        map.text(&["data", ENTRY]).filter(|_| is_here)
    });
    let [text] = maps.collect::<Vec<_>>()[..] else { return false };
    let Ok(members) = serde_json::from_str::<Map<String, Value>>(text) else { return false };
    let text = |key: &str| members.get(key).map_or(Some(""), Value::as_str);
    let is_unset = |key| text(key) == Some("");
    CREDENTIALS.into_iter().all(is_unset)
        && is_unset("ipam_type")
        && matches!(text("ip_stack"), Some("" | "ipv4" | "dual"))
}
