//! The cloud controller of Alibaba Cloud and its Services, from the cluster and its manifests; no cloud API is called.

use super::{CheckResult, KubernetesContext, Rule, Violation};
use crate::controller::ControllerVersion;
use crate::finding::Severity;
use crate::kubernetes::{CloudController, Place};

mod ali_access_key_in_configmap;
mod ali_cloud_config_content;
mod ali_cloud_config_missing;
mod ali_cloud_routes_without_cidr;
mod ali_controller_unknown;
mod ali_credentials_ignored;
mod ali_feature_gate_invalid;
mod ali_flag_ignored;
mod ali_flag_invalid;
mod ali_flag_removed;
mod ali_ingress_crd_version;
mod ali_node_excluded;
mod ali_probe_port;
mod ali_rbac_missing;
mod ali_routes_with_overlay;
mod ali_rrsa_ignored;
mod ali_svc_annotation_unknown;
mod ali_svc_annotation_value;
mod ali_svc_class_unserved;
mod ali_svc_internet_forbidden;
mod ali_svc_no_backend;
mod ali_svc_no_node_port;
mod ali_svc_pods_without_interfaces;
mod ali_svc_zone_maps_missing;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/alibaba_kubernetes.rs"));

/// Runs a check on each cloud controller of Alibaba Cloud.
fn for_each_controller(
    context: &KubernetesContext<'_>,
    check: impl Fn(&CloudController) -> Option<Violation>,
) -> CheckResult {
    let all = context.evidence.alibaba_controllers();
    let all: Vec<&CloudController> = all.collect();
    if all.is_empty() {
        return CheckResult::not_applicable("no workload of a cloud controller of Alibaba Cloud was given");
    }
    CheckResult::counted(all.len(), all.into_iter().filter_map(check))
}

/// The same for a check of flags: one that a shell or a variable sets is not known.
fn for_each_with_flags<I: IntoIterator<Item = Violation>>(
    context: &KubernetesContext<'_>,
    check: impl Fn(&CloudController) -> I,
) -> CheckResult {
    let all: Vec<&CloudController> = context.evidence.alibaba_controllers().collect();
    if all.is_empty() {
        return CheckResult::not_applicable("no workload of a cloud controller of Alibaba Cloud was given");
    }
    let checked: Vec<Vec<Violation>> = all
        .into_iter()
        .map(|controller| (controller.knows_flags, check(controller).into_iter().collect::<Vec<_>>()))
        .filter(|(knows_flags, found)| *knows_flags || !found.is_empty())
        .map(|(_, found)| found)
        .collect();
    if checked.is_empty() {
        return CheckResult::not_applicable(
            "the flags of the cloud controller are not known: a shell or a variable sets them",
        );
    }
    CheckResult::counted(checked.len(), checked.into_iter().flatten())
}

/// A finding on a controller. Version 2 is a different program: an error there, and a warning before it or if the
/// version is not known.
fn from_two_on(
    controller: &CloudController,
    place: &Place,
    told: impl Fn(&str) -> String,
    (impact, fix): (&str, &str),
) -> Violation {
    let is_two = controller.version.is_some_and(|version| version >= ControllerVersion::new(2, 0, 0));
    let (severity, version) = if is_two { (Severity::Error, "it") } else { (Severity::Warning, "version 2 of it") };
    let impact = (!is_two).then(|| format!("after the upgrade to version 2 {impact}"));
    super::cloud_controller::on(controller, severity, place, told(version), fix).impact(impact)
}
