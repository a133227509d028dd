use crate::aws::view::RegionView;
use crate::finding::Choice;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::rules::region::{has, ids, instances_phrase};
use crate::tags::{self, OWNED, SHARED};

pub(super) const RULE: Rule = Rule {
    id: "instance-shared",
    title: "an instance is tagged shared",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "A member carries the cluster tag with the value `shared`.",
    impact: "no effect on the cloud controller; tools that delete clusters leave the instance behind, and the scoped policy of the VPC CNI requires `owned` to change the instance's interfaces",
    fix: "Set it to `owned`: nodes are not shareable.",
    applicability: Applicability::Choice,
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/tags.go#hasClusterTagOwned"],
    example: "3 instances have `kubernetes.io/cluster/bravo=shared`; nodes cannot be shared",
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let own = context.cluster_id();
    let key = context.cluster_key();
    let shared = region.members.iter().filter(|member| tags::cluster_value(&member.instance.tags, own) == Some(SHARED));
    region.grouped(
        shared,
        |_| Severity::Info,
        |members| {
            let message =
                format!("{} {} `{key}={SHARED}`; nodes cannot be shared", instances_phrase(members), has(members));
            let changes = region.set_tag(ResourceKind::Instance, ids(members), &key, OWNED);
            let owned = Choice::with(OWNED, "tools may delete the instances with the cluster", changes);
            (message, Fix::choose(format!("set it to `{OWNED}`"), vec![owned]))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| tag(&mut c.instance(aws::WORKER).tags, aws::KEY, "shared"));
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| tag(&mut c.vpc().tags, aws::KEY, "shared"));
    }
}
