//! Storage classes for AWS volumes. All of these rules need storage classes.

use super::{CheckResult, KubernetesContext, Rule, Violation};
use crate::finding::{Fix, ResourceRef, Severity};
use crate::kubernetes::{Document, DocumentKind, EBS_DRIVER, Evidence, Object, Place};
use crate::resource::ResourceKind;

mod csi_migration_undrained;
mod ebs_csi_driver_missing;
mod pv_in_tree;
mod pv_volume_not_granted;
mod pv_zone_mismatch;
mod storageclass_immediate_binding;
mod storageclass_in_tree_provisioner;
mod storageclass_parameter_unknown;
mod storageclass_several_defaults;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/storage.rs"));

/// Reason that rules on volumes do not apply.
const NO_VOLUME: &str = "no volume of the cluster was given";

/// The provisioner that was part of Kubernetes.
const IN_TREE: &str = "kubernetes.io/aws-ebs";

/// EBS volume of a `PersistentVolume`: `vol-…`, or `aws://ZONE/vol-…` of the in-tree plugin.
pub(super) fn volume_id(object: Object<'_>) -> Option<&str> {
    let of_driver = object.text(&["spec", "csi", "driver"]) == Some(EBS_DRIVER);
    let handle = of_driver.then(|| object.text(&["spec", "csi", "volumeHandle"])).flatten();
    let id = handle.or_else(|| object.text(&["spec", "awsElasticBlockStore", "volumeID"]))?;
    id.rsplit('/').next().filter(|id| id.starts_with("vol-"))
}

/// Runs a check on each storage class for EBS.
fn for_each_class(context: &KubernetesContext<'_>, check: impl Fn(&Document, &str) -> Vec<Violation>) -> CheckResult {
    let classes = context.evidence.documents_by_kind(DocumentKind::StorageClass);
    let classes = classes.filter_map(|class| Some((class, class.object().text(&["provisioner"])?)));
    let classes: Vec<_> = classes.filter(|(_, provisioner)| [IN_TREE, EBS_DRIVER].contains(provisioner)).collect();
    if classes.is_empty() {
        return CheckResult::not_applicable("no storage class for EBS was given");
    }
    CheckResult::counted(classes.len(), classes.into_iter().flat_map(|(class, provisioner)| check(class, provisioner)))
}

/// True if the driver is known to run: a node has it, the cluster knows it, or a workload runs it.
fn has_driver(evidence: &Evidence) -> bool {
    let mut images = evidence.workloads.iter().flat_map(|workload| &workload.containers);
    evidence.documents.iter().any(|document| document.has_driver(EBS_DRIVER))
        || images.any(|container| container.image.value.contains("ebs-csi-driver"))
}

fn on(
    class: &Document,
    severity: Severity,
    place: &Place,
    what: &str,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Violation {
    let name = class.object().text(&["metadata", "name"]).unwrap_or_default();
    let resource = ResourceRef::bare(ResourceKind::StorageClass, name);
    Violation::new(severity, resource, message, Fix::none(fix)).at(place).with_respect_to(what)
}
