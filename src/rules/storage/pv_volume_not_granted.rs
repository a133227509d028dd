use crate::aws::Tagged;
use crate::aws::companion_requests::RoleGrants;
use crate::controller::companion::Companion;
use crate::kubernetes::{Document, DocumentKind};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{NO_VOLUME, volume_id};

pub(super) const RULE: Rule = Rule {
    id: "pv-volume-not-granted",
    title: "the role of the EBS CSI driver does not cover the volume of a PersistentVolume",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Volume],
    condition: "The role of the EBS CSI driver grants `ec2:AttachVolume`, `ec2:DetachVolume` or, with the reclaim policy `Delete`, `ec2:DeleteVolume` only on volumes with certain tags, and the volume of a PersistentVolume lacks them because it was imported or was created by the in-tree plugin. Volumes outside the audited regions are skipped.",
    impact: "the driver fails with AccessDenied: Pods that use the volume do not start, or the volume is not deleted with its claim",
    fix: "Tag the volume as the condition requires (`ebs.csi.aws.com/cluster=true` for AmazonEBSCSIDriverPolicyV2).",
    sources: &[
        "kubernetes-sigs/aws-ebs-csi-driver docs/install.md",
        "kubernetes-sigs/aws-ebs-csi-driver docs/AmazonEBSCSIDriverPolicyV2.json",
        "kubernetes-sigs/aws-ebs-csi-driver pkg/cloud/cloud.go#AttachDisk",
    ],
    example: "role `ebs-csi` of EBS CSI driver 1.60.0 does not grant ec2:AttachVolume or ec2:DetachVolume on volume `vol-0a` of PersistentVolume `imported`",
    reads: &[Read::DescribeVolumes],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let volumes = context.kubernetes.documents_by_kind(DocumentKind::PersistentVolume).map(Document::object);
    let volumes: Vec<_> = volumes.filter_map(|object| Some((object, volume_id(object)?))).collect();
    if volumes.is_empty() {
        return CheckResult::not_applicable(NO_VOLUME);
    }
    let drivers = context.companions.iter().map(|entry| &entry.one);
    let drivers = drivers.filter(|one| one.run.row.companion == Companion::EbsCsi);
    let catalogue = context.role_options.catalogue();
    let (mut checked, mut found) = (0, Vec::new());
    for driver in drivers {
        let Ok(grants) = RoleGrants::new(driver, context.view, context.role_options) else { continue };
        for (object, id) in &volumes {
            let regions = context.view.regions.iter();
            let here = regions.flat_map(|region| region.region.volumes.iter().map(move |volume| (region, volume)));
            let Some((region, volume)) = here.into_iter().find(|(_, volume)| volume.id == *id) else { continue };
            checked += 1;
            let resource = region.resource(Tagged::Volume(volume));
            let Some(arn) = &resource.arn else { continue };
            let deletes = object.text(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Delete");
            let mut actions = vec!["ec2:AttachVolume", "ec2:DetachVolume"];
            actions.extend(deletes.then_some("ec2:DeleteVolume"));
            actions.retain(|action| grants.refuses(action, arn, Some(&volume.tags), catalogue));
            if actions.is_empty() {
                continue;
            }
            let name = object.text(&["metadata", "name"]).unwrap_or_default();
            let message = format!(
                "role `{}` of {} does not grant {} on volume `{}` of PersistentVolume `{}`",
                text::printable(&driver.role.name),
                driver.run.label(),
                actions.join(" or "),
                text::printable(id),
                text::printable(name)
            );
            let fix = Fix::none(
                "tag the volume as the condition of the policy requires, such as `ebs.csi.aws.com/cluster=true`",
            );
            let violation = Violation::new(Severity::Warning, resource.clone(), message, fix);
            found.push(violation.with_respect_to(name).at(&object.head()));
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no PersistentVolume has a volume in the audited regions, or no role of an EBS CSI driver was read",
        );
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    const WORLD: &str = "
kind: PersistentVolume
metadata:
  name: pv-1
  uid: v1
spec:
  persistentVolumeReclaimPolicy: Delete
  csi:
    driver: ebs.csi.aws.com
    volumeHandle: vol-0wk0
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ebs
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/ebs
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebs-csi-controller
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ebs
      containers:
      - image: public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.60.0
";

    /// The driver with a policy on the volumes with its tag.
    fn with_policy(c: &mut aws::Cluster) {
        c.manifests = WORLD;
        c.add_role("ebs", r#"{"Statement":[
            {"Effect":"Allow","Action":["ec2:Describe*","ec2:CreateVolume","ec2:CreateTags"],"Resource":"*"},
            {"Effect":"Allow","Action":["ec2:AttachVolume","ec2:DetachVolume"],"Resource":"arn:aws:ec2:*:*:instance/*"},
            {"Effect":"Allow","Action":["ec2:AttachVolume","ec2:DetachVolume","ec2:DeleteVolume"],"Resource":"arn:aws:ec2:*:*:volume/*","Condition":{"StringEquals":{"ec2:ResourceTag/ebs.csi.aws.com/cluster":"true"}}}]}"#);
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, with_policy);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            with_policy(c);
            let volume = c.region().volumes.iter_mut().find(|one| one.id == "vol-0wk0").unwrap();
            tag(&mut volume.tags, "ebs.csi.aws.com/cluster", "true");
        });
    }
}
