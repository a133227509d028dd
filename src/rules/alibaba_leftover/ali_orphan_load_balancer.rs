use crate::alibaba::{CLUSTER_TAG, RegionView, SERVICE_TAG};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

use super::{lives, one};

pub(super) const RULE: Rule = Rule {
    id: "ali-orphan-load-balancer",
    title: "a load balancer of a cluster without nodes",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::LoadBalancer],
    condition: "A load balancer that the controller created (`kubernetes.do.not.delete`) carries `ack.aliyun.com` with the cluster id, and the region has no node of the cluster and no running instance without the tag of a cluster. The rule does not apply if the state of the cluster in Kubernetes is given. With Services, `ali-load-balancer-leftover` decides.",
    impact: "it costs money, counts against quotas, and no controller ever deletes it",
    fix: "Make sure that its address is no longer in use, and delete it.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/reconcile/annotation/annotations.go#GetDefaultTags",
    ],
    example: "2 load balancers are left by `bravo`, which has no instance in cn-hangzhou",
    reads: &[Read::EcsDescribeInstances, Read::SlbDescribeLoadBalancers, Read::NlbListLoadBalancers],
    reports_leftovers: true,
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    if let Some(why) = lives(context, view) {
        return CheckResult::not_applicable(why);
    }
    let Some(balancers) = &view.region.load_balancers else {
        return CheckResult::not_applicable("the load balancers were not read: a recording holds them");
    };
    let left: Vec<_> = balancers
        .iter()
        .filter(|one| {
            tags::value(&one.tags, CLUSTER_TAG) == Some(context.cluster_id())
                && tags::value(&one.tags, SERVICE_TAG).is_some()
        })
        .map(|one| (one.id.as_str(), one.name.as_deref()))
        .collect();
    let fix = "check that no scaling group brings the cluster back and that no name leads to them, then delete them";
    one(context, view, (ResourceKind::LoadBalancer, balancers.len()), &left, ("load balancer", fix.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::alibaba;

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.without_instances();
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.without_instances();
            c.load_balancer("lb-bp1web").tags.clear();
        });
    }

    #[test]
    fn does_not_apply() {
        alibaba::does_not_apply(&RULE, |c| c.objects.clear());
        alibaba::does_not_apply(&RULE, |c| {
            c.without_instances();
            c.region().load_balancers = None;
        });
        // Its instances carry no tag, or its API server answers.
        alibaba::does_not_apply(&RULE, |c| {
            c.objects.clear();
            c.region().instances.iter_mut().for_each(|one| one.tags.clear());
        });
        alibaba::does_not_apply(&RULE, |c| {
            c.without_nodes();
            c.region().instances.clear();
        });
    }
}
