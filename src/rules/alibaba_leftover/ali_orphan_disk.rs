use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{is_of, lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-disk",
    title: "a disk of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Volume],
    condition: "A disk is `Available`, carries `ack.aliyun.com` with the cluster id (as the CSI driver tags its disks) or the tag of an installer, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given. Scaling groups are not read: one with a nonzero size would launch nodes again.",
    impact: "nothing uses it, and it still costs money",
    fix: "Take a snapshot if the data matters, then delete the disk.",
    sources: &["kubernetes-sigs/alibaba-cloud-csi-driver pkg/disk/cloud.go#createDisk"],
    example: "2 disks are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::DescribeDisks],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let is_free = |status: &str| status == "Available";
    let disks = view.region.disks.iter().filter(|disk| is_free(&disk.status) && disk.instance_id.is_none());
    let left: Vec<_> = disks
        .filter(|disk| is_of(&disk.tags, context.cluster_id()))
        .map(|disk| (disk.id.as_str(), disk.name.as_deref()))
        .collect();
    let fix = "check that no scaling group brings the cluster back, save the data, then delete them".to_owned();
    one(context, view, (ResourceKind::Volume, view.region.disks.len()), &left, ("disk", fix))
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
