use std::collections::BTreeSet;

use crate::aws::load_balancers::Maker;
use crate::aws::{LoadBalancerKind, SecurityGroup};
use crate::controller::ControllerVersion;
use crate::kubernetes::{CloudConfig, Service};
use crate::model::existing::Balancer;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-user-group-deleted",
    title: "the controller will delete a security group that it did not create",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Classic Load Balancer of the cloud controller has a security group with the cluster tag, whatever its value, that the controller did not create (its name is not `k8s-elb-NAME`, or `k8s-NAMESPACE-NAME-HASH` for a Network Load Balancer), that no annotation of the Service names, and that is not `ElbSecurityGroup` of the cloud configuration. Without that configuration, a group that all Classic Load Balancers of the cluster have is skipped if the cluster has several of them. From v1.35 on, this also applies to a Network Load Balancer if the value of the tag is `owned`; the version must be known.",
    impact: "when the Service is deleted, the controller deletes the group; one that is in use elsewhere keeps the Service in deletion until the controller gives up after ten minutes, and again with each retry",
    fix: "Remove the cluster tag from the group, or name the group in `aws-load-balancer-extra-security-groups`.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted",
        "https://github.com/aws/containers-roadmap/issues/729",
    ],
    example: "`a1b2c3` (Service `shop/web`) has the group sg-0a (`web-clients`) with the cluster tag: the controller deletes it with the Service",
    reads: &[BALANCERS, TAGS, Read::DescribeSecurityGroups],
    ..Rule::joined(check)
};

/// Annotations that protect the groups which they name.
const PROTECTING: [&str; 2] = [
    "service.beta.kubernetes.io/aws-load-balancer-security-groups",
    "service.beta.kubernetes.io/aws-load-balancer-extra-security-groups",
];

fn check(context: &Context<'_>) -> CheckResult {
    let classic: Vec<&Balancer<'_>> =
        context.existing.balancers.iter().filter(|one| one.balancer.kind == LoadBalancerKind::Classic).collect();
    let on_all = |id: &String| classic.iter().all(|one| one.balancer.security_groups.contains(id));
    let configs = &context.kubernetes.cloud_configs;
    let may_be_configured = |id: &String| match configs.as_slice() {
        [] => classic.len() > 1 && on_all(id),
        given => given.iter().any(|config| is_configured(config, id)),
    };
    let version = context.on_kubernetes().aws_controller_version();
    let deletes_groups_of_networks = version.is_some_and(|version| version >= FIRST_OF_NETWORKS);
    for_each_of_service(context, |one, service| {
        let is_network = match one.balancer.kind {
            LoadBalancerKind::Classic => false,
            LoadBalancerKind::Network if deletes_groups_of_networks => true,
            _ => return None,
        };
        if one.claim()?.maker != Maker::CloudController {
            return None;
        }
        let protected = protected(service);
        let deleted = one.balancer.security_groups.iter().filter(|id| !may_be_configured(id)).filter_map(|id| {
            let group = one.region.security_group(id)?;
            let is_its = !is_network || is_owned(group, context.cluster_id()) && !is_managed(group, service);
            (is_its && is_deleted(group, &one.balancer.name, &protected, context.cluster_id())).then_some(group)
        });
        let found = deleted.map(|group| {
            let message = format!(
                "{} has the group {} (`{}`) with the cluster tag: the controller deletes it with the Service",
                described(one),
                group.id,
                text::printable(&group.name)
            );
            let fix = "remove the cluster tag from the group, or name it in `aws-load-balancer-extra-security-groups`";
            on_balancer(one, Severity::Warning, message, fix)
                .with_respect_to(group.id.as_str())
                .related([one.region.bare(ResourceKind::SecurityGroup, &group.id)])
        });
        Some(found.collect())
    })
}

/// Source: kubernetes/cloud-provider-aws v1.35.0 `pkg/providers/v1/aws.go#buildSecurityGroupsToDelete`.
const FIRST_OF_NETWORKS: ControllerVersion = ControllerVersion::new(1, 35, 0);

/// True if the controller counts a group as its own by its tags.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/tags.go#hasClusterTagOwned`.
fn is_owned(group: &SecurityGroup, cluster_id: &str) -> bool {
    let key = format!("{}{cluster_id}", tags::CLUSTER_TAG_PREFIX);
    tags::value(&group.tags, &key) == Some(tags::OWNED)
        || tags::value(&group.tags, tags::LEGACY_TAG) == Some(cluster_id)
}

/// True if the controller created the group of a Network Load Balancer (`NLBSecurityGroupMode = Managed`).
/// Source: kubernetes/cloud-provider-aws v1.35.0 `pkg/providers/v1/aws.go#GetSecurityGroupNameForNLB`.
fn is_managed(group: &SecurityGroup, service: &Service) -> bool {
    let part = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).take(8).collect::<String>();
    group.name.starts_with(&format!("k8s-{}-{}-", part(&service.namespace), part(&service.name)))
}

/// True if a cloud configuration names a group as `ElbSecurityGroup`, or cannot be read.
fn is_configured(config: &CloudConfig, id: &str) -> bool {
    let Ok(sections) = &config.sections else { return true };
    let variables = sections.iter().flat_map(|section| &section.variables);
    let mut named = variables.filter(|variable| variable.name.eq_ignore_ascii_case("ElbSecurityGroup"));
    named.any(|variable| variable.value.as_deref() == Some(id))
}

/// Ids that the annotations of a Service protect.
fn protected(service: &Service) -> BTreeSet<&str> {
    let values = PROTECTING.into_iter().filter_map(|name| service.annotations.get(name));
    values.flat_map(|value| value.split(',')).map(str::trim).collect()
}

/// True if the controller deletes a group with the load balancer, and did not create it.
fn is_deleted(group: &SecurityGroup, balancer: &str, protected: &BTreeSet<&str>, cluster_id: &str) -> bool {
    tags::has_cluster_tag(&group.tags, cluster_id)
        && group.name != format!("k8s-elb-{balancer}")
        && !protected.contains(group.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::load_balancers::{NETWORK_SERVICE, SERVICE};
    use crate::testing::{aws, tag};

    /// Gives the load balancer a group of the user, with the cluster tag or without.
    fn with_group(c: &mut aws::Cluster, is_tagged: bool) {
        c.add_classic().security_groups.push("sg-0webclients".to_owned());
        let group = c.add_group("sg-0webclients");
        group.name = "web-clients".to_owned();
        if is_tagged {
            tag(&mut group.tags, aws::KEY, "owned");
        }
        c.manifests = SERVICE;
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| with_group(c, true));
    }

    /// Gives the Network Load Balancer a group of the user with a value of the cluster tag, at a version of the controller.
    fn on_network(c: &mut aws::Cluster, value: &str, version: Option<&str>) {
        c.add_network().security_groups.push("sg-0webclients".to_owned());
        let group = c.add_group("sg-0webclients");
        group.name = "web-clients".to_owned();
        tag(&mut group.tags, aws::KEY, value);
        c.options.controller_version = version.and_then(|version| version.parse().ok());
        c.manifests = NETWORK_SERVICE;
    }

    #[test]
    fn groups_of_networks_are_deleted_if_they_are_owned_since_a_version() {
        aws::fires(&RULE, |c| on_network(c, "owned", Some("1.35.0")));
        aws::silent(&RULE, |c| on_network(c, "shared", Some("1.35.0")));
        aws::silent(&RULE, |c| {
            on_network(c, "owned", Some("1.35.0"));
            c.group("sg-0webclients").name = "k8s-shop-web-0123456789".to_owned();
        });
        for version in [Some("1.34.3"), None] {
            assert!(aws::messages(&RULE, |c| on_network(c, "owned", version)).is_empty());
        }
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| with_group(c, false));
    }
}
