//! Traffic between load balancers and nodes, as their security groups let it in.

use ipnet::IpNet;

use crate::aws::view::RegionView;
use crate::aws::{IngressPermission, LoadBalancer};

/// The answer of security groups to a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// A rule lets some of its traffic in, or may do so.
    Open,
    /// No rule does.
    Closed,
}

/// True if a permission covers a TCP port.
pub(super) fn covers(permission: &IngressPermission, port: u16) -> bool {
    let port = i32::from(port);
    let is_within =
        permission.from_port.is_none_or(|from| from <= port) && permission.to_port.is_none_or(|to| port <= to);
    match permission.protocol.as_str() {
        "-1" => true,
        "tcp" | "6" => is_within,
        _ => false,
    }
}

/// The answer of the groups of an instance for a TCP port; `None` if a group was not read. Health checks, and traffic of
/// load balancers that hide their clients, come from the groups or from the subnets of the load balancer. Any range that
/// touches one of these subnets counts as open: only what is closed for certain is closed.
pub(super) fn admission(
    region: &RegionView<'_>,
    groups: &[String],
    port: u16,
    balancer: &LoadBalancer,
) -> Option<Admission> {
    let subnets = balancer.subnets.iter().map(|id| region.subnet(id)?.cidr_block.as_deref()?.parse::<IpNet>().ok());
    let subnets: Vec<IpNet> = subnets.collect::<Option<_>>()?;
    for id in groups {
        let group = region.security_group(id)?;
        for permission in group.ingress.iter().filter(|permission| covers(permission, port)) {
            let from_group = permission.groups.iter().any(|source| balancer.security_groups.contains(&source.source));
            let touches = |source: &str| match source.parse::<IpNet>() {
                Ok(range) => subnets.iter().any(|subnet| range.contains(subnet) || subnet.contains(&range)),
                // A prefix list, whose entries are not read.
                Err(_) => true,
            };
            if from_group || permission.ranges.iter().any(|range| touches(&range.source)) {
                return Some(Admission::Open);
            }
        }
    }
    Some(Admission::Closed)
}
