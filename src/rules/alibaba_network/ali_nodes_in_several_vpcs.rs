use std::collections::BTreeMap;

use crate::alibaba::{Member, RegionView};
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_node::is_left_alone;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-nodes-in-several-vpcs",
    title: "the nodes are in several VPCs",
    severity: RuleSeverity::depends(Severity::Warning, "warning with cloud routes; info without"),
    resources: &[ResourceKind::Instance],
    condition: "Instances of the cluster in one region are in several VPCs: those outside the VPC of most of them are reported. Where the Nodes are known, only their instances count, and no Node that a label excludes from the controller.",
    impact: "a load balancer of one VPC cannot have instances of another as backends, and a route table of one VPC cannot have them as next hop; if no Node names the instances, two clusters may have the same id",
    fix: "Give each VPC a separate cluster, or exclude the Nodes elsewhere with the label `service.alibabacloud.com/exclude-node`.",
    sources: &[
        "Alibaba Cloud SLB API, AddBackendServers: instances of the VPC of the load balancer",
        "Alibaba Cloud VPC API, CreateRouteEntry: next hops of the VPC",
        "kubernetes/cloud-provider-alibaba-cloud issue 105",
    ],
    example: "instance `i-bp1worker2` is in VPC `vpc-bp2`, but 4 others are in `vpc-bp1`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let mut by_vpc: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    let counts = |member: &&Member<'_>| match member.node {
        Some(node) => !is_left_alone(node) && !node.is_being_deleted,
        None => context.view.nodes.is_none(),
    };
    for member in view.members.iter().filter(counts) {
        if let Some(vpc) = member.instance.vpc_id.as_deref() {
            by_vpc.entry(vpc).or_default().push(member);
        }
    }
    // Of equal numbers, the first VPC counts.
    let Some((main, number)) = by_vpc.iter().map(|(vpc, members)| (*vpc, members.len())).rev().max_by_key(|one| one.1)
    else {
        return CheckResult::not_applicable("no node of the cluster is in a VPC");
    };
    let severity = if context.cloud_routes { Severity::Warning } else { Severity::Info };
    let others = by_vpc.iter().filter(|(vpc, _)| **vpc != main);
    let found = others.flat_map(|(vpc, members)| {
        alibaba::grouped(view, members.iter().copied(), severity, |members| {
            let verb = if members.len() == 1 { "is" } else { "are" };
            let rest = if number == 1 { "1 other is".to_owned() } else { format!("{number} others are") };
            let message = format!("{} {verb} in VPC `{vpc}`, but {rest} in `{main}`", alibaba::phrase(members));
            (message, Fix::none("give each VPC a separate cluster, or exclude the Nodes elsewhere with a label"))
        })
    });
    CheckResult::counted(by_vpc.values().map(Vec::len).sum(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| c.instance(alibaba::WORKER).vpc_id = Some("vpc-bp2".to_owned()));
        // No Node names the instances of another cluster with the same id.
        alibaba::fires(&RULE, |c| {
            c.without_nodes();
            let other = c.add_other_instance();
            other.vpc_id = Some("vpc-bp2".to_owned());
            other.tags.iter_mut().for_each(|tag| tag.value = "prod".to_owned());
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |_| ());
        alibaba::silent(&RULE, |c| {
            c.instance(alibaba::WORKER).vpc_id = Some("vpc-bp2".to_owned());
            c.node(alibaba::WORKER)["metadata"]["labels"]["service.alibabacloud.com/exclude-node"] = "true".into();
        });
        // An instance of another cluster.
        alibaba::silent(&RULE, |c| c.add_other_instance().vpc_id = Some("vpc-bp2".to_owned()));
    }
}
