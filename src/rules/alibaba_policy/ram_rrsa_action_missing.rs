use crate::alibaba::roles::reference;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{rrsa_check_result, rrsa_rights};

pub(super) const RULE: Rule = Rule {
    id: "ram-rrsa-action-missing",
    title: "the RAM role of a ServiceAccount lacks actions that its controller calls",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RamRole],
    condition: "A controller assumes a RAM role by RRSA, and the policies of the role grant an action nowhere that its version calls in everyday work: the CSI driver for disks from 1.34.1, the cluster autoscaler from 1.32.0 with `REGION_ID` and a session name. Actions that are granted under conditions or on some resources are skipped.",
    impact: "the controller is refused (`Forbidden.RAM`, `NoPermission`): disks or nodes are not created, changed or removed",
    fix: "Attach the policy that the project publishes for the release.",
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver docs/ram-policies/disk/controller.json",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/alicloud/alicloud_auto_scaling.go#setCapacityInstanceSize",
    ],
    example: "role `csi`, which Deployment kube-system/csi-provisioner (CSI driver 1.35.3) assumes, lacks 1 of 5 actions: ecs:DetachDisk",
    reads: &[Read::EcsDescribeInstances],
    judges: JudgedRoles::OfControllers,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let found = rrsa_rights(context).filter(|(_, rights)| !rights.lacking.is_empty()).map(|(one, rights)| {
        let name = one.run.workload.full_name();
        let message = format!(
            "role `{}`, which {} ({}) assumes, lacks {} of {}: {}",
            text::printable(one.name),
            text::printable(&name),
            one.run.label(),
            rights.lacking.len(),
            text::count(rights.needed, "action"),
            text::list(&rights.lacking, 6)
        );
        let fix = Fix::none("attach the policy that the project publishes for the release");
        Violation::new(Severity::Warning, reference(one.account, rights.principal), message, fix)
            .at(&one.run.workload.place)
    });
    rrsa_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba_policy::tests::{CSI_SUBJECT, with_rrsa};
    use crate::testing::alibaba;

    const DISKS: [&str; 3] = ["ecs:CreateDisk", "ecs:DeleteDisk", "ecs:Describe*"];
    const ATTACHING: [&str; 5] =
        ["ecs:CreateDisk", "ecs:DeleteDisk", "ecs:Describe*", "ecs:AttachDisk", "ecs:DetachDisk"];

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.1", CSI_SUBJECT, &["ecs:DescribeDisks"]));
        alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.3", CSI_SUBJECT, &DISKS));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| with_rrsa(c, "v1.35.1", CSI_SUBJECT, &DISKS));
        alibaba::silent(&RULE, |c| with_rrsa(c, "v1.35.3", CSI_SUBJECT, &ATTACHING));
        let official = include_str!("../../../policies/alicloud-csi-disk.json");
        alibaba::silent(&RULE, |c| {
            with_rrsa(c, "v1.36.2", CSI_SUBJECT, &["ecs:CreateDisk"]);
            official.clone_into(c.policy("csi"));
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| with_rrsa(c, "v1.33.4", CSI_SUBJECT, &[]));
    }
}
