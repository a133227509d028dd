use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-of-two-controllers",
    title: "two controllers claim a load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A load balancer has the tags of the cloud controller and those of the AWS Load Balancer Controller, both of this cluster.",
    impact: "each controller undoes what the other does: listeners, targets and security groups alternate, and the deletion by one breaks the other",
    fix: "Set `spec.loadBalancerClass` on a new Service, so that one controller has it, and delete the old one.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2",
        "kubernetes-sigs/aws-load-balancer-controller pkg/deploy/elbv2/load_balancer_synthesizer.go",
    ],
    example: "the cloud controller and the AWS Load Balancer Controller both claim `a1b2c3` (Service `shop/web`)",
    reads: &[BALANCERS, TAGS],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let [first, second, ..] = one.claims.as_slice() else { return Some(Vec::new()) };
        let message =
            format!("the {} and the {} both claim {}", first.maker.describe(), second.maker.describe(), described(one));
        let fix =
            "set `spec.loadBalancerClass` on a new Service, so that one controller has it, and delete the old one";
        Some(vec![on_balancer(one, Severity::Warning, message, fix)])
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, ID};
    use crate::testing::tag;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            let tags = c.add_network().tags.as_mut().unwrap();
            tag(tags, "elbv2.k8s.aws/cluster", ID);
            tag(tags, "service.k8s.aws/stack", "shop/web");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
        });
        aws::silent(&RULE, |c| {
            let tags = c.add_network().tags.as_mut().unwrap();
            tag(tags, "elbv2.k8s.aws/cluster", "another");
            tag(tags, "service.k8s.aws/stack", "shop/web");
        });
    }
}
