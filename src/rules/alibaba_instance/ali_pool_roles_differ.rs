use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::view::SCALING_GROUP_TAG;
use crate::alibaba::{Member, RegionView};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-pool-roles-differ",
    title: "nodes of one pool have different RAM roles",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Instance],
    condition: "Instances of the cluster in one scaling group, or with one value of `ack.alibabacloud.com/nodepool-id`, have different RAM roles, or some have none.",
    impact: "calls allowed on one node of the pool are denied on another",
    fix: "Give all of them the role of the pool's configuration.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/manager.go#setFields"],
    example: "3 nodes of pool `np-1` have different RAM roles: KubernetesWorkerRole-a, none",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(_: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let mut pools: BTreeMap<&str, Vec<&Member<'_>>> = BTreeMap::new();
    for member in &view.members {
        let keys = [NODE_POOL_TAG, SCALING_GROUP_TAG];
        if let Some(pool) = keys.iter().find_map(|key| tags::value(&member.instance.tags, key)) {
            pools.entry(pool).or_default().push(member);
        }
    }
    let mut found = Vec::new();
    for (pool, members) in &pools {
        let roles: BTreeSet<&str> =
            members.iter().map(|member| member.instance.ram_role.as_deref().unwrap_or("none")).collect();
        let Some(first) = members.first().filter(|_| roles.len() > 1) else { continue };
        let roles: Vec<&str> = roles.into_iter().collect();
        let message = format!(
            "{} of pool `{}` have different RAM roles: {}",
            text::count(members.len(), "node"),
            text::printable(pool),
            text::list(&roles, 6)
        );
        let others = members.iter().skip(1).map(|one| ResourceRef::bare(ResourceKind::Instance, &one.instance.id));
        let fix = Fix::none("give all of them the role of the pool's configuration");
        let violation = Violation::new(Severity::Warning, alibaba::instance(view, first), message, fix);
        found.push(violation.related(others).cause(Cause::Group(Key::from_parts(["pool", pool]))));
    }
    CheckResult::counted(pools.values().map(Vec::len).sum(), found)
}

/// Tag of node pools. Source: kubernetes/cloud-provider-alibaba-cloud `pkg/controller/node/manager.go#setFields`.
const NODE_POOL_TAG: &str = "ack.alibabacloud.com/nodepool-id";

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            for id in [alibaba::WORKER, alibaba::MASTER] {
                tag(&mut c.instance(id).tags, "ack.alibabacloud.com/nodepool-id", "np-1");
            }
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            for id in [alibaba::WORKER, "i-bp1worker2"] {
                tag(&mut c.instance(id).tags, "ack.alibabacloud.com/nodepool-id", "np-1");
            }
        });
    }
}
