//! The configuration of the cloud controller of Alibaba Cloud.

use crate::alibaba::{CLUSTER_TAG, LoadBalancerKind};
use crate::controller::ControllerVersion;
use crate::controller::alibaba::AlibabaController;
use crate::kubernetes::alibaba_cloud_config::{CloudConfig, Switch};
use crate::kubernetes::{Evidence, Service};

use crate::model::decision::Answer;

use super::gates::{self, TYPE_GATE};

/// Cluster id without `clusterID`.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#CLUSTER_ID`.
const DEFAULT_CLUSTER_ID: &str = "clusterid";

/// Configuration of the controller, from its workloads and its configuration file.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) version: ControllerVersion,
    /// `clusterID`, or the audited cluster id if no configuration was given.
    pub(super) cluster_id: String,
    /// The tag that finds instances: `kubernetesClusterTag`.
    pub(super) cluster_tag: String,
    /// `vswitchid`, if `vpcid` is set too: otherwise the controller asks the metadata service.
    pub(super) vswitches: Answer<Option<String>>,
    /// True if Pods are backends by default.
    pods_are_backends: Answer<bool>,
    pub(super) has_type_gate: Answer<bool>,
    /// True with the gate `IPv6DualStack`, which IPv6 servers need.
    pub(super) has_dual_stack: Answer<bool>,
    /// A defect for which the controller does not start.
    pub(super) defect: Option<&'static str>,
    pub(super) is_public_disabled: bool,
    /// Kinds of load balancers that no controller keeps.
    switched_off: Vec<LoadBalancerKind>,
    /// Assumptions.
    pub(super) notes: Vec<&'static str>,
}

impl Config {
    /// The configuration of the controller in the evidence; the defaults if there is none.
    pub(crate) fn new(evidence: &Evidence, cluster_id: &str, version: ControllerVersion) -> Self {
        let files: Vec<CloudConfig> = evidence.alibaba_cloud_configs().into_iter().map(|(_, config)| config).collect();
        let mut notes = Vec::new();
        let is_unread = files.is_empty() && evidence.alibaba_controllers().next().is_some();
        if is_unread {
            notes.push("its cloud configuration was not given: the defaults are assumed");
        }
        let id = match files.as_slice() {
            [] => cluster_id.to_owned(),
            [first, ..] => first.cluster_id.clone().unwrap_or_else(|| DEFAULT_CLUSTER_ID.to_owned()),
        };
        let vswitches = |file: &CloudConfig| file.vpc.as_ref().and(file.vswitches.clone());
        let since = |major, minor| version >= ControllerVersion::new(major, minor, 0);
        let kinds = [LoadBalancerKind::Clb, LoadBalancerKind::Nlb];
        let switched_off = kinds.into_iter().filter(|kind| is_switched_off(evidence, *kind));
        Self {
            version,
            cluster_id: id,
            cluster_tag: files
                .iter()
                .find_map(|file| file.cluster_tag.clone())
                .unwrap_or_else(|| CLUSTER_TAG.to_owned()),
            vswitches: if is_unread { Answer::Unknown } else { agreed(&files, vswitches) },
            pods_are_backends: if is_unread { Answer::Unknown } else { pods_by_default(evidence, &files) },
            has_type_gate: agreed(&files, |file| since(2, 10) && has_gate(file, TYPE_GATE)),
            has_dual_stack: agreed(&files, |file| {
                has_gate(file, "IPv6DualStack") && !has_gate_off(file, "EndpointSlice")
            }),
            defect: defect(evidence, &files, version),
            is_public_disabled: !files.is_empty() && files.iter().all(|file| file.public_disabled == Switch::On),
            switched_off: switched_off.collect(),
            notes,
        }
    }

    /// True unless all controllers that were given leave load balancers of a kind alone.
    pub(super) fn keeps(&self, kind: LoadBalancerKind) -> bool {
        !self.switched_off.contains(&kind)
    }

    /// True if Pods are the backends of a Service, and not Nodes.
    /// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#IsENIBackendType`.
    pub(super) fn has_pods_as_backends(&self, service: &Service) -> Answer<bool> {
        backend_kind(service).map_or_else(|| self.pods_are_backends.clone(), |kind| Answer::Is(kind == ENI))
    }

    /// Version of the controller in the evidence.
    pub(crate) fn version_in(evidence: &Evidence) -> Option<ControllerVersion> {
        evidence.alibaba_controllers().filter_map(|one| one.version).min()
    }
}

/// Kind of backends that are Pods with network interfaces.
const ENI: &str = "eni";

/// Kind of backends that a Service asks for; without one, the default of the controller decides.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/helper/service_utils.go#IsENIBackendType`.
fn backend_kind(service: &Service) -> Option<&str> {
    let kind = service.annotations.get("service.beta.kubernetes.io/backend-type")?;
    Some(kind.as_str()).filter(|kind| !kind.is_empty())
}

/// True if Pods are the backends of a Service, and not Nodes; unknown if an environment variable decides, whose value is
/// not stored. A configuration that was not given counts as one without a kind.
pub(crate) fn has_pods_as_backends(evidence: &Evidence, service: &Service) -> Answer<bool> {
    let by_default = || {
        let files: Vec<CloudConfig> = evidence.alibaba_cloud_configs().into_iter().map(|(_, config)| config).collect();
        pods_by_default(evidence, &files)
    };
    backend_kind(service).map_or_else(by_default, |kind| Answer::Is(kind == ENI))
}

/// True if neither the Service nor a cloud configuration states the kind of backends: `serviceBackendType` may make
/// Pods the backends.
pub(crate) fn assumes_nodes_as_backends(evidence: &Evidence, service: &Service) -> bool {
    backend_kind(service).is_none() && evidence.alibaba_cloud_configs().is_empty()
}

fn pods_by_default(evidence: &Evidence, files: &[CloudConfig]) -> Answer<bool> {
    let mut variables = evidence.alibaba_controllers().flat_map(|controller| &controller.workload.environment);
    if variables.any(|name| name == "SERVICE_FORCE_BACKEND_ENI") {
        return Answer::Unknown;
    }
    agreed(files, |file| file.backend_type.as_deref() == Some(ENI))
}

/// The value on which all configurations agree; the default if there is none.
fn agreed<T: PartialEq + Default>(files: &[CloudConfig], value: impl Fn(&CloudConfig) -> T) -> Answer<T> {
    let mut values = files.iter().map(value);
    let Some(first) = values.next() else { return Answer::Is(T::default()) };
    if values.all(|other| other == first) { Answer::Is(first) } else { Answer::Unknown }
}

/// The gates of a configuration, with their values.
fn gates(file: &CloudConfig) -> impl Iterator<Item = (&str, Option<bool>)> {
    gates::gates(file.feature_gates.as_deref().unwrap_or_default())
}

fn has_gate(file: &CloudConfig, name: &str) -> bool {
    gates(file).any(|gate| gate == (name, Some(true)))
}

fn has_gate_off(file: &CloudConfig, name: &str) -> bool {
    gates(file).any(|gate| gate == (name, Some(false)))
}

/// A defect of the configuration for which the controller does not start.
/// Sources: kubernetes/cloud-provider-alibaba-cloud `pkg/config/cloud_config.go#LoadCloudCFG`,
/// `pkg/config/feature_gates.go#BindFeatureGates`.
fn defect(evidence: &Evidence, files: &[CloudConfig], version: ControllerVersion) -> Option<&'static str> {
    if files.is_empty() && evidence.has_unreadable_alibaba_config() {
        return Some("the cloud configuration is neither JSON nor YAML");
    }
    let reads_gates = version >= ControllerVersion::new(2, 1, 0);
    let mut lists = files.iter().filter_map(|file| file.feature_gates.as_deref());
    if reads_gates && lists.any(|list| !gates::gate_defects(list, Some(version)).is_empty()) {
        return Some(
            "`featureGates` of the cloud configuration has a gate that is not known, or one without `true` or `false`",
        );
    }
    let is_text = files.iter().any(|file| file.public_disabled == Switch::Text);
    is_text.then_some("`disablePublicSLB` of the cloud configuration is a text, not `true` or `false`")
}

/// True if controllers that run were given, and none of them keeps load balancers of a kind.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/controller.go#AddToManager`.
pub(crate) fn is_switched_off(evidence: &Evidence, kind: LoadBalancerKind) -> bool {
    let keeper = match kind {
        LoadBalancerKind::Clb => AlibabaController::Service,
        LoadBalancerKind::Nlb => AlibabaController::Nlb,
    };
    evidence.alibaba_running().is_some_and(|running| !running.contains(&keeper))
}
