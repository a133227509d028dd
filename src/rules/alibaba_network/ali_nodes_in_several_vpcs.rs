use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::Member;
use crate::rules::alibaba::{self, Context};
use crate::rules::alibaba_node::is_cared_for;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-nodes-in-several-vpcs",
    title: "the nodes are in several VPCs",
    severity: RuleSeverity::depends(Severity::Warning, "warning with cloud routes; info without"),
    resources: &[ResourceKind::Instance],
    condition: "Instances of the cluster in one region, of any account, are in several VPCs: those outside the VPC of most of them are reported. Where the Nodes are known, only their instances count, and no Node that a label excludes from the controller.",
    impact: "a load balancer of one VPC cannot have instances of another as backends, and a route table of one VPC cannot have them as next hop; if no Node names the instances, two clusters may have the same id",
    fix: "Give each VPC a separate cluster, or exclude the Nodes elsewhere with the label `service.alibabacloud.com/exclude-node`.",
    sources: &[
        "Alibaba Cloud SLB API, AddBackendServers: instances of the VPC of the load balancer",
        "Alibaba Cloud VPC API, CreateRouteEntry: next hops of the VPC",
        "kubernetes/cloud-provider-alibaba-cloud issue 105",
    ],
    example: "instance `i-bp1worker2` is in VPC `vpc-bp2`, but 4 others are in `vpc-bp1`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    let names: BTreeSet<&str> = context.view.regions.iter().map(|view| view.region.name.as_str()).collect();
    let results: Vec<(usize, Vec<Violation>)> = names.into_iter().map(|name| in_region(context, name)).collect();
    let checked = results.iter().map(|(checked, _)| checked).sum();
    if checked == 0 {
        return CheckResult::not_applicable("no node of the cluster is in a VPC");
    }
    CheckResult::counted(checked, results.into_iter().flat_map(|(_, found)| found).collect::<Vec<_>>())
}

/// Nodes in a VPC and those outside the VPC of most of them, over all accounts in a region.
fn in_region(context: &Context<'_>, name: &str) -> (usize, Vec<Violation>) {
    let counts = |member: &&Member<'_>| is_cared_for(context.view, member);
    let views = || context.view.regions.iter().filter(|view| view.region.name == name);
    let mut by_vpc: BTreeMap<&str, usize> = BTreeMap::new();
    for member in views().flat_map(|view| view.members.iter().filter(counts)) {
        if let Some(vpc) = member.instance.vpc_id.as_deref() {
            *by_vpc.entry(vpc).or_default() += 1;
        }
    }
    // Of equal numbers, the first VPC counts.
    let Some((main, number)) = by_vpc.iter().rev().max_by_key(|(_, number)| **number) else { return (0, Vec::new()) };
    let severity = if context.cloud_routes { Severity::Warning } else { Severity::Info };
    let mut found = Vec::new();
    for vpc in by_vpc.keys().filter(|vpc| *vpc != main) {
        for view in views() {
            let here = view.members.iter().filter(counts).filter(|one| one.instance.vpc_id.as_deref() == Some(*vpc));
            found.extend(alibaba::grouped(view, here, severity, |members| {
                let verb = if members.len() == 1 { "is" } else { "are" };
                let rest = if *number == 1 { "1 other is".to_owned() } else { format!("{number} others are") };
                let message = format!("{} {verb} in VPC `{vpc}`, but {rest} in `{main}`", alibaba::phrase(members));
                (message, Fix::none("give each VPC a separate cluster, or exclude the Nodes elsewhere with a label"))
            }));
        }
    }
    (by_vpc.values().sum(), found)
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
    fn accounts_count_together() {
        let with_account = |c: &mut alibaba::Cluster, vpc: &str| {
            c.without_nodes();
            let mut other = c.account().clone();
            other.account_id = "6543210987654321".to_owned();
            let region = other.regions.first_mut().unwrap();
            for instance in &mut region.instances {
                instance.id.push_str("other");
                instance.vpc_id = Some(vpc.to_owned());
            }
            c.inventory.accounts.push(other);
        };
        alibaba::fires(&RULE, |c| with_account(c, "vpc-bp2"));
        // A VPC with shared vSwitches has instances of several accounts.
        alibaba::silent(&RULE, |c| with_account(c, "vpc-bp1"));
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
