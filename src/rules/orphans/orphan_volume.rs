use std::collections::BTreeSet;

use crate::aws::view::RegionView;
use crate::aws::{Tagged, Volume};
use crate::kubernetes::DocumentKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::storage::volume_id;
use crate::tags;

use super::{INSTANCES, LAUNCHES_UNREAD, is_dead, left_by, one};

pub(super) const RULE: Rule = Rule {
    id: "orphan-volume",
    title: "volumes were left behind",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if the cluster lives"),
    resources: &[ResourceKind::Volume],
    condition: "A volume is `available`, owned by the cluster, and no live instance of the region is tagged for it. Auto Scaling groups are not inspected: a group with a nonzero desired capacity would launch nodes again. Or the cluster lives, a volume that it owns was made for a PersistentVolume (`kubernetes.io/created-for/pv/name`, `CSIVolumeName`), and the list of its PersistentVolumes has neither the name nor the volume.",
    impact: "nothing uses it, and it still costs money",
    fix: "Take a snapshot if the data matters, then delete the volume. The reclaim policy `Retain` keeps a volume on purpose.",
    sources: &[
        "https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/773",
        "kubernetes-sigs/aws-ebs-csi-driver docs/tagging.md",
        "Kubernetes documentation, Persistent Volumes, Reclaiming",
    ],
    example: "2 available volumes are owned by `bravo`, which has no live instance here",
    reads: &[INSTANCES, Read::DescribeVolumes],
    subjects: Subjects::Region,
    reports_leftovers: true,
    ..Rule::region(check)
};

/// Tags with the name of the `PersistentVolume` that a volume was made for.
/// Sources: kubernetes-sigs/aws-ebs-csi-driver `docs/tagging.md`; kubernetes-csi/external-provisioner
/// `--extra-create-metadata`.
const MADE_FOR: [&str; 2] = ["kubernetes.io/created-for/pv/name", "CSIVolumeName"];

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let Some(is_dead) = is_dead(context, region) else { return CheckResult::not_applicable(LAUNCHES_UNREAD) };
    let free = region
        .volumes()
        .iter()
        .filter(|volume| volume.state == "available" && volume.attached_to.is_empty())
        .filter(|volume| tags::has_cluster_tag_owned(&volume.tags, context.cluster_id()));
    if is_dead {
        let found: Vec<Tagged<'_>> = free.map(Tagged::Volume).collect();
        let message = left_by(context, found.len(), "available volume", "owned");
        let fix = "check that no Auto Scaling group brings the cluster back, save the data, then delete them";
        return one(region, &found, Severity::Warning, message, fix);
    }
    let evidence = context.kubernetes;
    // Objects of files may be some of those that exist.
    if !evidence.is_whole || !evidence.document_lists.contains(&DocumentKind::PersistentVolume) {
        return CheckResult::clean();
    }
    let objects = || evidence.documents_by_kind(DocumentKind::PersistentVolume).map(|one| one.object());
    let names: BTreeSet<&str> = objects().filter_map(|object| object.text(&["metadata", "name"])).collect();
    let ids: BTreeSet<&str> = objects().filter_map(volume_id).collect();
    let is_gone = |volume: &&Volume| {
        let mut made_for = MADE_FOR.iter().filter_map(|key| tags::value(&volume.tags, key)).peekable();
        made_for.peek().is_some() && !made_for.any(|name| names.contains(name)) && !ids.contains(volume.id.as_str())
    };
    let found: Vec<Tagged<'_>> = free.filter(is_gone).map(Tagged::Volume).collect();
    let verb = if found.len() == 1 { "was" } else { "were" };
    let message = format!(
        "{} {verb} made for PersistentVolumes of `{}` that no longer exist",
        text::count(found.len(), "available volume"),
        text::printable(context.cluster_id())
    );
    let fix = "save the data, then delete them; the reclaim policy `Retain` keeps a volume on purpose";
    one(region, &found, Severity::Info, message, fix)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let volume = c.region().volumes.first_mut().unwrap();
            volume.state = "available".to_owned();
            volume.attached_to.clear();
            tag(&mut volume.tags, aws::KEY, "owned");
            c.terminate();
        });
    }

    const VOLUMES: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-1, uid: 0a}
spec: {csi: {driver: ebs.csi.aws.com, volumeHandle: vol-0other}}
";

    fn made_for(c: &mut aws::Cluster, name: &str) {
        let volume = c.region().volumes.first_mut().unwrap();
        volume.state = "available".to_owned();
        volume.attached_to.clear();
        tag(&mut volume.tags, aws::KEY, "owned");
        tag(&mut volume.tags, "kubernetes.io/created-for/pv/name", name);
        c.manifests = VOLUMES;
        c.is_live = true;
    }

    #[test]
    fn a_volume_without_an_object() {
        aws::fires(&RULE, |c| made_for(c, "pvc-2"));
        aws::silent(&RULE, |c| made_for(c, "pvc-1"));
        // Another object names the volume.
        aws::silent(&RULE, |c| {
            made_for(c, "pvc-2");
            let id = c.region().volumes[0].id.clone();
            c.manifests = Box::leak(VOLUMES.replace("vol-0other", &id).into_boxed_str());
        });
        // A file does not list what exists.
        aws::silent(&RULE, |c| {
            made_for(c, "pvc-2");
            c.is_live = false;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let volume = c.region().volumes.first_mut().unwrap();
            volume.state = "available".to_owned();
            volume.attached_to.clear();
            tag(&mut volume.tags, aws::KEY, "owned");
        });
    }
}
