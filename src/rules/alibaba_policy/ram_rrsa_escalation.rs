use crate::alibaba::roles::reference;
use crate::rules::alibaba::{self, Context};
use crate::rules::controller_role::escalation;
use crate::rules::prelude::*;

use super::{rrsa_check_result, rrsa_rights};

pub(super) const RULE: Rule = Rule {
    id: "ram-rrsa-escalation",
    title: "the RAM role of a controller's ServiceAccount opens a privilege escalation path",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::RamRole],
    condition: "A controller assumes a RAM role by RRSA, and the role grants every action of a known path to more permissions or to code on other machines; at least one of them is in no policy that the projects of the controllers publish.",
    impact: "a compromised Pod of the controller can use this path",
    fix: "Attach the policy that the project publishes, and nothing more.",
    sources: &["docs/policy-engine.md, Beyond the baseline"],
    example: "role `csi`, which Deployment kube-system/csi-provisioner (CSI driver 1.35.3) assumes, can attach any policy to a role, including its own (ram:AttachPolicyToRole): privilege escalation",
    reads: &[Read::EcsDescribeInstances],
    judges: JudgedRoles::OfControllers,
    is_about_security: true,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let found = rrsa_rights(context).filter_map(|(one, rights)| {
        let described = escalation(&rights.paths)?;
        let name = one.run.workload.full_name();
        let message = format!(
            "role `{}`, which {} ({}) assumes, can {described}: privilege escalation",
            text::printable(one.name),
            text::printable(&name),
            one.run.label(),
        );
        let fix = Fix::none("attach the policy that the project publishes, and nothing more");
        let resource = reference(one.account, rights.principal);
        Some(Violation::new(Severity::Warning, resource, message, fix).at(&one.run.workload.place))
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
        alibaba::fires(&RULE, |c| with_rrsa(c, "v1.35.3", CSI_SUBJECT, &["*"]));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| with_rrsa(c, "v1.35.3", CSI_SUBJECT, &["ecs:*Disk*"]));
        let official = include_str!("../../../policies/alicloud-csi-disk.json");
        alibaba::silent(&RULE, |c| {
            with_rrsa(c, "v1.36.2", CSI_SUBJECT, &["ecs:CreateDisk"]);
            official.clone_into(c.policy("csi"));
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| with_rrsa(c, "v1.33.4", CSI_SUBJECT, &["*"]));
    }
}
