//! What still uses a resource, so that it stays.

use std::collections::BTreeSet;

use crate::aws::{
    LoadBalancer, LoadBalancerKind, NetworkInterface, Region, TargetGroup, TargetHealth, TemplateVersion,
};
use crate::resource::{ResourceKey, ResourceKind};

use super::{Stays, rules_of};

/// The use that forbids the deletion of a resource; `None` if nothing uses it.
pub(crate) fn in_use(region: &Region, key: ResourceKey<'_>) -> Option<Stays> {
    match key.kind {
        ResourceKind::LoadBalancer => balancer_in_use(region, region.balancer(key.id)?),
        ResourceKind::TargetGroup => group_of_targets_in_use(region, region.target_group(key.id)?),
        ResourceKind::SecurityGroup => group_in_use(region, key.id),
        _ => None,
    }
}

/// The target that keeps its load balancer: only those that certainly fail do not.
/// Sources: Elastic Load Balancing API Reference, `TargetHealth` (`unavailable`: health checks are off) and `InstanceState`.
fn targets_in_use<'t>(mut targets: impl Iterator<Item = &'t TargetHealth>) -> Option<Stays> {
    targets.find_map(|target| match target.state.as_str() {
        "unhealthy" | "unused" | "OutOfService" => None,
        _ if target.is_healthy() => Some(Stays::Healthy),
        _ => Some(Stays::TargetsUnsettled),
    })
}

pub(super) fn balancer_in_use(region: &Region, one: &LoadBalancer) -> Option<Stays> {
    let attributes = one.attributes.as_ref();
    if attributes.and_then(|all| all.get("deletion_protection.enabled")).is_some_and(|value| value == "true") {
        return Some(Stays::Protected);
    }
    if one.kind == LoadBalancerKind::Classic {
        return one.health.as_ref().map_or(Some(Stays::HealthNotRead), |health| targets_in_use(health.iter()));
    }
    let unread = unread_target_groups(region, one).next().map(|_| Stays::HealthNotRead);
    unread.or_else(|| {
        region.target_groups_of(one).find_map(|group| {
            group.targets.as_ref().map_or(Some(Stays::HealthNotRead), |targets| targets_in_use(targets.iter()))
        })
    })
}

/// ARNs of target groups that listeners of a load balancer name, and that are not in the list.
pub(crate) fn unread_target_groups<'r>(region: &'r Region, one: &'r LoadBalancer) -> impl Iterator<Item = &'r str> {
    let named = one.listeners.iter().flatten().flat_map(|listener| &listener.target_groups);
    named.filter(|arn| region.target_group(arn).is_none()).map(String::as_str)
}

/// The target of a load balancer that is an address of a running instance, or that may be one of something else: without a
/// healthy target, traffic goes to all of them.
/// Source: Elastic Load Balancing User Guides, "Target group health" (fail open).
pub(super) fn running_target(region: &Region, one: &LoadBalancer) -> Option<Stays> {
    let targets = region.target_groups_of(one).flat_map(|group| group.targets.iter().flatten());
    let targets: BTreeSet<&str> = targets.map(|one| one.id.as_str()).collect();
    let running = region.instances.iter().filter(|instance| instance.state.is_live());
    let mut addresses = running.flat_map(|instance| {
        let of_interfaces = instance.network_interfaces.iter().filter_map(|one| one.addresses.as_ref());
        let of_interfaces = of_interfaces.flat_map(|one| one.ipv4.iter().chain(&one.ipv6));
        of_interfaces.chain(&instance.private_ip_address)
    });
    let runs = addresses.find(|address| targets.contains(address.as_str()));
    runs.map(|address| Stays::TargetRuns(address.clone())).or_else(|| {
        // Pods on Fargate, and tasks, have interfaces of their own, whose addresses were not read.
        let of_something = |interface: &&NetworkInterface| {
            let description = interface.description.as_str();
            let is_of_network = ["ELB ", "Interface for NAT Gateway", "VPC Endpoint Interface"]
                .iter()
                .any(|start| description.starts_with(start));
            interface.status == "in-use" && interface.instance_id.is_none() && !is_of_network
        };
        let here = region.network_interfaces.iter().filter(|interface| interface.vpc_id == one.vpc_id);
        let interface = here.filter(of_something).map(|interface| interface.id.clone()).next()?;
        let address = targets.iter().find(|target| target.parse::<std::net::IpAddr>().is_ok())?;
        Some(Stays::TargetMayRun((*address).to_owned(), interface))
    })
}

fn group_of_targets_in_use(region: &Region, one: &TargetGroup) -> Option<Stays> {
    if let Some(arn) = one.load_balancers.first() {
        return Some(Stays::UsedBy(arn.rsplit('/').nth(1).unwrap_or(arn).to_owned()));
    }
    let groups = region.auto_scaling_groups.iter().flatten();
    let registering = groups
        .filter(|group| group.launch.as_ref().is_some_and(|launch| launch.target_groups.contains(&one.arn)))
        .map(|group| group.name.as_str())
        .next();
    registering.map(|name| Stays::RegisteredBy(name.to_owned()))
}

fn group_in_use(region: &Region, id: &str) -> Option<Stays> {
    group_attached(region, id).or_else(|| group_named(region, id)).or_else(|| group_named_outbound(region, id))
}

/// The group whose outbound rules name a security group.
pub(super) fn group_named_outbound(region: &Region, id: &str) -> Option<Stays> {
    let mut others = region.security_groups.iter().filter(|other| other.id != id);
    let naming = others.find(|other| other.egress_groups.iter().any(|named| named == id))?;
    Some(Stays::NamedOutbound(naming.id.clone()))
}

/// The rule of another group that names a security group.
pub(super) fn group_named(region: &Region, id: &str) -> Option<Stays> {
    let others = region.security_groups.iter().filter(|other| other.id != id);
    let naming = others.filter(|other| rules_of(other).any(|(rule, _)| rule.source == id)).map(|one| &one.id).next();
    naming.map(|other| Stays::Named(other.clone()))
}

/// The resource that a security group is on.
pub(super) fn group_attached(region: &Region, id: &str) -> Option<Stays> {
    let has = |groups: &[String]| groups.iter().any(|group| group == id);
    let mut on: Vec<&NetworkInterface> =
        region.network_interfaces.iter().filter(|one| has(&one.security_groups)).collect();
    // Those of load balancers disappear with them; one that stays is named first.
    on.sort_by_key(|one| one.description.starts_with("ELB "));
    if let Some(interface) = on.first() {
        let is_leaving = interface.description.starts_with("ELB ");
        let id = interface.id.clone();
        return Some(if is_leaving { Stays::Leaving(id) } else { Stays::OnInterface(id) });
    }
    let mut templates = region.launch_templates.iter().flatten();
    let names = |version: &TemplateVersion| version.security_groups.as_deref().is_some_and(has);
    if let Some(template) = templates.find(|one| one.versions.iter().any(names)) {
        return Some(Stays::InTemplate(template.id.clone()));
    }
    if let Some(instance) = region.instances.iter().find(|one| has(&one.security_groups)) {
        return Some(Stays::OnInstance(instance.id.clone()));
    }
    let balancers = region.load_balancing.iter().flat_map(|read| &read.load_balancers);
    let on = balancers.into_iter().find(|one| has(&one.security_groups));
    on.map(|balancer| Stays::OnBalancer(balancer.name.clone()))
}
