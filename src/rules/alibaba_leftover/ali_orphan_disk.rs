use std::collections::BTreeSet;

use crate::alibaba::{CLUSTER_TAG, DEFAULT_CLUSTER_ID, Disk, RegionView};
use crate::kubernetes::{ALIBABA_DISK_DRIVER, DocumentKind};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{is_of, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-disk",
    title: "disks were left behind",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info if the cluster lives"),
    resources: &[ResourceKind::Volume],
    condition: "A disk is `Available`, carries `ack.aliyun.com` with the cluster id (as the CSI driver tags its disks) or the tag of an installer, and the region has no node of the cluster and no running instance without the tag of a cluster. The state of the cluster in Kubernetes shows that it lives. Scaling groups are not read: one with a nonzero size would launch nodes again. Or the cluster lives, the CSI driver made the disk for it (`createdby=alibabacloud-csi-plugin`), and the list of its PersistentVolumes does not have it.",
    impact: "nothing uses it, and it still costs money",
    fix: "Take a snapshot if the data matters, then delete the disk. The reclaim policy `Retain` keeps a disk on purpose.",
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver pkg/disk/cloud.go#createDisk",
        "kubernetes-sigs/alibaba-cloud-csi-driver pkg/disk/constants.go",
        "Kubernetes documentation, Persistent Volumes, Reclaiming",
    ],
    example: "2 disks are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::DescribeDisks],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let disks = view.region.disks.iter().filter(|disk| disk.status == "Available" && disk.instance_id.is_none());
    if let Some(why) = lives(context, view) {
        return match volumes(context) {
            Some(volumes) if context.view.has_members_in(&view.region.name) => {
                without_volume(context, view, disks, &volumes)
            }
            _ => CheckResult::not_applicable(why),
        };
    }
    let left: Vec<_> = disks
        .filter(|disk| is_of(&disk.tags, context.cluster_id()))
        .map(|disk| (disk.id.as_str(), disk.name.as_deref()))
        .collect();
    let fix = "check that no scaling group brings the cluster back, save the data, then delete them".to_owned();
    one(context, view, (ResourceKind::Volume, view.region.disks.len()), &left, ("disk", fix))
}

/// Disks of the `PersistentVolume` objects of the cluster; `None` if not all of them were listed. Objects of files may be some
/// of those that exist.
fn volumes<'c>(context: &'c Context<'_>) -> Option<BTreeSet<&'c str>> {
    let evidence = context.kubernetes;
    let is_whole = evidence.is_whole && evidence.document_lists.contains(&DocumentKind::PersistentVolume);
    let objects = || evidence.documents_by_kind(DocumentKind::PersistentVolume).map(|one| one.object());
    let of_driver = objects().filter(|object| object.text(&["spec", "csi", "driver"]) == Some(ALIBABA_DISK_DRIVER));
    // Recordings of earlier versions do not hold the disks.
    let disks: Option<BTreeSet<&str>> = of_driver.map(|object| object.text(&["spec", "csi", "volumeHandle"])).collect();
    // The FlexVolume driver names the object like the disk.
    let names = objects().filter_map(|object| object.text(&["metadata", "name"]));
    let disks = disks.filter(|_| is_whole && context.cluster_id() != DEFAULT_CLUSTER_ID);
    disks.map(|disks| disks.into_iter().chain(names).collect())
}

/// Disks that the driver of a living cluster made, and that no object of it names.
fn without_volume<'v>(
    context: &Context<'_>,
    view: &'v RegionView<'_>,
    disks: impl Iterator<Item = &'v Disk>,
    volumes: &BTreeSet<&str>,
) -> CheckResult {
    let left: Vec<&Disk> = disks
        .filter(|disk| tags::value(&disk.tags, "createdby") == Some("alibabacloud-csi-plugin"))
        .filter(|disk| tags::value(&disk.tags, CLUSTER_TAG) == Some(context.cluster_id()))
        .filter(|disk| !volumes.contains(disk.id.as_str()))
        .collect();
    let checked = view.region.disks.len();
    let Some((first, others)) = left.split_first() else { return CheckResult::counted(checked, Vec::new()) };
    let message = format!(
        "{} {} made by the CSI driver of `{}`, and no PersistentVolume names {}",
        text::count(left.len(), "disk"),
        if others.is_empty() { "was" } else { "were" },
        text::printable(context.cluster_id()),
        if others.is_empty() { "it" } else { "them" }
    );
    let fix = Fix::none("save the data, then delete them; the reclaim policy `Retain` keeps a disk on purpose");
    let resource = |disk: &Disk| alibaba::resource(view, ResourceKind::Volume, &disk.id, disk.name.as_deref());
    let violation = Violation::new(Severity::Info, resource(first), message, fix);
    let others = others.iter().map(|disk| resource(disk).to_bare());
    let cause = Cause::Group(ResourceKind::Volume.name().into());
    CheckResult::counted(checked, vec![violation.related(others).cause(cause)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    fn left(c: &mut alibaba::Cluster) {
        c.region().disks.push(crate::alibaba::Disk {
            id: "d-bp1left".to_owned(),
            status: "Available".to_owned(),
            ..Default::default()
        });
        tag(&mut c.region().disks.last_mut().unwrap().tags, alibaba::KEY, "prod");
    }

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            left(c);
            c.without_instances();
        });
    }

    fn of_driver(c: &mut alibaba::Cluster, disk_of_object: &str) {
        left(c);
        tag(&mut c.region().disks.last_mut().unwrap().tags, "createdby", "alibabacloud-csi-plugin");
        c.objects.push(serde_json::json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": disk_of_object, "uid": "0a"},
            "spec": {"csi": {"driver": "diskplugin.csi.alibabacloud.com", "volumeHandle": disk_of_object}},
        }));
        c.is_live = true;
    }

    #[test]
    fn a_disk_without_an_object() {
        alibaba::fires(&RULE, |c| of_driver(c, "d-bp1used"));
        alibaba::silent(&RULE, |c| of_driver(c, "d-bp1left"));
        // A file does not list what exists.
        alibaba::does_not_apply(&RULE, |c| {
            of_driver(c, "d-bp1used");
            c.is_live = false;
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            left(c);
            c.without_instances();
            "In_use".clone_into(&mut c.region().disks.last_mut().unwrap().status);
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, left);
        alibaba::does_not_apply(&RULE, |c| {
            c.without_instances();
            c.id = "clusterid";
        });
    }

    #[test]
    fn a_disk_of_another_cluster_stays_one() {
        alibaba::silent(&RULE, |c| {
            left(c);
            c.without_instances();
            let disk = c.region().disks.last_mut().unwrap();
            tag(&mut disk.tags, alibaba::KEY, "staging");
            tag(&mut disk.tags, "KubernetesCluster", "prod");
        });
    }
}
