//! `kubectl get nodes -o json`: the Kubernetes side of a node, reduced to the fields that rules need.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::json_input::{self, JsonError};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubernetesNode {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty if not known.
    pub uid: String,
    /// `spec.providerID`, empty when unset.
    pub provider_id: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: String,
    /// Addresses of type `InternalIP` in `status.addresses`.
    pub internal_addresses: Vec<String>,
    /// `spec.podCIDR` and `spec.podCIDRs`.
    pub pod_cidrs: Vec<String>,
    /// `metadata.creationTimestamp`, if known.
    pub created_at: Option<Timestamp>,
    /// Time of the last change of the condition `NetworkUnavailable`.
    pub network_changed_at: Option<Timestamp>,
    /// Latest time that the object mentions: its creation, or the report of a condition.
    pub seen_at: Option<Timestamp>,
    /// True if its condition `Ready` is `True`; `None` if it has no such condition.
    pub is_ready: Option<bool>,
    /// True if its condition `Ready` is `Unknown`: the control plane no longer hears from its kubelet.
    pub is_readiness_unknown: bool,
    /// Its condition `NetworkUnavailable`.
    pub network: NodeNetwork,
    /// True if it is being deleted.
    pub is_being_deleted: bool,
    /// `spec.unschedulable`.
    pub is_unschedulable: bool,
}

/// Condition `NetworkUnavailable` of a Node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NodeNetwork {
    /// Not `True`.
    #[default]
    Available,
    /// Its reason is not known.
    Unavailable,
    /// Something other than a route controller set it.
    OfPlugin,
    /// A route controller set it for want of a route (`NoRouteCreated`).
    /// Source: kubernetes/cloud-provider `controllers/route/route_controller.go#updateNetworkingCondition`.
    NoRoute,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    /// Value; empty if there is none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
    /// `timeAdded`, if known.
    pub added_at: Option<Timestamp>,
}

impl Taint {
    /// Creates a taint.
    #[must_use]
    pub fn new(key: &str, value: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned(), added_at: None }
    }
}

/// Label of Nodes that service controllers exclude from load balancers.
/// Source: kubernetes/cloud-provider `controllers/service/controller.go#nodeIncludedPredicate`.
pub(crate) const EXCLUDED_FROM_LOAD_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

impl KubernetesNode {
    /// True if service controllers exclude it from load balancers. The value of the label does not matter.
    #[must_use]
    pub fn is_excluded_from_load_balancers(&self) -> bool {
        self.labels.contains_key(EXCLUDED_FROM_LOAD_BALANCERS)
    }

    /// True if it has a control-plane label: the current one, the one before Kubernetes 1.24, or that of RKE.
    #[must_use]
    pub fn has_control_plane_label(&self) -> bool {
        let roles = ["control-plane", "controlplane", "master"];
        roles.iter().any(|role| self.labels.contains_key(&format!("node-role.kubernetes.io/{role}")))
    }

    /// True if kubeadm has registered it.
    /// Source: kubernetes/kubernetes `cmd/kubeadm/app/constants/constants.go#AnnotationKubeadmCRISocket`.
    #[must_use]
    pub fn is_kubeadm(&self) -> bool {
        self.annotations.keys().any(|key| key.starts_with("kubeadm.alpha.kubernetes.io/"))
    }

    /// True for an EKS Node, whose control plane AWS runs.
    #[must_use]
    pub fn is_eks(&self) -> bool {
        self.kubelet_version.contains("-eks-")
    }

    /// True if it has the condition `NetworkUnavailable` or its taint.
    /// Source: kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go#nodeConditionToTaintKeyStatusMap`.
    pub(crate) fn is_network_unavailable(&self) -> bool {
        self.network != NodeNetwork::Available || self.taints.iter().any(|taint| taint.key == NETWORK_UNAVAILABLE)
    }

    /// True if it was created less than this time ago, as far as both times are known.
    pub(crate) fn is_younger_than(&self, age: SignedDuration, now: Option<Timestamp>) -> bool {
        now.zip(self.created_at).is_some_and(|(now, created)| now.duration_since(created) < age)
    }

    /// True if it is an etcd member of RKE2 or K3s: deleting such a Node removes the member from etcd.
    /// Source: k3s-io/k3s `pkg/etcd/member_controller.go#onRemove`.
    #[must_use]
    pub fn is_embedded_etcd_member(&self) -> bool {
        let version = &self.kubelet_version;
        let embedded = version.contains("+rke2") || version.contains("+k3s");
        embedded && self.labels.contains_key("node-role.kubernetes.io/etcd")
    }
}

/// Reason why the node list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum NodesError {
    /// Not JSON, or not what kubectl prints.
    #[error("`{file}` is not the output of `kubectl get nodes -o json`: {error}")]
    Malformed {
        /// Name of the input.
        file: String,
        /// The defect and its place.
        error: JsonError,
    },
    /// JSON of another kind.
    #[error("`{file}` holds a `{kind}` instead of a list of nodes")]
    Kind {
        /// Name of the input.
        file: String,
        kind: String,
    },
    /// A page of a longer list, as the API returns it with `limit`: missing Nodes may still exist.
    #[error("`{file}` holds the first part of a list only: the rest is at its `metadata.continue`")]
    Partial {
        /// Name of the input.
        file: String,
    },
}

#[derive(Deserialize)]
struct RawList {
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    metadata: RawListMetadata,
    items: Vec<RawNode>,
}

#[derive(Default, Deserialize)]
struct RawListMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// Taint of Nodes whose network no controller has set up. Source: kubernetes/api `core/v1/well_known_taints.go`.
pub(crate) const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// A Node in its API form.
#[derive(Deserialize)]
pub(crate) struct RawNode {
    #[serde(default)]
    kind: Option<String>,
    metadata: RawMetadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: RawSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: RawStatus,
}

#[derive(Deserialize)]
struct RawMetadata {
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    uid: String,
    #[serde(default, deserialize_with = "or_default")]
    labels: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
    #[serde(default, rename = "creationTimestamp")]
    created_at: Option<String>,
    #[serde(default, rename = "deletionTimestamp")]
    deleted_at: Option<String>,
}

#[derive(Default, Deserialize)]
struct RawSpec {
    #[serde(default, deserialize_with = "or_default", rename = "providerID")]
    provider_id: String,
    #[serde(default, deserialize_with = "or_default")]
    taints: Vec<RawTaint>,
    #[serde(default, deserialize_with = "or_default", rename = "podCIDR")]
    pod_cidr: String,
    #[serde(default, deserialize_with = "or_default", rename = "podCIDRs")]
    pod_cidrs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    unschedulable: bool,
}

#[derive(Deserialize)]
struct RawTaint {
    key: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    effect: String,
    #[serde(default, rename = "timeAdded")]
    time_added: Option<String>,
}

#[derive(Default, Deserialize)]
struct RawStatus {
    #[serde(default, deserialize_with = "or_default", rename = "nodeInfo")]
    node_info: RawNodeInfo,
    #[serde(default, deserialize_with = "or_default")]
    addresses: Vec<RawAddress>,
    #[serde(default, deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
}

#[derive(Deserialize)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, rename = "reason")]
    set_for: Option<RawReason>,
    #[serde(default, rename = "lastHeartbeatTime")]
    heard_at: Option<String>,
    #[serde(default, rename = "lastTransitionTime")]
    changed_at: Option<String>,
}

/// Reason of a condition.
#[derive(Deserialize)]
enum RawReason {
    NoRouteCreated,
    #[serde(rename = "")]
    Empty,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct RawAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

#[derive(Default, Deserialize)]
struct RawNodeInfo {
    #[serde(default, deserialize_with = "or_default", rename = "kubeletVersion")]
    kubelet_version: String,
}

/// Reads a field; `null` is the same as no field, as Go's decoders take it.
/// Source: Go encoding/json#Unmarshal.
fn or_default<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads the output of `kubectl get nodes -o json`, sorted by name; `file` is only used in errors.
///
/// # Errors
/// When it is not JSON or not a list of nodes.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Vec<KubernetesNode>, NodesError> {
    let list: RawList =
        json_input::parse_first(bytes).map_err(|error| NodesError::Malformed { file: file.to_owned(), error })?;
    let wrong_kind = |kind: &str| NodesError::Kind { file: file.to_owned(), kind: kind.to_owned() };
    if list.kind != "List" && list.kind != "NodeList" {
        return Err(wrong_kind(&list.kind));
    }
    if list.metadata.next.is_some_and(|next| !next.is_empty()) {
        return Err(NodesError::Partial { file: file.to_owned() });
    }
    if let Some(other) = list.items.iter().filter_map(|item| item.kind.as_deref()).find(|kind| *kind != "Node") {
        return Err(wrong_kind(other));
    }
    let mut nodes: Vec<KubernetesNode> = list.items.into_iter().map(KubernetesNode::from).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(nodes)
}

impl From<RawTaint> for Taint {
    fn from(raw: RawTaint) -> Self {
        let added_at = raw.time_added.and_then(|time| time.parse().ok());
        Self { key: raw.key, value: raw.value.unwrap_or_default(), effect: raw.effect, added_at }
    }
}

impl From<RawNode> for KubernetesNode {
    fn from(raw: RawNode) -> Self {
        let mut pod_cidrs = raw.spec.pod_cidrs;
        pod_cidrs.extend(Some(raw.spec.pod_cidr).filter(|cidr| !cidr.is_empty()));
        pod_cidrs.sort();
        pod_cidrs.dedup();
        let created_at = raw.metadata.created_at.as_ref().and_then(|time| time.parse().ok());
        let times = raw.status.conditions.iter().flat_map(|one| one.heard_at.iter().chain(&one.changed_at));
        let ready = raw.status.conditions.iter().find(|one| one.kind == "Ready").map(|one| one.status.as_str());
        let (is_ready, is_readiness_unknown) = (ready.map(|ready| ready == "True"), ready == Some("Unknown"));
        let network = raw.status.conditions.iter().find(|one| one.kind == "NetworkUnavailable" && one.status == "True");
        let network_changed_at = network.and_then(|one| one.changed_at.as_ref()?.parse().ok());
        let network = match network.map(|one| &one.set_for) {
            None => NodeNetwork::Available,
            Some(Some(RawReason::NoRouteCreated)) => NodeNetwork::NoRoute,
            Some(Some(RawReason::Other)) => NodeNetwork::OfPlugin,
            // Recordings of earlier versions have no reasons.
            Some(None | Some(RawReason::Empty)) => NodeNetwork::Unavailable,
        };
        let internal = raw.status.addresses.into_iter().filter(|address| address.kind == "InternalIP");
        Self {
            name: raw.metadata.name,
            uid: raw.metadata.uid,
            provider_id: raw.spec.provider_id,
            labels: raw.metadata.labels,
            annotations: raw.metadata.annotations,
            taints: raw.spec.taints.into_iter().map(Taint::from).collect(),
            kubelet_version: raw.status.node_info.kubelet_version,
            internal_addresses: internal.map(|address| address.address).collect(),
            pod_cidrs,
            created_at,
            network_changed_at,
            seen_at: times.filter_map(|time| time.parse().ok()).max().max(created_at),
            is_ready,
            is_readiness_unknown,
            network,
            is_being_deleted: raw.metadata.deleted_at.is_some(),
            is_unschedulable: raw.spec.unschedulable,
        }
    }
}

/// The machine that a providerID refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProviderId<'a> {
    /// An EC2 instance.
    Instance(&'a str),
    /// A Fargate node, which has no instance.
    Fargate(&'a str),
    /// A machine of EKS Hybrid Nodes, which the cluster's cloud controller does not manage.
    /// Source: aws-load-balancer-controller `pkg/k8s/node_utils.go`.
    Hybrid(&'a str),
    /// The embedded cloud controller of RKE2 or K3s has initialised the Node.
    Embedded(&'a str),
}

/// Parses a providerID like the controller: the last part of the path decides, and a host is ignored. A text without
/// the prefix `aws://` is parsed as a path. Source: cloud-provider-aws
/// `pkg/providers/v1/instances.go#MapToAWSInstanceID`. `None` if the controller fails to parse it.
#[must_use]
pub(crate) fn parse_provider_id(provider_id: &str) -> Option<ProviderId<'_>> {
    if let Some(rest) = provider_id.strip_prefix("eks-hybrid://") {
        return Some(ProviderId::Hybrid(rest.rsplit('/').next().unwrap_or(rest)));
    }
    if let Some(name) = provider_id.strip_prefix("rke2://").or_else(|| provider_id.strip_prefix("k3s://")) {
        return Some(ProviderId::Embedded(name));
    }
    let rest = match provider_id.strip_prefix("aws://") {
        Some(rest) => {
            let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
            // Go's `net/url` rejects a port that is not a number.
            if host.rsplit_once(':').is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit())) {
                return None;
            }
            rest.get(host.len()..).unwrap_or_default()
        }
        None => provider_id,
    };
    let escapes = rest.split('%').skip(1);
    let is_escaped = |part: &str| part.len() > 1 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if rest.bytes().any(|byte| byte.is_ascii_control()) || !escapes.into_iter().all(is_escaped) {
        return None;
    }
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_matches('/').rsplit('/').next()?;
    if last.starts_with("fargate-") {
        return Some(ProviderId::Fargate(last));
    }
    last.starts_with("i-").then_some(ProviderId::Instance(last))
}

/// True if the cluster autoscaler and Karpenter accept a providerID: `aws:///<zone>/<id>`.
/// Sources: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#validAwsRefIdRegex`,
/// aws/karpenter-provider-aws `pkg/utils/utils.go#ParseInstanceID`.
#[must_use]
pub(crate) fn names_its_zone(provider_id: &str) -> bool {
    provider_id
        .strip_prefix("aws:///")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(zone, id)| !zone.is_empty() && id.starts_with("i-") && !id.contains('/'))
}

/// The part of a node name that the controller treats as an instance id: everything before the first dot, if the name
/// starts with `i-`. Source: cloud-provider-aws `pkg/providers/v1/aws.go#nodeNameToInstanceID`.
#[must_use]
pub(crate) fn instance_id_in_name(name: &str) -> Option<&str> {
    name.starts_with("i-").then(|| name.split('.').next().unwrap_or(name))
}

/// True if a text has the form of an AWS zone, such as `us-east-1a`.
#[must_use]
pub(crate) fn is_zone(text: &str) -> bool {
    region_from_zone(text).is_some_and(|region| region.len() < text.len())
}

/// Region of a zone, such as `us-east-1` for `us-east-1a`; names of local zones start with their region as well.
#[must_use]
pub(crate) fn region_from_zone(zone: &str) -> Option<&str> {
    let mut parts = zone.split('-');
    let (area, direction, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    // `us-gov-west-1a` has four parts.
    let before = area.len() + direction.len() + 2;
    let (before, number) = if is_number(number) {
        (before, number)
    } else {
        (before + number.len() + 1, parts.next().filter(|part| is_number(part))?)
    };
    zone.get(..before + number.trim_end_matches(|c: char| c.is_ascii_lowercase()).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_the_same_as_no_field() {
        let node = |spec: &str, status: &str, more: &str| {
            let text = format!(
                r#"{{"kind":"List","items":[{{"kind":"Node","metadata":{{"name":"a"{more}}},"spec":{spec},"status":{status}}}]}}"#
            );
            parse("nodes.json", text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
        };
        let without = node("{}", "{}", "");
        for spec in ["null", r#"{"providerID":null,"taints":null,"podCIDR":null,"podCIDRs":null,"unschedulable":null}"#]
        {
            assert_eq!(node(spec, "{}", ""), without, "{spec}");
        }
        for status in [
            "null",
            r#"{"nodeInfo":null,"addresses":null,"conditions":null}"#,
            r#"{"nodeInfo":{"kubeletVersion":null}}"#,
        ] {
            assert_eq!(node("{}", status, ""), without, "{status}");
        }
        assert_eq!(
            node("{}", "{}", r#","uid":null,"labels":null,"annotations":null,"creationTimestamp":null"#),
            without
        );
    }

    #[test]
    fn regions_are_told_from_zones() {
        for (zone, region) in [
            ("us-east-1a", Some("us-east-1")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("us-east-1-bos-1a", Some("us-east-1")),
            ("cn-north-1a", Some("cn-north-1")),
            ("i-0a", None),
            ("", None),
            ("a-b-c", None),
        ] {
            assert_eq!(region_from_zone(zone), region, "{zone}");
        }
    }

    /// cloud-provider-aws `TestMapToAWSInstanceIDs`.
    #[test]
    fn provider_ids_are_parsed_as_the_controller_does() {
        let cases: &[(&str, Option<ProviderId<'_>>)] = &[
            ("aws:///us-east-1a/i-12345678", Some(ProviderId::Instance("i-12345678"))),
            ("aws:////i-12345678", Some(ProviderId::Instance("i-12345678"))),
            ("i-12345678", Some(ProviderId::Instance("i-12345678"))),
            ("aws:///us-east-1a/i-12345678abcdef012", Some(ProviderId::Instance("i-12345678abcdef012"))),
            ("aws:////i-12345678abcdef012", Some(ProviderId::Instance("i-12345678abcdef012"))),
            ("i-12345678abcdef012", Some(ProviderId::Instance("i-12345678abcdef012"))),
            ("aws:///us-west-2c/1abc-2def/fargate-192.168.164.88", Some(ProviderId::Fargate("fargate-192.168.164.88"))),
            ("aws:///us-west-2c/1abc-2def/i-x", Some(ProviderId::Instance("i-x"))),
            ("vol-123456789", None),
            ("aws:///us-east-1a/vol-123456789", None),
            ("aws://account/us-east-1a/vol-123456789", None),
            // The host is ignored.
            ("aws://111122223333/i-0wk0", Some(ProviderId::Instance("i-0wk0"))),
            ("aws://account/us-east-1a/i-0wk0", Some(ProviderId::Instance("i-0wk0"))),
            ("aws://account:x/us-east-1a/i-0wk0", None),
            ("aws:///us-east-1a/i-0wk0%", None),
            ("aws:///us-east-1a/i-0wk0?x=y", Some(ProviderId::Instance("i-0wk0"))),
            ("us-east-1a/i-0wk0", Some(ProviderId::Instance("i-0wk0"))),
            ("AWS:///us-east-1a/vol-1", None),
            ("eks-hybrid:///us-east-1/bravo/mi-0a", Some(ProviderId::Hybrid("mi-0a"))),
            ("rke2://worker-1", Some(ProviderId::Embedded("worker-1"))),
            ("k3s://worker-1", Some(ProviderId::Embedded("worker-1"))),
            ("aws:///us-east-1a/vol-123456789/suffix", None),
            ("", None),
            ("foo://com-2351", None),
        ];
        for (provider_id, expected) in cases {
            assert_eq!(&parse_provider_id(provider_id), expected, "{provider_id}");
        }
    }

    #[test]
    fn the_autoscaler_wants_the_zone() {
        for (provider_id, expected) in [
            ("aws:///us-east-1a/i-0a", true),
            ("aws:////i-0a", false),
            ("i-0a", false),
            ("aws://account/us-east-1a/i-0a", false),
        ] {
            assert_eq!(names_its_zone(provider_id), expected, "{provider_id}");
        }
    }

    #[test]
    fn names_that_start_like_an_instance_id_are_one() {
        assert_eq!(instance_id_in_name("i-0123"), Some("i-0123"));
        assert_eq!(instance_id_in_name("i-0123.region.compute.internal"), Some("i-0123"));
        assert_eq!(instance_id_in_name("i-0123.corp.example"), Some("i-0123"));
        assert_eq!(instance_id_in_name("ip-10-0-0-1.ec2.internal"), None);
        assert_eq!(instance_id_in_name(""), None);
    }

    #[test]
    fn other_kubectl_output_is_refused_by_kind() {
        let error =
            parse("pods.json", br#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"}}]}"#).unwrap_err();
        assert_eq!(error.to_string(), "`pods.json` holds a `Pod` instead of a list of nodes");
    }

    #[test]
    fn refuses_a_page_as_a_list() {
        let page = |next: &str| {
            let text = format!(r#"{{"kind":"NodeList","metadata":{{"resourceVersion":"7"{next}}},"items":[]}}"#);
            parse("nodes.json", text.as_bytes()).map_err(|error| error.to_string())
        };
        assert_eq!(page(""), Ok(Vec::new()));
        assert_eq!(page(r#","continue":"""#), Ok(Vec::new()));
        assert!(page(r#","continue":"eyJ2Ijo""#).unwrap_err().contains("first part of a list"));
    }

    #[test]
    fn errors_name_their_place() {
        let error = parse("nodes.json", b"{\"kind\":\"List\",\n\"items\":[{\"metadata\":{\"name\":7}}]}").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(error.to_string().contains("/items/0/metadata/name"), "{error}");
    }
}
