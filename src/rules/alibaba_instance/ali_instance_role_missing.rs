use crate::alibaba::RegionView;
use crate::membership::NodeRole;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-instance-role-missing",
    title: "a control-plane node has no RAM role",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "An instance that runs the control plane has no RAM role, and no other principal is named as the controller's.",
    impact: "the controller needs an access key in its configuration or environment; without one it does not start",
    fix: "Attach a RAM role that allows the controller's calls, or name the controller's principal with --controller-role.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/clientMgr.go#GetTokenAuth"],
    example: "instance `i-bp1` has no RAM role",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if !context.options.controller_roles.is_empty() {
        return CheckResult::not_applicable("the principal of the controller is named with --controller-role");
    }
    let of_plane = || view.members.iter().filter(|member| member.roles.roles.contains(NodeRole::Controlplane));
    let without = of_plane().filter(|member| member.instance.ram_role.is_none());
    let found = alibaba::grouped(view, without, Severity::Info, |members| {
        let verb = if members.len() == 1 { "has" } else { "have" };
        let message = format!("{} {verb} no RAM role", alibaba::phrase(members));
        (message, Fix::none("attach a RAM role, or name the principal of the controller with --controller-role"))
    });
    CheckResult::counted(of_plane().count(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.instance(alibaba::MASTER).ram_role = None);
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| c.instance(alibaba::WORKER).ram_role = None);
    }
}
