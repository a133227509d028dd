//! Workloads: their containers, and the nodes that they may run on.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::nodes::{KubernetesNode, Taint};
use crate::policy::json::Value;

use super::source::{Located, Object, Place};

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
}

/// A role that a container assumes by a token which its pod mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedIdentity {
    /// Value of `AWS_ROLE_ARN`.
    pub role_arn: Located<String>,
    /// Audience of the projected token; `None` if no token or several are projected.
    pub audience: Option<String>,
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
    fn holds(&self, node: &KubernetesNode) -> bool {
        let found = node.labels.get(&self.key);
        let number = |text: Option<&String>| text.and_then(|text| text.parse::<i64>().ok());
        match self.operator.as_str() {
            "In" => found.is_some_and(|value| self.values.contains(value)),
            "NotIn" => found.is_none_or(|value| !self.values.contains(value)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            "Gt" => number(found).zip(number(self.values.first())).is_some_and(|(one, other)| one > other),
            "Lt" => number(found).zip(number(self.values.first())).is_some_and(|(one, other)| one < other),
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

/// Environment variables that give a program credentials of AWS or Alibaba Cloud. Sources: AWS SDKs and Tools Reference
/// Guide, "Settings reference"; kubernetes/cloud-provider-alibaba-cloud
/// `pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth`.
const CREDENTIAL_VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "ACCESS_KEY_ID",
    "ACCESS_KEY_SECRET",
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    "ALIBABA_CLOUD_ROLE_ARN",
    "ALICLOUD_OIDC_TOKEN_FILE_PATH",
    "ALICLOUD_ROLE_ARN",
];

/// Variable that names the role for a token.
const ROLE_VARIABLE: &str = "AWS_ROLE_ARN";

/// Variable that names the file with the token.
const TOKEN_VARIABLE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";

/// Variables that configure a controller; their values are not secret. Sources: aws/karpenter-provider-aws
/// `pkg/operator/options/options.go`; aws/amazon-vpc-cni-k8s README.md; aws/aws-node-termination-handler
/// `config/helm/aws-node-termination-handler/README.md`; kubernetes-sigs/alibaba-cloud-csi-driver
/// `pkg/utils/util.go#GetServiceType`.
const SETTING_VARIABLES: &[&str] = &[
    "ALIBABA_CLOUD_OIDC_PROVIDER_ARN",
    "ALIBABA_CLOUD_ROLE_ARN",
    "AWS_REGION",
    "CALICO_IPV4POOL_IPIP",
    "CALICO_IPV4POOL_VXLAN",
    "CALICO_NETWORKING_BACKEND",
    "CLUSTER_NAME",
    "DISABLE_NETWORK_RESOURCE_PROVISIONING",
    "ENABLE_IMDS_ONLY_MODE",
    "ENABLE_IPv4",
    "ENABLE_IPv6",
    "ENABLE_SQS_TERMINATION_DRAINING",
    "INTERRUPTION_QUEUE",
    "NO_DEFAULT_POOLS",
    "QUEUE_URL",
    "SERVICE_TYPE",
];

/// Variables through which the SDK finds credentials that are not visible in a pod.
const HIDDEN_VARIABLES: [&str; 2] = ["AWS_CONFIG_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];

/// Variables that change what a controller does; rules check only whether they are set. Sources:
/// kubernetes-sigs/external-dns `pkg/apis/externaldns/types.go`; kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/helper/service_utils.go`; kubernetes-sigs/alibaba-cloud-csi-driver `pkg/disk/disk.go`;
/// kubernetes/autoscaler `cluster-autoscaler/cloudprovider/alicloud/alicloud_cloud_config.go`.
const SWITCH_VARIABLES: [&str; 6] = [
    "ALIBABA_CLOUD_SESSION_NAME",
    "ALICLOUD_SESSION_NAME",
    "DISK_AD_CONTROLLER",
    "EXTERNAL_DNS_AWS_ASSUME_ROLE",
    "REGION_ID",
    "SERVICE_FORCE_BACKEND_ENI",
];

/// True if rules check whether a variable is set.
pub(super) fn is_checked_variable(name: &str) -> bool {
    is_public_variable(name)
        || CREDENTIAL_VARIABLES.contains(&name)
        || HIDDEN_VARIABLES.contains(&name)
        || SWITCH_VARIABLES.contains(&name)
}

/// True if rules check the value of a variable, which is not secret.
pub(super) fn is_public_variable(name: &str) -> bool {
    [ROLE_VARIABLE, TOKEN_VARIABLE].contains(&name) || SETTING_VARIABLES.contains(&name)
}

/// Pod annotations through which a proxy of the metadata service assigns a role (kube2iam, kiam).
pub(super) const CREDENTIAL_ANNOTATIONS: &[&str] = &["iam.amazonaws.com/role"];

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
                terms.iter().any(|term| {
                    let is_empty = term.expressions.is_empty() && !term.has_fields;
                    !is_empty && term.expressions.iter().all(|expression| expression.holds(node))
                })
            })
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
            containers: containers.collect(),
            init_images: pod
                .items(&["initContainers"])
                .filter(|one| !is_never_pulled(*one))
                .filter_map(|one| one.located(&["image"]))
                .collect(),
            environment: variables(pod).map(str::to_owned).collect(),
            credentials: credentials(kind, object, pod),
            has_keys: has_keys(pod),
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
            let ready = number("readyReplicas").unwrap_or(0);
            Some(WorkloadStatus { ready, desired, stuck: stuck(status), ..WorkloadStatus::default() })
        }
        WorkloadKind::DaemonSet => {
            let desired = number("desiredNumberScheduled")?;
            Some(WorkloadStatus { ready: number("numberReady").unwrap_or(0), desired, ..WorkloadStatus::default() })
        }
        WorkloadKind::Pod => {
            let containers =
                ["initContainerStatuses", "containerStatuses"].into_iter().flat_map(|key| status.items(&[key]));
            let waiting = containers.filter_map(|one| one.text(&["state", "waiting", "reason"]).map(str::to_owned));
            let refused = status
                .items(&["conditions"])
                .find(|one| one.text(&["type"]) == Some("PodScheduled") && one.text(&["status"]) == Some("False"));
            let unschedulable = refused.map(|one| one.text(&["message"]).or(one.text(&["reason"])).unwrap_or_default());
            Some(WorkloadStatus {
                waiting: waiting.collect(),
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

/// Role of the environment of a container, with the audience of the token that the pod projects.
fn mounted_identity(pod: Object<'_>) -> Option<MountedIdentity> {
    let variable = |container: Object<'_>, name: &str| {
        let found = container.items(&["env"]).find(|one| one.text(&["name"]) == Some(name))?;
        found.located(&["value"]).filter(|value| !value.value.is_empty())
    };
    // The SDK needs both.
    let role_arn = pod.items(&["containers"]).find_map(|container| {
        variable(container, TOKEN_VARIABLE)?;
        variable(container, ROLE_VARIABLE)
    })?;
    let sources = pod.items(&["volumes"]).flat_map(|volume| volume.items(&["projected", "sources"]));
    let mut audiences = sources.filter_map(|source| source.text(&["serviceAccountToken", "audience"]));
    let audience = audiences.next().filter(|first| audiences.all(|other| other == *first)).map(str::to_owned);
    role_arn.value.starts_with("arn:").then_some(MountedIdentity { role_arn, audience })
}

/// True if a container has an access key, unless it is from a Secret that need not exist.
fn has_keys(pod: Object<'_>) -> bool {
    let mut variables = pod.items(&["containers"]).flat_map(|container| container.items(&["env"]));
    variables.any(|one| {
        one.text(&["name"]) == Some("AWS_ACCESS_KEY_ID")
            && one.switch(&["valueFrom", "secretKeyRef", "optional"]) != Some(true)
    })
}

/// True if a container takes whole Secrets as its environment, or a configuration file of the SDK.
fn has_hidden_credentials(pod: Object<'_>) -> bool {
    pod.items(&["containers"]).any(|container| {
        container.items(&["envFrom"]).next().is_some() || mounts(container).any(|path| path.contains("/.aws"))
    }) || variables(pod).any(|name| HIDDEN_VARIABLES.contains(&name))
}

/// Paths in a container at which it has volumes.
fn mounts(container: Object<'_>) -> impl Iterator<Item = &str> {
    container.items(&["volumeMounts"]).filter_map(|mount| mount.text(&["mountPath"]))
}

/// Variables of a container that hold cloud credentials.
fn credential_variables(container: Object<'_>) -> Vec<&'static str> {
    let is_set = |name: &str| {
        let mut variables = container.items(&["env"]);
        variables.any(|one| one.text(&["name"]) == Some(name) && one.text(&["value"]) != Some(""))
    };
    CREDENTIAL_VARIABLES.iter().copied().filter(|name| is_set(name)).collect()
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

/// Names of the environment variables of the containers of a pod that are not empty.
fn variables(pod: Object<'_>) -> impl Iterator<Item = &str> {
    // A recording has no values.
    let is_set = |one: &Object<'_>| one.text(&["value"]) != Some("");
    pod.items(&["containers"])
        .flat_map(move |container| container.items(&["env"]).filter(is_set).filter_map(|one| one.text(&["name"])))
}

/// Values of the variables of a container that configure a controller.
fn settings(container: Object<'_>) -> BTreeMap<&'static str, String> {
    let known = container.items(&["env"]).filter_map(|one| {
        let name = SETTING_VARIABLES.iter().find(|known| one.text(&["name"]) == Some(known))?;
        // A reference to another variable is not expanded.
        Some((*name, one.at(&["value"])?.scalar().filter(|value| !value.contains("$("))?))
    });
    known.collect()
}

/// Sources of cloud credentials of the containers of a pod.
fn credentials(kind: WorkloadKind, object: Object<'_>, pod: Object<'_>) -> Vec<&'static str> {
    let metadata: &[&str] = if kind == WorkloadKind::Pod { &["metadata"] } else { &["spec", "template", "metadata"] };
    let annotations = object.at(&[metadata, &["annotations"]].concat());
    let is_annotated = |name: &&&str| annotations.is_some_and(|all| all.at(&[**name]).is_some());
    let variables: Vec<&str> = variables(pod).collect();
    let known = CREDENTIAL_VARIABLES.iter().filter(|name| variables.contains(name));
    known.chain(CREDENTIAL_ANNOTATIONS.iter().filter(is_annotated)).copied().collect()
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
