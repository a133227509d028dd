use std::collections::BTreeSet;

use crate::aws::LoadBalancerKind;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each_of_service, group_resource, on_balancer};

pub(super) const RULE: Rule = Rule {
    id: "lb-node-port-differs",
    title: "a load balancer sends traffic to a port that the Service does not have",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "The port of a target group with instances, or the instance port of a listener of a Classic Load Balancer, is not a node port of the Service. Or the health check of such a target group uses a port in the default range of node ports (30000 to 32767) that is neither a node port nor the `healthCheckNodePort` of the Service, and that no annotation names.",
    impact: "no node answers there: health checks fail, and connections too",
    fix: "Make the controller sync the Service; see its events for the reason why it did not.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/aws_loadbalancer.go#ensureTargetGroup"],
    example: "`k8s-shop-api-55f2` of `a1b2c3` (Service `shop/web`) sends traffic to port 30443, and the node ports of the Service are 31999",
    reads: &[BALANCERS, TAGS, Read::DescribeTargetGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    for_each_of_service(context, |one, service| {
        let allocated: BTreeSet<i64> = service.ports.iter().filter_map(|port| port.node_port).collect();
        if allocated.is_empty() || service.ports.iter().any(|port| port.node_port.is_none()) {
            return None;
        }
        let node_ports = || allocated.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let fix = "make the controller sync the Service; see its events for the reason why it did not";
        if one.balancer.kind == LoadBalancerKind::Classic {
            let asked: BTreeSet<i64> = service.ports.iter().map(|port| port.port).collect();
            let listeners = one.balancer.listeners.as_ref()?.iter();
            // A listener that no port asks for is another finding.
            let of_service = listeners.filter(|listener| asked.contains(&i64::from(listener.port)));
            let other = of_service.filter_map(|listener| listener.instance_port.map(|port| (listener.port, port)));
            let found = other.filter(|(_, port)| !allocated.contains(&i64::from(*port))).map(|(listener, port)| {
                let message = format!(
                    "the listener {listener} of {} sends traffic to port {port}, and the node ports of the Service are {}",
                    described(one),
                    node_ports()
                );
                on_balancer(one, Severity::Warning, message, fix).with_respect_to(listener.to_string())
            });
            return Some(found.collect());
        }
        let groups: Vec<_> =
            one.groups.iter().filter(|group| group.target_type.as_deref() == Some("instance")).collect();
        if groups.is_empty() {
            return None;
        }
        let other = groups.into_iter().filter_map(|group| Some((group, group.port?)));
        let found = other.filter(|(_, port)| !allocated.contains(&i64::from(*port))).map(|(group, port)| {
            let message = format!(
                "`{}` of {} sends traffic to port {port}, and the node ports of the Service are {}",
                text::printable(&group.name),
                described(one),
                node_ports()
            );
            let related = group_resource(one.region, group);
            on_balancer(one, Severity::Warning, message, fix).related([related]).with_respect_to(group.name.as_str())
        });
        let mut found: Vec<Violation> = found.collect();
        found.extend(one.groups.iter().filter_map(|group| {
            let port =
                group.health_check_port.as_deref().filter(|_| group.target_type.as_deref() == Some("instance"))?;
            let number: i64 = port.parse().ok()?;
            let own = allocated.iter().chain(&service.health_check_node_port);
            let is_named = || service.annotations.values().any(|value| value.trim() == port);
            if !NODE_PORTS.contains(&number) || own.into_iter().any(|one| *one == number) || is_named() {
                return None;
            }
            let message = format!(
                "the health check of `{}` of {} uses port {number}, and the node ports of the Service are {}",
                text::printable(&group.name),
                described(one),
                node_ports()
            );
            let related = group_resource(one.region, group);
            let violation = on_balancer(one, Severity::Warning, message, fix).related([related]);
            Some(violation.with_respect_to(Key::from("health").and(Key::from(group.name.as_str()))))
        }));
        Some(found)
    })
}

/// Node ports by default (`--service-node-port-range`): a lower one is that of kube-proxy, or of another program on the node.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;
    use crate::testing::load_balancers::{LOCAL_SERVICE, NETWORK_SERVICE, SERVICE};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.add_network();
            c.target_group().port = Some(31999);
            c.manifests = NETWORK_SERVICE;
        });
        aws::fires(&RULE, |c| {
            c.add_classic().listeners.as_mut().unwrap()[0].instance_port = Some(31999);
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn a_port_of_a_health_check_that_the_service_lost_is_found() {
        let found = |port: &str, manifests: &str| {
            aws::messages(&RULE, |c| {
                c.add_network();
                c.target_group().health_check_port = Some(port.to_owned());
                c.manifests = manifests.to_owned().leak();
            })
        };
        assert!(found("32222", NETWORK_SERVICE).iter().any(|one| one.contains("uses port 32222")));
        let of_type = "aws-load-balancer-type: nlb";
        let annotated = format!("{of_type}, service.beta.kubernetes.io/aws-load-balancer-healthcheck-port: '32222'");
        for (port, manifests) in [
            ("traffic-port", NETWORK_SERVICE),
            ("30443", NETWORK_SERVICE),
            ("10256", NETWORK_SERVICE),
            ("10356", NETWORK_SERVICE),
            ("32000", LOCAL_SERVICE),
            ("32222", &NETWORK_SERVICE.replace(of_type, &annotated)),
        ] {
            assert_eq!(found(port, manifests), [""; 0], "{port}");
        }
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = NETWORK_SERVICE;
        });
        aws::silent(&RULE, |c| {
            c.add_classic();
            c.manifests = SERVICE;
        });
    }
}
