use crate::aws::load_balancers::MadeFor;
use crate::kubernetes::DocumentKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCERS, TAGS, group_resource};

pub(super) const RULE: Rule = Rule {
    id: "lb-target-group-unused",
    title: "a controller left a target group behind",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::TargetGroup],
    condition: "A target group with the tags of a controller of the cluster is used by no load balancer, no TargetGroupBinding that was given names it, no Auto Scaling group registers in it, and the controller would not use it today.",
    impact: "it counts against the limit of target groups; the controllers do not look for it again",
    fix: "Delete it.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "Elastic Load Balancing API Reference, TargetGroup, LoadBalancerArns",
    ],
    example: "`k8s-shop-old-594e519ae4`, which was created for Service `shop/old`, belongs to no load balancer",
    reads: &[BALANCERS, TAGS, Read::DescribeTargetGroups],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let existing = context.existing;
    if !existing.was_read {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    let bound: Vec<&str> = context
        .kubernetes
        .documents_by_kind(DocumentKind::TargetGroupBinding)
        .filter_map(|document| document.object().text(&["spec", "targetGroupARN"]))
        .collect();
    // A load balancer that is being created gets its listeners last.
    let wanted: Vec<&String> =
        existing.balancers.iter().filter_map(|one| one.decision.as_ref()?.target_groups.known()).flatten().collect();
    let is_registered = |arn: &String| {
        let regions = context.view.regions.iter().flat_map(|region| region.region.auto_scaling_groups.iter().flatten());
        regions.filter_map(|group| group.launch.as_ref()).any(|launch| launch.target_groups.contains(arn))
    };
    let is_starting = existing.balancers.iter().any(|one| one.balancer.state.as_deref() == Some("provisioning"));
    if is_starting {
        return CheckResult::not_applicable("a load balancer is being created");
    }
    let number = existing.unused_groups.len() + existing.balancers.iter().map(|one| one.groups.len()).sum::<usize>();
    let unused = existing.unused_groups.iter().filter(|(_, group, claim)| {
        !bound.contains(&group.arn.as_str())
            && !wanted.contains(&&group.name)
            && !is_registered(&group.arn)
            // The controller finds it again by its tags or its name.
            && !is_of_missing_balancer(context, claim.made_for)
    });
    let found = unused.map(|(region, group, claim)| {
        let message = format!(
            "`{}`, which was created for {}, belongs to no load balancer",
            text::printable(&group.name),
            text::printable(&claim.made_for.describe())
        );
        Violation::new(Severity::Info, group_resource(region, group), message, Fix::none("delete it"))
    });
    CheckResult::counted(number, found)
}

/// True if a Service that asks for a load balancer has none that was read: its controller is to create it, with its target
/// groups.
fn is_of_missing_balancer(context: &Context<'_>, made_for: MadeFor<'_>) -> bool {
    let MadeFor::Service(namespace, name) = made_for else { return false };
    let is_it = |service: &&crate::kubernetes::Service| service.namespace == namespace && service.name == name;
    let service = context.kubernetes.services.iter().flatten().find(is_it);
    let has_balancer =
        context.existing.balancers.iter().any(|one| one.claims.iter().any(|claim| claim.made_for == made_for));
    service.is_some_and(crate::kubernetes::Service::is_load_balancer) && !has_balancer
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
            c.manifests = NETWORK_SERVICE;
            let mut group = c.target_group().clone();
            group.arn = group.arn.replace("targetgroup/", "targetgroup/former-");
            group.name = format!("former-{}", group.name);
            group.load_balancers.clear();
            c.region().load_balancing.as_mut().unwrap().target_groups.push(group);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = NETWORK_SERVICE;
        });
        // An installer's target group names no Service.
        aws::silent(&RULE, |c| {
            c.add_network();
            let group = c.target_group();
            let mut other = group.clone();
            other.arn.push_str("-api");
            other.load_balancers.clear();
            other.tags.as_mut().unwrap().retain(|tag| tag.key != "kubernetes.io/service-name");
            c.region().load_balancing.as_mut().unwrap().target_groups.push(other);
        });
    }
}
