use crate::aws::leftovers;
use crate::aws::load_balancers::{Claim, MadeFor, Maker};
use crate::kubernetes::{Document, DocumentKind};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{
    BALANCERS, NAME_MAY_BE_USED, OBJECTS_UNKNOWN, TAGS, bound_target_groups, group_resource, has_instances, is_dead,
    knows_objects, leaves_to_code,
};

pub(super) const RULE: Rule = Rule {
    id: "lb-target-group-unused",
    title: "a controller left a target group behind",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::TargetGroup],
    condition: "A target group with the tags of a controller of the cluster is used by no load balancer, no TargetGroupBinding that was given names it, no Auto Scaling group registers in it, and the controller would not use it today.",
    impact: "it counts against the limit of target groups; the controllers do not look for it again",
    fix: "Delete it (`--fix-leftovers`, if the API server showed that nothing needs it, or nothing of the cluster runs).",
    applicability: Applicability::Choice,
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "Elastic Load Balancing API Reference, TargetGroup, LoadBalancerArns",
    ],
    example: "`k8s-shop-old-594e519ae4`, which was created for Service `shop/old`, belongs to no load balancer",
    reads: &[BALANCERS, TAGS, Read::DescribeTargetGroups],
    reports_leftovers: true,
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let existing = context.existing;
    if !existing.was_read {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    let bound = bound_target_groups(context);
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
        !bound.contains(group.arn.as_str())
            && !bound.contains(group.name.as_str())
            && !wanted.contains(&&group.name)
            && !is_registered(&group.arn)
            && !is_looked_for(context, *claim)
    });
    let found = unused.map(|(region, group, claim)| {
        let message = format!(
            "`{}`, which was created for {}, belongs to no load balancer",
            text::printable(&group.name),
            text::printable(&claim.made_for.describe())
        );
        let key = ResourceKey::new(ResourceKind::TargetGroup, &group.arn);
        let deletion = leftovers::deletion(region.region, key).filter(|_| {
            let names = existing.names(context.cluster_id());
            leftovers::is_of_one_cluster(group.tags.as_deref().unwrap_or_default(), names)
                && leaves_to_code(group.tags.as_deref()).is_none()
        });
        let is_by_name = claim.maker == Maker::LoadBalancerController;
        let fix = match deletion {
            _ if !is_dead(context) && !knows_objects(context) => Fix::none(format!("delete it; {OBJECTS_UNKNOWN}")),
            _ if is_dead(context) && is_by_name && has_instances(region, group.vpc_id.as_deref()) => {
                Fix::none(format!("delete it; {NAME_MAY_BE_USED}"))
            }
            Some(deletion) => Fix::choose("delete it", vec![Choice::with("delete", "delete it", vec![deletion])]),
            None => Fix::none("delete it where it is managed: it has the mark of another cluster or of a tool"),
        };
        Violation::new(Severity::Info, group_resource(region, group), message, fix)
    });
    CheckResult::counted(number, found)
}

/// True if the controller finds the group again at its next sync: the AWS Load Balancer Controller by the tags of a stack
/// that exists, the cloud controller by its name when it creates the load balancer of a Service that has none.
/// Sources: kubernetes-sigs/aws-load-balancer-controller `pkg/deploy/elbv2/target_group_synthesizer.go#Synthesize`;
/// kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#ensureTargetGroup`.
fn is_looked_for(context: &Context<'_>, claim: Claim<'_>) -> bool {
    let has_balancer = || {
        let mut claims = context.existing.balancers.iter().flat_map(|one| &one.claims);
        claims.any(|other| other.made_for == claim.made_for)
    };
    let is_asked_for = match claim.made_for {
        MadeFor::Service(namespace, name) => {
            let mut services = context.kubernetes.services.iter().flatten();
            services.any(|one| one.namespace == namespace && one.name == name && one.is_load_balancer())
        }
        MadeFor::Ingress(namespace, name) => {
            let mut ingresses = context.kubernetes.documents_by_kind(DocumentKind::Ingress).map(Document::object);
            ingresses.any(|one| {
                one.text(&["metadata", "namespace"]) == Some(namespace) && one.text(&["metadata", "name"]) == Some(name)
            })
        }
        MadeFor::IngressGroup(_) => false,
    };
    match claim.maker {
        Maker::CloudController => is_asked_for && !has_balancer(),
        Maker::LoadBalancerController => is_asked_for || has_balancer(),
    }
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
