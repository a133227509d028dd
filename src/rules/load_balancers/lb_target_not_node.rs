use crate::aws::{LoadBalancerKind, TargetHealth};
use crate::model::existing::Balancer;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, has_other_clusters, is_kept, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-target-not-node",
    title: "a target of a load balancer is not a running node",
    severity: RuleSeverity::depends(Severity::Warning, "warning; info for a node that is stopped"),
    resources: BALANCER,
    condition: "An instance behind a load balancer of a Service is not a node of the cluster, although the Nodes were given and nothing else makes it one; or it is stopped or terminated.",
    impact: "the controllers deregister every target that is not a node, in the groups that they manage: that one stays shows that the controller does not sync, or that something else registers it again",
    fix: "Stop what registers it, and make the controller sync the Service.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureTargetGroup",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#ensureLoadBalancerInstances",
        "kubernetes-sigs/aws-load-balancer-controller pkg/targetgroupbinding/resource_manager.go#reconcileWithInstanceTargetType",
    ],
    example: "`i-0b` is a target of `a1b2c3` (Service `shop/web`) and not a node of the cluster",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeInstanceHealth,
        Read::DescribeInstances,
        Read::DescribeTargetGroups,
        Read::DescribeTargetHealth,
    ],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        if one.region.members.is_empty() {
            return None;
        }
        let targets = instances(context, one)?;
        Some(targets.into_iter().filter_map(|target| violation(context, one, target)).collect())
    })
}

/// The targets that are instances; `None` if they were not read.
fn instances<'a>(context: &Context<'_>, one: &Balancer<'a>) -> Option<Vec<&'a TargetHealth>> {
    if one.balancer.kind == LoadBalancerKind::Classic {
        return one.balancer.health.as_ref().map(|all| all.iter().collect());
    }
    let of_instances = one.groups.iter().filter(|group| group.target_type.as_deref() == Some("instance"));
    let groups = of_instances.filter(|group| is_kept(context, one, group) && !has_other_clusters(context, one, group));
    let read: Option<Vec<&'a Vec<TargetHealth>>> = groups.map(|group| group.targets.as_ref()).collect();
    let targets = read.filter(|read| !read.is_empty())?.into_iter().flatten();
    Some(targets.filter(|target| target.state != "draining").collect())
}

fn is_new(target: &TargetHealth) -> bool {
    let description = target.description.as_deref().unwrap_or_default();
    target.state == "initial" || description.contains("registration is still in progress")
}

fn violation(context: &Context<'_>, one: &Balancer<'_>, target: &TargetHealth) -> Option<Violation> {
    let instance = one.region.instance(&target.id);
    let name = text::printable(&target.id);
    let balancer = described(one);
    let is_running = instance.is_some_and(|one| one.state == crate::aws::InstanceState::Running);
    let (severity, message) = match instance {
        Some(found) if is_running => {
            let is_node = one.region.member(&target.id).is_some()
                || tags::has_cluster_tag(&found.tags, context.cluster_id())
                || context.view.nodes.is_none();
            if is_node {
                return None;
            }
            (Severity::Warning, format!("`{name}` is a target of {balancer} and not a node of the cluster"))
        }
        // It starts, or ends, right now.
        Some(found) if !matches!(found.state, crate::aws::InstanceState::Stopped) => return None,
        Some(_) => (Severity::Info, format!("`{name}` is a target of {balancer} and is stopped")),
        // It was registered after the instances were listed.
        None if is_new(target) => return None,
        None => (Severity::Warning, format!("`{name}` is a target of {balancer} and does not exist")),
    };
    let fix = "stop what registers it, and make the controller sync the Service";
    let related = one.region.bare(ResourceKind::Instance, &target.id);
    Some(on_balancer(one, severity, message, fix).related([related]).with_respect_to(target.id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InstanceState;
    use crate::testing::aws::{self, WORKER};
    use crate::testing::load_balancers::add_target;

    #[test]
    fn fires() {
        // A tag in the way: nobody knows the instance.
        aws::fires(&RULE, |c| {
            c.add_network();
            c.add_other_instance();
            add_target(c.target_group(), "i-0other");
        });
        aws::fires(&RULE, |c| {
            c.add_network();
            add_target(c.target_group(), "i-0never");
        });
        aws::fires(&RULE, |c| {
            c.add_network();
            c.instance(WORKER).state = InstanceState::Stopped;
        });
    }

    #[test]
    fn other_clusters_may_register_their_nodes() {
        const BOUND: &str = "
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: web, namespace: shop}
spec:
  targetGroupARN: arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/k8s-shop-web-0a/0b
  multiClusterTargetGroup: true
";
        aws::does_not_apply(&RULE, |c| {
            c.add_network();
            c.add_other_instance();
            add_target(c.target_group(), "i-0other");
            c.manifests = BOUND;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
            add_target(c.target_group(), "i-0new");
            c.target_group().targets.as_mut().unwrap().last_mut().unwrap().state = "initial".to_owned();
        });
        aws::silent(&RULE, |c| {
            c.add_network();
        });
        aws::silent(&RULE, |c| {
            c.add_classic();
        });
    }
}
