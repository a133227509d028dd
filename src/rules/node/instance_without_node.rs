use crate::aws::view::RegionView;
use crate::aws::{Instance, InstanceState};
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::instances_phrase;
use crate::tags;

use super::INSTANCES;

/// Minutes that a new instance may take to register before its missing Node is reported.
const GRACE_MINUTES: i64 = 15;

pub(super) const RULE: Rule = Rule {
    id: "instance-without-node",
    title: "a tagged instance is not a Node",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "A running instance that was launched more than 15 minutes ago carries the cluster tag, but no Node names it. kOps and Cluster API bastions are skipped.",
    impact: "none by itself: the kubelet has not registered, or the machine is not intended as a node",
    fix: "Check the kubelet on the instance.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName"],
    example: "instance `i-0a` carries the cluster tag, but no Node names it",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Names),
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    if context.view.nodes.is_none() {
        return CheckResult::not_applicable(crate::rules::subjects::NODES_NOT_GIVEN);
    }
    let read_at = context.view.inventory.collected_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let old_enough = |instance: &Instance| {
        let launched = instance.launch_time.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        match (read_at, launched) {
            (Some(read), Some(launched)) => read.as_second() - launched.as_second() > GRACE_MINUTES * 60,
            _ => true,
        }
    };
    let lonely = region.members.iter().filter(|member| {
        member.node.is_none()
            && member.instance.state == InstanceState::Running
            && tags::has_cluster_tag(&member.instance.tags, context.cluster_id())
            && old_enough(member.instance)
    });
    region.grouped(
        lonely,
        |_| Severity::Info,
        |members| {
            let verb = if members.len() == 1 { "carries" } else { "carry" };
            let whom = if members.len() == 1 { "it" } else { "them" };
            let message = format!("{} {verb} the cluster tag, but no Node names {whom}", instances_phrase(members));
            (message, Fix::none("check the kubelet on the instance, or remove the tag if the instance is not a node"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.nodes.retain(|node| node["spec"]["providerID"] != "aws:///eu-central-1a/i-0wk0");
            c.instance(aws::WORKER).launch_time = Some("2026-11-20T23:30:00Z".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.nodes.retain(|node| node["spec"]["providerID"] != "aws:///eu-central-1a/i-0wk0");
            c.instance(aws::WORKER).launch_time = Some("2026-11-20T23:50:00Z".to_owned());
        });
    }
}
