//! Workloads: their containers, and the nodes that they may run on.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::nodes::{KubernetesNode, Taint};
use crate::policy::json::Value;

use super::source::{Located, Object, Place};

mod environment;

pub(crate) use environment::SKIP_CONTAINERS;
pub(super) use environment::{CREDENTIAL_ANNOTATIONS, is_checked_variable, is_public_variable};
use environment::{
    credential_variables, credentials, has_hidden_credentials, has_keys, key_secret, mounted_identity,
    optional_key_secret, settings, token_file, variables,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// A pod on every matching node.
    DaemonSet,
    /// A number of pods.
    Deployment,
    /// A number of pods with fixed names.
    StatefulSet,
    Pod,
}

impl WorkloadKind {
    /// Name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DaemonSet => "DaemonSet",
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::Pod => "Pod",
        }
    }

    pub(super) fn from_name(kind: &str) -> Option<Self> {
        [Self::DaemonSet, Self::Deployment, Self::StatefulSet, Self::Pod].into_iter().find(|one| one.name() == kind)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact about its pods")]
pub struct Workload {
    pub kind: WorkloadKind,
    /// `apiVersion`.
    pub api_version: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty in a manifest.
    pub uid: String,
    /// `metadata.creationTimestamp`, if known.
    pub created_at: Option<Timestamp>,
    /// True if something else created it: a `ReplicaSet` its pods, a node the mirror of a static pod.
    pub is_owned: bool,
    /// True if it is the mirror of a static pod.
    pub is_static: bool,
    pub release_role: ReleaseRole,
    /// `spec.replicas`; 1 if not set.
    pub replicas: i64,
    /// Its state, in an object of a live cluster.
    pub status: Option<WorkloadStatus>,
    /// `spec.template.spec.nodeSelector`.
    pub node_selector: Vec<(Located<String>, String)>,
    /// Required terms of `affinity.nodeAffinity`, one of which must match; `None` if there is no such requirement.
    pub required_affinity: Option<Vec<AffinityTerm>>,
    pub tolerations: Vec<Toleration>,
    /// `hostNetwork`.
    pub is_on_host_network: bool,
    /// `dnsPolicy`.
    pub dns_policy: Option<Located<String>>,
    /// `serviceAccountName`; `default` if not set.
    pub service_account: String,
    /// Node of a pod.
    pub node: Option<String>,
    pub containers: Vec<Container>,
    /// Images of `initContainers` that are pulled.
    pub init_images: Vec<Located<String>>,
    /// Sources of cloud credentials of its containers: environment variables, or an annotation of its pods. Values are
    /// not stored.
    pub credentials: Vec<&'static str>,
    /// Names of the environment variables of its containers. Values are not stored.
    pub environment: Vec<String>,
    /// True if a container always has an access key of AWS in its environment.
    pub has_keys: bool,
    /// Name of the Secret with the access key of its environment, of either cloud.
    pub key_secret: Option<String>,
    /// Name of a Secret that need not exist, which would hold an access key of AWS.
    pub optional_key_secret: Option<String>,
    /// True if credentials may come from what is not visible: whole Secrets as environment, configuration files.
    pub has_hidden_credentials: bool,
    /// Role that its containers assume by a token which the pod mounts itself.
    pub web_identity: Option<MountedIdentity>,
    /// Names of `imagePullSecrets`; its `ServiceAccount` may add others.
    pub pull_secrets: Vec<String>,
    /// Place of its name.
    pub place: Place,
    /// Start of its pod specification.
    pub pod_place: Place,
}

/// State of a workload, or of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadStatus {
    /// Ready pods.
    pub ready: i64,
    /// Pods that there should be.
    pub desired: i64,
    /// Reasons for which containers of a pod do not run, such as `CrashLoopBackOff`.
    pub waiting: Vec<String>,
    /// Reason for which no node takes a pod.
    pub unschedulable: Option<String>,
    /// Conditions of a workload that last: its deadline has passed, or no pod can be created.
    pub stuck: Vec<String>,
    /// Pods that exist, of a workload.
    pub existing: i64,
    /// True for a pod none of whose containers has started yet.
    /// Source: kubernetes/kubernetes `pkg/kubelet/kubelet_pods.go#convertToAPIContainerStatuses`.
    pub is_unstarted: bool,
}

/// A role that a container assumes by a token which its pod mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedIdentity {
    /// Value of `AWS_ROLE_ARN`.
    pub role_arn: Located<String>,
    /// Audience of the projected token; `None` if no token or several are projected.
    pub audience: Option<String>,
    /// True if a token is projected into a volume.
    pub has_token: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    pub image: Located<String>,
    /// True if the image is never pulled: `imagePullPolicy: Never`.
    pub is_never_pulled: bool,
    /// `command` and `args`.
    pub words: Vec<Located<String>>,
    /// Values of the environment variables that configure a controller; they are not secret.
    pub settings: BTreeMap<&'static str, String>,
    /// `mountPath` of its volumes. Empty as well in an old recording, which does not hold them.
    pub mounts: Vec<String>,
    /// Path in `AWS_WEB_IDENTITY_TOKEN_FILE`.
    pub token_file: Option<Located<String>>,
    /// True if whole Secrets are its environment.
    pub takes_secrets: bool,
    /// Sources of cloud credentials among its variables. Values are not stored.
    pub credentials: Vec<&'static str>,
    /// Port that its liveness probe requests over HTTP, if it is a number.
    pub liveness_port: Option<Located<u16>>,
}

impl Container {
    /// Name of the program that it starts; empty if the image decides.
    #[must_use]
    pub fn program(&self) -> &str {
        self.words.first().and_then(|word| word.value.rsplit('/').next()).unwrap_or_default()
    }

    /// Values of a flag that may be repeated, as they are written: `--name=value`, or `--name` and the value as the next
    /// word.
    pub(crate) fn flag_values(&self, name: &str) -> Vec<&str> {
        let mut words = self.words.iter();
        let mut values = Vec::new();
        while let Some(word) = words.next() {
            let Some(rest) = word.value.strip_prefix("--").and_then(|rest| rest.strip_prefix(name)) else { continue };
            match rest.strip_prefix('=') {
                Some(given) => values.push(given),
                None if rest.is_empty() => values.extend(words.next().map(|next| next.value.as_str())),
                None => {}
            }
        }
        values
    }

    /// True if it starts a shell: the effect of its words is then unknown.
    #[must_use]
    pub fn starts_shell(&self) -> bool {
        matches!(self.program(), "sh" | "bash" | "ash" | "dash")
    }
}

/// A term of required node affinity: all of its expressions must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffinityTerm {
    /// `matchExpressions`.
    pub expressions: Vec<Expression>,
    /// True if the term also uses `matchFields` (matches by node name).
    pub has_fields: bool,
}

/// An expression over labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Label.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`.
    pub operator: String,
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// Key; empty for any.
    pub key: String,
    /// True if any value matches (`operator: Exists`).
    pub is_any_value: bool,
    pub value: String,
    /// Effect; empty for any.
    pub effect: String,
}

impl Toleration {
    /// True if it tolerates a taint. Source: kubernetes/api `core/v1/toleration.go#ToleratesTaint`.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let is_effect = self.effect.is_empty() || self.effect == taint.effect;
        let is_key = if self.key.is_empty() { self.is_any_value } else { self.key == taint.key };
        is_effect && is_key && (self.is_any_value || self.value == taint.value)
    }
}

impl Expression {
    /// True if it matches a node with this value of its label, or without the label.
    #[must_use]
    pub(crate) fn holds(&self, found: Option<&str>) -> bool {
        let has = |value: &str| self.values.iter().any(|one| one == value);
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        let first = self.values.first().map(String::as_str);
        match self.operator.as_str() {
            "In" => found.is_some_and(has),
            "NotIn" => !found.is_some_and(has),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            "Gt" => number(found).zip(number(first)).is_some_and(|(one, other)| one > other),
            "Lt" => number(found).zip(number(first)).is_some_and(|(one, other)| one < other),
            _ => false,
        }
    }
}

/// Taints that every pod of a `DaemonSet` tolerates by default.
/// Source: kubernetes/kubernetes `pkg/controller/daemon/util/daemonset_util.go#AddOrUpdateDaemonPodTolerations`.
const OF_DAEMON_PODS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

impl Workload {
    /// `KIND NAMESPACE/NAME`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let namespace = if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) };
        format!("{} {namespace}{}", self.kind.name(), self.name)
    }

    /// Images that are pulled for its pods.
    pub fn pulled_images(&self) -> impl Iterator<Item = &Located<String>> {
        let pulled = self.containers.iter().filter(|container| !container.is_never_pulled);
        pulled.map(|container| &container.image).chain(&self.init_images)
    }

    /// True if a node matches `nodeSelector` and the required affinity.
    #[must_use]
    pub fn selects(&self, node: &KubernetesNode) -> bool {
        self.node_selector.iter().all(|(key, value)| node.labels.get(&key.value) == Some(value))
            && self.required_affinity.as_ref().is_none_or(|terms| {
                // An empty term matches no node.
                let label = |key: &str| node.labels.get(key).map(String::as_str);
                terms.iter().any(|term| {
                    let is_empty = term.expressions.is_empty() && !term.has_fields;
                    !is_empty && term.expressions.iter().all(|expression| expression.holds(label(&expression.key)))
                })
            })
    }

    /// True if its pods run only on nodes with a value of a label, by `nodeSelector` or by each term of the
    /// required affinity.
    #[must_use]
    pub fn asks_for_label(&self, key: &str, value: &str) -> bool {
        let asks = |expression: &Expression| {
            expression.key == key
                && match expression.operator.as_str() {
                    "In" => expression.values.iter().any(|one| one == value),
                    "Exists" => true,
                    _ => false,
                }
        };
        self.node_selector.iter().any(|(name, asked)| name.value == key && asked == value)
            || self
                .required_affinity
                .as_ref()
                .is_some_and(|terms| !terms.is_empty() && terms.iter().all(|term| term.expressions.iter().any(asks)))
    }

    /// True if a taint repels or evicts its pods.
    #[must_use]
    pub fn is_kept_away_by(&self, taint: &Taint) -> bool {
        if taint.effect == "PreferNoSchedule" {
            return false;
        }
        let is_of_daemon = self.kind == WorkloadKind::DaemonSet
            && (OF_DAEMON_PODS.contains(&(taint.key.as_str(), taint.effect.as_str()))
                || self.is_on_host_network
                    && (taint.key.as_str(), taint.effect.as_str())
                        == ("node.kubernetes.io/network-unavailable", "NoSchedule"));
        !is_of_daemon && !self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    /// Reads a workload; `None` if it has no name or no pod specification, as in a patch.
    pub(super) fn read(kind: WorkloadKind, object: Object<'_>) -> Option<Self> {
        let name = object.located(&["metadata", "name"]).or_else(|| object.located(&["metadata", "generateName"]));
        let name = name?;
        let pod =
            if kind == WorkloadKind::Pod { object.at(&["spec"]) } else { object.at(&["spec", "template", "spec"]) };
        let pod = pod?;
        let text = |path: &[&str]| object.text(path).unwrap_or_default().to_owned();
        let is_static = object.node.at(&["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
        let selector = pod.members(&["nodeSelector"]).filter_map(|(key, value)| Some((key, value.scalar()?)));
        let required =
            ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
        let containers = pod.items(&["containers"]).filter_map(|container| {
            let words = ["command", "args"].into_iter().flat_map(|list| container.items(&[list]));
            let words = words.filter_map(|word| Some(Located { value: word.scalar()?, place: word.place() }));
            Some(Container {
                name: container.text(&["name"]).unwrap_or_default().to_owned(),
                image: container.located(&["image"])?,
                is_never_pulled: is_never_pulled(container),
                words: words.collect(),
                settings: settings(container),
                mounts: mounts(container).map(str::to_owned).collect(),
                token_file: token_file(container),
                takes_secrets: container.items(&["envFrom"]).any(|source| source.at(&["secretRef"]).is_some()),
                credentials: credential_variables(container),
                liveness_port: liveness_port(container, pod.switch(&["hostNetwork"]) == Some(true)),
            })
        });
        Some(Self {
            kind,
            api_version: text(&["apiVersion"]),
            namespace: text(&["metadata", "namespace"]),
            uid: text(&["metadata", "uid"]),
            created_at: object.text(&["metadata", "creationTimestamp"]).and_then(|time| time.parse().ok()),
            is_owned: object.items(&["metadata", "ownerReferences"]).next().is_some(),
            is_static,
            release_role: release_role(|name| object.text(&["metadata", "annotations", name])),
            replicas: object.number(&["spec", "replicas"]).unwrap_or(1),
            status: status(kind, object),
            node_selector: selector.collect(),
            required_affinity: pod.at(&required).map(|terms| terms.items(&[]).map(affinity_term).collect()),
            tolerations: pod.items(&["tolerations"]).map(toleration).collect(),
            is_on_host_network: pod.switch(&["hostNetwork"]) == Some(true),
            dns_policy: pod.located(&["dnsPolicy"]),
            service_account: ["serviceAccountName", "serviceAccount"]
                .into_iter()
                .find_map(|key| pod.text(&[key]).filter(|name| !name.is_empty()))
                .unwrap_or("default")
                .to_owned(),
            node: pod
                .text(&["nodeName"])
                .filter(|name| !name.is_empty() && kind == WorkloadKind::Pod)
                .map(str::to_owned),
            containers: containers.collect(),
            init_images: pod
                .items(&["initContainers"])
                .filter(|one| !is_never_pulled(*one))
                .filter_map(|one| one.located(&["image"]))
                .collect(),
            environment: variables(pod).map(str::to_owned).collect(),
            credentials: credentials(kind, object, pod),
            has_keys: has_keys(pod),
            key_secret: key_secret(pod),
            optional_key_secret: optional_key_secret(pod),
            has_hidden_credentials: has_hidden_credentials(pod),
            web_identity: mounted_identity(pod),
            pull_secrets: pod
                .items(&["imagePullSecrets"])
                .map(|secret| secret.text(&["name"]).unwrap_or_default().to_owned())
                .collect(),
            name: name.value,
            place: name.place,
            pod_place: pod.place(),
        })
    }
}

/// State of a workload, if a controller or a kubelet has reported one.
/// Sources: kubernetes/api `apps/v1/types.go#DeploymentStatus`, `#DaemonSetStatus`; `core/v1/types.go#PodStatus`.
fn status(kind: WorkloadKind, object: Object<'_>) -> Option<WorkloadStatus> {
    let status = object.at(&["status"])?;
    let number = |key: &str| status.number(&[key]);
    match kind {
        WorkloadKind::Deployment | WorkloadKind::StatefulSet => {
            let is_reported = status.items(&["conditions"]).next().is_some();
            let asked = object.number(&["spec", "replicas"]).unwrap_or(1);
            // A Deployment of which no Pod can be created has no `replicas` in its status.
            let desired = match number("replicas") {
                Some(created) if created > 0 => created,
                Some(_) => asked,
                None => Some(asked).filter(|_| is_reported)?,
            };
            let (ready, existing) = (number("readyReplicas").unwrap_or(0), number("replicas").unwrap_or(0));
            Some(WorkloadStatus { ready, desired, existing, stuck: stuck(status), ..WorkloadStatus::default() })
        }
        WorkloadKind::DaemonSet => {
            let desired = number("desiredNumberScheduled")?;
            let number = |key: &str| number(key).unwrap_or(0);
            let (ready, existing) = (number("numberReady"), number("currentNumberScheduled"));
            Some(WorkloadStatus { ready, desired, existing, ..WorkloadStatus::default() })
        }
        WorkloadKind::Pod => {
            let containers =
                ["initContainerStatuses", "containerStatuses"].into_iter().flat_map(|key| status.items(&[key]));
            let waiting = |one: Object<'_>| one.text(&["state", "waiting", "reason"]).map(str::to_owned);
            let reasons: Vec<Option<String>> = containers.map(waiting).collect();
            let is_unstarted =
                |state: &Option<String>| matches!(state.as_deref(), Some("ContainerCreating" | "PodInitializing"));
            // A Pod with scheduling gates is not tried yet.
            let refused = status.items(&["conditions"]).find(|one| {
                one.text(&["type"]) == Some("PodScheduled")
                    && one.text(&["status"]) == Some("False")
                    && one.text(&["reason"]) != Some("SchedulingGated")
            });
            let unschedulable = refused.map(|one| one.text(&["message"]).or(one.text(&["reason"])).unwrap_or_default());
            Some(WorkloadStatus {
                is_unstarted: !reasons.is_empty() && reasons.iter().all(is_unstarted),
                waiting: reasons.into_iter().flatten().collect(),
                unschedulable: unschedulable.map(str::to_owned),
                ..WorkloadStatus::default()
            })
        }
    }
}

/// Conditions of a Deployment that do not end by themselves.
/// Source: kubernetes/kubernetes `pkg/controller/deployment/util/deployment_util.go` (`TimedOutReason`,
/// `FailedRSCreateReason`), `pkg/controller/replicaset/replica_set_utils.go` (`ReplicaFailure`).
fn stuck(status: Object<'_>) -> Vec<String> {
    let conditions = status.items(&["conditions"]).filter_map(|one| {
        let text = |key: &str| one.text(&[key]).unwrap_or_default();
        match (text("type"), text("status"), text("reason")) {
            ("Progressing", "False", reason @ "ProgressDeadlineExceeded") => Some(reason.to_owned()),
            ("ReplicaFailure", "True", reason) => Some(format!("{reason}: {}", text("message"))),
            _ => None,
        }
    });
    conditions.collect()
}

/// Relation of an object to the release of Helm that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseRole {
    /// Deleted by an upgrade to a release that does not contain it.
    Member,
    /// Kept by an upgrade (`helm.sh/resource-policy: keep`).
    Kept,
    /// Not part of the release; created on these events.
    Hook { at_install: bool, at_upgrade: bool },
}

/// The relation of an object with these annotations to its release.
/// Sources: helm/helm `pkg/kube/client.go#Update` (`ResourcePolicyAnno`), `pkg/release/v1/hook.go` (`HookAnnotation`).
pub(crate) fn release_role<'o>(annotation: impl Fn(&str) -> Option<&'o str>) -> ReleaseRole {
    if let Some(events) = annotation("helm.sh/hook") {
        let has = |kind: &str| {
            let mut all = events.split(',').map(str::trim);
            all.any(|event| event.strip_prefix("pre-").or(event.strip_prefix("post-")) == Some(kind))
        };
        return ReleaseRole::Hook { at_install: has("install"), at_upgrade: has("upgrade") };
    }
    match annotation("helm.sh/resource-policy") {
        Some("keep") => ReleaseRole::Kept,
        _ => ReleaseRole::Member,
    }
}

/// Paths in a container at which it has volumes.
fn mounts(container: Object<'_>) -> impl Iterator<Item = &str> {
    container.items(&["volumeMounts"]).filter_map(|mount| mount.text(&["mountPath"]))
}

/// Port that the liveness probe of a container requests over HTTP, if it is a number.
fn liveness_port(container: Object<'_>, is_on_host_network: bool) -> Option<Located<u16>> {
    let request = container.at(&["livenessProbe", "httpGet"])?;
    let is_own =
        |host: &str| host.is_empty() || is_on_host_network && ["127.0.0.1", "localhost", "::1"].contains(&host);
    // Another host answers.
    if request.text(&["host"]).is_some_and(|host| !is_own(host)) {
        return None;
    }
    let port = request.at(&["port"])?;
    Some(Located { value: port.scalar()?.parse().ok()?, place: port.place() })
}

fn is_never_pulled(container: Object<'_>) -> bool {
    container.text(&["imagePullPolicy"]) == Some("Never")
}

fn affinity_term(term: Object<'_>) -> AffinityTerm {
    let expressions = term.items(&["matchExpressions"]).map(|expression| Expression {
        key: expression.text(&["key"]).unwrap_or_default().to_owned(),
        operator: expression.text(&["operator"]).unwrap_or_default().to_owned(),
        values: expression.items(&["values"]).filter_map(Object::scalar).collect(),
    });
    AffinityTerm { expressions: expressions.collect(), has_fields: term.items(&["matchFields"]).next().is_some() }
}

/// Reads a toleration. Source: kubernetes/api `core/v1/types.go#Toleration`.
pub(super) fn toleration(toleration: Object<'_>) -> Toleration {
    let value = toleration.at(&["value"]).filter(|value| value.node.value != Value::Null).and_then(Object::scalar);
    Toleration {
        key: toleration.text(&["key"]).unwrap_or_default().to_owned(),
        is_any_value: toleration.text(&["operator"]) == Some("Exists"),
        value: value.unwrap_or_default(),
        effect: toleration.text(&["effect"]).unwrap_or_default().to_owned(),
    }
}
