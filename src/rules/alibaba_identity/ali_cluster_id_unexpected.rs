use std::collections::BTreeSet;

use crate::alibaba::view::cluster_ids;
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-cluster-id-unexpected",
    title: "nothing belongs to the cluster id",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Cluster],
    condition: "No instance that was read carries `ack.aliyun.com` with the cluster id or the tag of an installer, and no Node names one. The rule passes if something else carries `ack.aliyun.com` with the cluster id, and every running instance has the tag of another cluster: the cluster has no nodes.",
    impact: "nothing of the cluster was checked: the other results of this report cover no node",
    fix: "Check the cluster id; give the Nodes with --nodes if instances carry no tag.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/metadata.go#ClusterID"],
    example: "no instance belongs to `prod`; instances are tagged for: staging",
    reads: &[Read::EcsDescribeInstances],
    always_runs: true,
    spares_neighbours: true,
    ..Rule::alibaba(alibaba::Check::Cluster(check))
};

fn check(context: &Context<'_>) -> CheckResult {
    if context.view.members().next().is_some() {
        return CheckResult::counted(1, []);
    }
    let may_run = || context.view.regions.iter().any(alibaba::has_unclaimed_instances);
    if context.view.is_anything_tagged() && context.view.nodes.is_none() && !may_run() {
        return CheckResult::counted(1, []);
    }
    let regions = context.view.regions.iter();
    let instances = regions.flat_map(|view| &view.region.instances);
    let seen: BTreeSet<&str> = instances.flat_map(|instance| cluster_ids(&instance.tags)).collect();
    let seen: Vec<&str> = seen.into_iter().collect();
    let others = if seen.is_empty() {
        "no instance carries the tag of any cluster".to_owned()
    } else {
        format!("instances are tagged for: {}", text::list(&seen, 6))
    };
    let near = seen.iter().find(|id| id.eq_ignore_ascii_case(context.cluster_id()));
    let hint = near.map_or_else(String::new, |id| format!("; did you mean `{}`?", text::printable(id)));
    let id = text::printable(context.cluster_id());
    let message = format!("no instance belongs to `{id}`; {others}{hint}");
    let fix = Fix::none("check the cluster id, or give the Nodes with --nodes");
    CheckResult::counted(1, [Violation::new(Severity::Error, super::cluster(context), message, fix)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.without_nodes();
            c.id = "Prod";
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, alibaba::Cluster::without_nodes);
        // Its load balancers are left.
        alibaba::silent(&RULE, alibaba::Cluster::without_instances);
        alibaba::fires(&RULE, |c| {
            c.without_nodes();
            c.region().instances.iter_mut().for_each(|one| one.tags.clear());
        });
    }
}
