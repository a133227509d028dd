use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, in_region, is_kept, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-registered-by-scaling-group",
    title: "an Auto Scaling group registers instances with the load balancer of a Service",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "An Auto Scaling group names a target group, or a Classic Load Balancer, that a controller of the cluster manages for a Service or an Ingress.",
    impact: "the group registers instances that the controller deregisters, and instances that the load balancer finds unhealthy may be replaced",
    fix: "Detach the target group or load balancer from the Auto Scaling group.",
    sources: &[
        "Amazon EC2 Auto Scaling User Guide, Attach an Elastic Load Balancing load balancer",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureTargetGroup",
    ],
    example: "the Auto Scaling group `workers` and the cloud controller both register targets with `a1b2c3` (Service `shop/web`)",
    reads: &[BALANCERS, TAGS, Read::DescribeAutoScalingGroups, Read::DescribeTargetGroups],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        let groups = one.region.region.auto_scaling_groups.as_ref()?;
        let maker = one.claim()?.maker.describe();
        let found = groups.iter().filter_map(|group| {
            let launch = group.launch.as_ref()?;
            let kept = one.groups.iter().filter(|target| is_kept(context, one, target));
            let attached = kept.into_iter().find(|target| launch.target_groups.contains(&target.arn));
            // Names of Classic Load Balancers are those of no other kind.
            let is_classic = one.balancer.arn.is_none() && launch.load_balancers.contains(&one.balancer.name);
            if attached.is_none() && !is_classic {
                return None;
            }
            let message = format!(
                "the Auto Scaling group `{}` and the {maker} both register targets with {}",
                text::printable(&group.name),
                described(one)
            );
            let fix = "detach it from the Auto Scaling group";
            let mut related = vec![ResourceRef {
                arn: Some(group.arn.clone()),
                ..in_region(one.region, ResourceKind::AutoScalingGroup, &group.name)
            }];
            related.extend(attached.map(|target| super::group_resource(one.region, target)));
            let violation = on_balancer(one, Severity::Warning, message, fix).related(related);
            Some(violation.with_respect_to(group.name.as_str()))
        });
        Some(found.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_network();
            let arn = c.target_group().arn.clone();
            c.launch_group("workers").launch.as_mut().unwrap().target_groups.push(arn);
        });
        aws::fires(&RULE, |c| {
            let name = c.add_classic().name.clone();
            c.launch_group("workers").launch.as_mut().unwrap().load_balancers.push(name);
        });
    }

    #[test]
    fn a_target_group_of_the_operator_behind_an_ingress_is_his() {
        let with = |c: &mut aws::Cluster, resource: Option<&str>| {
            let tags = c.add_network().tags.as_mut().unwrap();
            tags.clear();
            crate::testing::tag(tags, "elbv2.k8s.aws/cluster", aws::ID);
            crate::testing::tag(tags, "ingress.k8s.aws/stack", "shop/web");
            crate::testing::tag(tags, "ingress.k8s.aws/resource", "LoadBalancer");
            let group = c.target_group();
            group.tags = Some(Vec::new());
            if let Some(resource) = resource {
                let held = group.tags.as_mut().unwrap();
                crate::testing::tag(held, "elbv2.k8s.aws/cluster", aws::ID);
                crate::testing::tag(held, "ingress.k8s.aws/stack", "shop/web");
                crate::testing::tag(held, "ingress.k8s.aws/resource", resource);
            }
            let arn = group.arn.clone();
            c.launch_group("workers").launch.as_mut().unwrap().target_groups.push(arn);
        };
        aws::fires(&RULE, |c| with(c, Some("shop/web-app:80")));
        aws::silent(&RULE, |c| with(c, None));
    }

    #[test]
    fn silent() {
        // The target group of the API server.
        aws::silent(&RULE, |c| {
            c.add_network();
            let launch = c.launch_group("workers").launch.as_mut().unwrap();
            launch.target_groups.push("arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/tcp-api/0".to_owned());
        });
    }
}
