use std::collections::{BTreeMap, BTreeSet};

use crate::aws::view::RegionView;
use crate::aws::{Tagged, Volume};
use crate::kubernetes::{DocumentKind, Object};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::volume_id;

pub(super) const RULE: Rule = Rule {
    id: "pv-zone-mismatch",
    title: "a PersistentVolume names a zone other than its volume's",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Volume],
    condition: "The zones to which an EBS PersistentVolume binds its pods, by node affinity or by its zone label, do not include the zone of its volume. Volumes outside the audited regions are skipped.",
    impact: "its pods are scheduled where the volume cannot be attached, and do not start",
    fix: "Its node affinity cannot be changed: keep the volume (`persistentVolumeReclaimPolicy: Retain`), delete the PersistentVolume, and re-create it with the volume's zone.",
    sources: &[
        "kubernetes/kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go",
        "kubernetes/kubernetes pkg/scheduler/framework/plugins/volumezone/volume_zone.go",
        "kubernetes/kubernetes pkg/apis/core/validation/validation.go#ValidatePersistentVolumeUpdate",
    ],
    example: "PersistentVolume `pv-1` names us-east-1a, but volume `vol-0a` is in us-east-1b",
    reads: &[Read::DescribeVolumes],
    ..Rule::joined(check)
};

/// Keys of zones in an affinity, and in labels.
const ZONES: [&str; 3] =
    ["topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

fn check(context: &Context<'_>) -> CheckResult {
    let volumes = context.kubernetes.documents_by_kind(DocumentKind::PersistentVolume);
    let volumes = volumes.filter_map(|document| Some((document.object(), volume_id(document.object())?)));
    let volumes: Vec<(Object<'_>, &str)> = volumes.collect();
    if volumes.is_empty() {
        return CheckResult::not_applicable("no EBS PersistentVolume was given");
    }
    let mut by_id: BTreeMap<&str, (&RegionView<'_>, &Volume)> = BTreeMap::new();
    for region in &context.view.regions {
        by_id.extend(region.region.volumes.iter().map(|volume| (volume.id.as_str(), (region, volume))));
    }
    let found = volumes.iter().filter_map(|(object, id)| {
        let (region, volume) = by_id.get(id)?;
        let zone = volume.availability_zone.as_deref()?;
        let labels = ZONES.into_iter().skip(1).map(|name| label(*object, name));
        let mut all = std::iter::once(affinity(*object)).chain(labels).flatten();
        let said = all.find(|zones| !zones.contains(zone))?;
        let said: Vec<&str> = said.into_iter().collect();
        let name = object.text(&["metadata", "name"]).unwrap_or_default();
        let message = format!(
            "PersistentVolume `{}` names {}, but volume `{}` is in {zone}",
            text::printable(name),
            if said.is_empty() { "two zones at once".to_owned() } else { text::list(&said, 3) },
            text::printable(id)
        );
        let fix = Fix::none(format!("keep the volume, and re-create the PersistentVolume with the zone {zone}"));
        let resource = region.resource(Tagged::Volume(volume));
        // Two PersistentVolumes may name one volume.
        Some(Violation::new(Severity::Error, resource, message, fix).at(&object.head()).with_respect_to(name))
    });
    CheckResult::counted(volumes.len(), found)
}

/// Zones of an affinity; `None` if it allows any. One of its terms must hold, with all of its expressions.
fn affinity(object: Object<'_>) -> Option<BTreeSet<&str>> {
    let mut zones: Option<BTreeSet<&str>> = None;
    for term in object.items(&["spec", "nodeAffinity", "required", "nodeSelectorTerms"]) {
        let of_zones = term.items(&["matchExpressions"]).filter(|one| {
            one.text(&["operator"]) == Some("In") && one.text(&["key"]).is_some_and(|key| ZONES.contains(&key))
        });
        let values = of_zones.map(|one| one.items(&["values"]).filter_map(|value| value.text(&[])).collect());
        let of_term: BTreeSet<&str> = values.reduce(|all: BTreeSet<&str>, more| &all & &more)?;
        zones.get_or_insert_default().extend(of_term);
    }
    zones
}

/// Zones of a label: several are joined with `__`.
/// Source: kubernetes/kubernetes `staging/src/k8s.io/cloud-provider/volume/helpers/zones.go#LabelZonesToSet`.
fn label<'o>(object: Object<'o>, name: &str) -> Option<BTreeSet<&'o str>> {
    Some(object.text(&["metadata", "labels", name])?.split("__").collect())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.manifests = "
kind: PersistentVolume
metadata:
  name: pv-1
  uid: v1
spec:
  csi:
    driver: ebs.csi.aws.com
    volumeHandle: vol-0wk0
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.ebs.csi.aws.com/zone
          operator: In
          values: [eu-central-1b]
";
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.manifests = "
kind: PersistentVolume
metadata:
  name: pv-1
  uid: v1
spec:
  csi:
    driver: ebs.csi.aws.com
    volumeHandle: vol-0wk0
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.ebs.csi.aws.com/zone
          operator: In
          values: [eu-central-1a]
";
        });
    }
}
