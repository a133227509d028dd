use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, group_resource, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-target-type-differs",
    title: "a target group has another target type than the Service asks for",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The type of the targets that the controller chooses for a Service today, as [`tagaudit simulate`](simulate.md) models it, is not that of the target groups of its load balancer.",
    impact: "the controller has not followed the change: traffic goes the old way",
    fix: "Make the controller sync the Service; see its events for the reason why it did not.",
    sources: &["kubernetes-sigs/aws-load-balancer-controller pkg/service/model_build_target_group.go#buildTargetType"],
    example: "`k8s-shop-edge-1` of `k8s-shop-edge-0` (Service `shop/edge`) has the target type instance, and the Service asks for ip",
    reads: &[BALANCERS, TAGS, Read::DescribeTargetGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, _| {
        let wanted = *one.decision.as_ref()?.target_type.known()?;
        if one.groups.is_empty() {
            return None;
        }
        let other = one.groups.iter().filter(|group| group.target_type.as_deref().is_some_and(|held| held != wanted));
        let found = other.map(|group| {
            let message = format!(
                "`{}` of {} has the target type {}, and the Service asks for {wanted}",
                text::printable(&group.name),
                described(one),
                text::printable(group.target_type.as_deref().unwrap_or_default())
            );
            let fix = "make the controller sync the Service; see its events for the reason why it did not";
            let related = group_resource(one.region, group);
            on_balancer(one, Severity::Warning, message, fix).related([related]).with_respect_to(group.name.as_str())
        });
        Some(found.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::NETWORK_SERVICE;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_network();
            c.target_group().target_type = Some("ip".to_owned());
            c.manifests = NETWORK_SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = NETWORK_SERVICE;
        });
    }
}
