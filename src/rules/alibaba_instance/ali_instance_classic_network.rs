use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-instance-classic-network",
    title: "a node is in the classic network",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Instance],
    condition: "An instance of the cluster has the network type `classic`.",
    impact: "the cloud controller works in VPCs only: the node gets no route and no load balancer",
    fix: "Move the node into a VPC.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud docs/getting-started.md",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/ecs/ecs.go#GetInstancesByIP",
    ],
    example: "instance `i-bp1` is in the classic network",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(_: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let classic = view.members.iter().filter(|member| member.instance.is_classic());
    let found = alibaba::grouped(view, classic, Severity::Error, |members| {
        let verb = if members.len() == 1 { "is" } else { "are" };
        let message = format!("{} {verb} in the classic network", alibaba::phrase(members));
        (message, Fix::none("replace the nodes with instances in a VPC"))
    });
    CheckResult::counted(view.members.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.instance(alibaba::WORKER).network_type = Some("classic".to_owned()));
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
    }
}
