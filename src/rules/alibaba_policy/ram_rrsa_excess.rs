use crate::alibaba::roles::reference;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

use super::{rrsa_check_result, rrsa_rights};

pub(super) const RULE: Rule = Rule {
    id: "ram-rrsa-excess",
    title: "the RAM role of a controller's ServiceAccount has more permissions than needed",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::RamRole],
    condition: "A controller assumes a RAM role by RRSA, and the role grants actions that this version of the controller does not call and that no policy published by a project of the controllers contains. A privilege escalation path is reported by `ram-rrsa-escalation`.",
    impact: "anyone who compromises a Pod of the controller has these permissions as well",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["Alibaba Cloud RAM documentation, Grant least privilege"],
    example: "role `csi`, which Deployment kube-system/csi-provisioner (CSI driver 1.35.3) assumes, has 2 permissions that the controller does not need: oss:*, slb:*",
    reads: &[Read::EcsDescribeInstances],
    judges: JudgedRoles::OfControllers,
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let found = rrsa_rights(context).filter(|(_, rights)| !rights.excess.is_empty()).map(|(one, rights)| {
        let name = one.run.workload.full_name();
        let excess: Vec<&str> = rights.excess.iter().map(String::as_str).collect();
        let message = format!(
            "role `{}`, which {} ({}) assumes, has {} that the controller does not need: {}",
            text::printable(one.name),
            text::printable(&name),
            one.run.label(),
            text::count(excess.len(), "permission"),
            text::list(&excess, 6),
        );
        let fix = Fix::none("attach the policy that the project publishes, and nothing more");
        let resource = reference(one.account, rights.principal);
        Violation::new(Severity::Info, resource, message, fix).at(&one.run.workload.place)
    });
    rrsa_check_result(context, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba_policy::tests::{CSI_SUBJECT, with_rrsa};
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.3", CSI_SUBJECT, &["slb:*", "oss:*"]));
    }

    #[test]
    fn silent() {
        let official = include_str!("../../../policies/alicloud-csi-disk.json");
        alibaba::silent(&RULE, |c| {
            with_rrsa(c, "v1.36.2", CSI_SUBJECT, &["ecs:CreateDisk"]);
            official.clone_into(c.policy("csi"));
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| with_rrsa(c, "v1.33.4", CSI_SUBJECT, &["slb:*"]));
    }
}
