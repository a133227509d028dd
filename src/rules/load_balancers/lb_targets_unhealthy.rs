use std::collections::{BTreeMap, BTreeSet};

use crate::aws::{LoadBalancerKind, TargetGroup, TargetHealth};
use crate::kubernetes::Service;
use crate::model::existing::Balancer;
use crate::model::pods::instances_with_pod;
use crate::rules::aws::Context;
use crate::rules::balancer_traffic::{Admission, admission};
use crate::rules::prelude::*;

use super::{
    BALANCER, BALANCERS, TAGS, described, for_each, group_resource, is_leaving, listed, on_balancer, service_behind,
};

pub(super) const RULE: Rule = Rule {
    id: "lb-targets-unhealthy",
    title: "targets of a load balancer are unhealthy",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info if the Nodes of all unhealthy targets are not ready",
    ),
    resources: BALANCER,
    condition: "A target is unhealthy, or an instance out of service, for a reason that is not a change in progress. With `externalTrafficPolicy: Local`, nodes without a ready Pod fail the check on purpose: they count only if no target at all is healthy, and not if the endpoints of the Service were given. The message names the cause where the inventory shows it: security groups of the nodes that do not let the port in, Nodes that are not ready, or a kube-proxy, or what replaces it, that does not take the Pods of its Node as its own.",
    impact: "the target gets no traffic; if no target is healthy, Network and Application Load Balancers send traffic to all of them, and connections fail",
    fix: "Remove the cause that the message names.",
    sources: &[
        "Elastic Load Balancing API Reference, TargetHealth",
        "Elastic Load Balancing API Reference (2012-06-01), InstanceState",
        "kubernetes/kubernetes pkg/proxy/healthcheck/service_health.go",
        "kubernetes/kubernetes pkg/proxy/endpointslicecache.go",
    ],
    example: "5 of 5 targets of `a1b2c3` (Service `shop/web`) are unhealthy (Target.FailedHealthChecks): no rule of sg-0a lets TCP port 30080 in from the load balancer",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeInstanceHealth,
        Read::DescribeTargetGroups,
        Read::DescribeTargetHealth,
        Read::DescribeSecurityGroups,
        Read::DescribeInstances,
        Read::DescribeSubnets,
    ],
    ..Rule::cluster(check)
};

/// The targets of a target group, or of a Classic Load Balancer.
struct Targets<'a> {
    group: Option<&'a TargetGroup>,
    all: &'a [TargetHealth],
}

fn check(context: &Context<'_>) -> CheckResult {
    for_each(context, |one| {
        if one.balancer.state.as_deref() == Some("provisioning") {
            return None;
        }
        let groups: Vec<Targets<'_>> = if one.balancer.kind == LoadBalancerKind::Classic {
            one.balancer.health.iter().map(|all| Targets { group: None, all }).collect()
        } else {
            let of_group = |group: &'_ &TargetGroup| group.targets.is_some();
            let read = one.groups.iter().filter(|group| of_group(group));
            read.map(|group| Targets { group: Some(group), all: group.targets.as_deref().unwrap_or_default() })
                .collect()
        };
        if groups.is_empty() {
            return None;
        }
        Some(groups.iter().filter_map(|targets| violation(context, one, targets)).collect())
    })
}

/// True if a target fails its health checks, and not because it was just registered.
/// Source: Elastic Load Balancing API Reference (2012-06-01), `InstanceState`: the cause of an instance is in the
/// description alone.
fn is_unhealthy(target: &TargetHealth) -> bool {
    let description = target.description.as_deref().unwrap_or_default();
    let is_new = description.contains("HealthyThreshold") && !description.contains("UnhealthyThreshold")
        || description.contains("registration is still in progress")
        || description.contains("currently in progress");
    match target.state.as_str() {
        "unhealthy" => true,
        "OutOfService" => {
            let is_in_zone = !description.contains("Availability Zone");
            let runs = !["stopped", "terminated", "pending"]
                .iter()
                .any(|state| description.contains(&format!("in {state} state")));
            target.reason.as_deref() == Some("Instance") && !is_new && is_in_zone && runs
        }
        _ => false,
    }
}

fn violation(context: &Context<'_>, one: &Balancer<'_>, targets: &Targets<'_>) -> Option<Violation> {
    let mut unhealthy: Vec<&TargetHealth> =
        targets.all.iter().filter(|target| is_unhealthy(target) && !is_leaving(one, &target.id)).collect();
    let healthy = targets.all.iter().filter(|target| target.is_healthy()).count();
    let has_instances = targets.group.is_none_or(|group| group.target_type.as_deref() == Some("instance"));
    let service = one.service.or_else(|| service_behind(context, targets.group?));
    let local = service.filter(|service| has_instances && service.is_local);
    let with_pod = local
        .and_then(|service| instances_with_pod(context.kubernetes, service, context.view.nodes.unwrap_or_default()));
    // Nodes without a ready Pod answer 503 by design; without the Service it is not known if these do.
    let is_unclear = with_pod.is_none() && (local.is_some() || has_instances && service.is_none());
    if is_unclear && healthy > 0 {
        return None;
    }
    let judged = with_pod.as_ref().filter(|with_pod| !with_pod.is_empty());
    if let Some(with_pod) = judged {
        unhealthy.retain(|target| with_pod.contains(target.id.as_str()));
    }
    let first = *unhealthy.first()?;
    let mut severity = Severity::Warning;
    let mut related: Vec<ResourceRef> =
        targets.group.map(|group| group_resource(one.region, group)).into_iter().collect();
    let not_ready = not_ready(context, &unhealthy);
    let cause = if !not_ready.is_empty() && not_ready.len() == unhealthy.len() {
        severity = Severity::Info;
        related.extend(not_ready.keys().map(|id| one.region.bare(ResourceKind::Instance, id)));
        let names = listed(not_ready.values().copied());
        Some(format!("the Nodes are not ready: {names}"))
    } else if let Some((blocked, ports)) = blocked(one, targets, &unhealthy).filter(|_| has_instances) {
        related.extend(blocked.iter().map(|id| one.region.bare(ResourceKind::SecurityGroup, id)));
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        Some(format!(
            "no rule of {} lets TCP port {} in from the load balancer",
            listed(blocked.iter().copied()),
            ports.join(", ")
        ))
    } else {
        local.map(|service| cause_by_policy(service, with_pod.as_ref()))
    };
    let of = match targets.group {
        Some(group) => format!("`{}` of {}", text::printable(&group.name), described(one)),
        None => described(one),
    };
    let reason = first
        .reason
        .as_deref()
        .filter(|reason| reason.contains('.'))
        .map(|reason| format!(" ({})", text::printable(reason)));
    let (number, all) = (unhealthy.len(), targets.all.len());
    // The others fail on purpose.
    let verb = match (judged.is_some(), number) {
        (true, 1) => "has a ready Pod and is",
        (true, _) => "have a ready Pod and are",
        (false, 1) => "is",
        (false, _) => "are",
    };
    let mut message = format!("{number} of {all} targets of {of} {verb} unhealthy{}", reason.unwrap_or_default());
    if let Some(cause) = &cause {
        message.push_str(&format!(": {cause}"));
    } else if let Some(protocol) = targets.group.and_then(|group| group.health_check_protocol.as_deref()) {
        message.push_str(&format!(": the health check is {}", text::printable(protocol)));
    }
    if healthy == 0 {
        message.push_str("; no target is healthy");
    }
    if has_instances && cause.is_none() {
        related.extend(
            unhealthy
                .iter()
                .take(super::MOST_NAMES)
                .map(|one_target| one.region.bare(ResourceKind::Instance, &one_target.id)),
        );
    }
    let fix = if has_instances {
        "remove the cause; on a node, kube-proxy or a ready Pod of the Service answers the health check"
    } else {
        "remove the cause; each target is a Pod, which must itself answer on the port of the health check"
    };
    let key = targets.group.map_or_else(|| one.balancer.name.clone(), |group| group.name.clone());
    Some(on_balancer(one, severity, message, fix).related(related).with_respect_to(key))
}

/// The cause of unhealthy targets of a Service with `externalTrafficPolicy: Local`.
fn cause_by_policy(service: &Service, with_pod: Option<&BTreeSet<&str>>) -> String {
    let name = service.full_name();
    let name = text::printable(&name);
    match with_pod {
        None => format!("`{name}` has externalTrafficPolicy Local, and no node answers that it has a ready Pod"),
        Some(with_pod) if with_pod.is_empty() => {
            format!("`{name}` has externalTrafficPolicy Local and no ready Pod")
        }
        Some(_) => format!(
            "there kube-proxy, or what replaces it, does not answer, or does not take the ready Pod of `{name}` as one of its Node: its host name (`--hostname-override`) is not the name of the Node"
        ),
    }
}

/// Names of Nodes that are not ready, by instance.
fn not_ready<'a>(context: &Context<'a>, unhealthy: &[&'a TargetHealth]) -> BTreeMap<&'a str, &'a str> {
    let nodes = context.view.nodes.unwrap_or_default();
    let of = |target: &&'a TargetHealth| {
        let node = nodes.iter().find(|node| node.provider_id.ends_with(&format!("/{}", target.id)))?;
        (node.is_ready == Some(false)).then_some((target.id.as_str(), node.name.as_str()))
    };
    unhealthy.iter().filter_map(of).collect()
}

/// Security groups of unhealthy instances that let a port in from nowhere near the load balancer, and these ports; `None` if
/// one of the instances admits them, or if it is not known.
fn blocked<'a>(
    one: &Balancer<'a>,
    targets: &Targets<'_>,
    unhealthy: &[&TargetHealth],
) -> Option<(BTreeSet<&'a str>, BTreeSet<u16>)> {
    let mut groups = BTreeSet::new();
    let mut closed = BTreeSet::new();
    for target in unhealthy {
        let instance = one.region.instance(&target.id)?;
        let mut ports: BTreeSet<u16> = BTreeSet::new();
        match targets.group {
            Some(group) => {
                let traffic = target.port.or(group.port)?;
                let health = group.health_check_port.as_deref().and_then(|port| port.parse().ok());
                ports.extend([traffic, health.unwrap_or(traffic)]);
            }
            None => ports.extend(one.balancer.listeners.iter().flatten().filter_map(|listener| listener.instance_port)),
        }
        // A closed port of the traffic alone cannot fail a health check on another one.
        let health = targets.group.and_then(|group| group.health_check_port.as_deref()?.parse::<u16>().ok());
        let mut is_closed = false;
        for port in ports.into_iter().filter(|port| health.is_none_or(|health| health == *port)) {
            match admission(one.region, &instance.security_groups, port, one.balancer)? {
                Admission::Closed => {
                    is_closed = true;
                    closed.insert(port);
                }
                Admission::Open => {}
            }
        }
        if !is_closed {
            return None;
        }
        groups.extend(instance.security_groups.iter().map(String::as_str));
    }
    (!groups.is_empty()).then_some((groups, closed))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws::{self, Cluster, SECOND_WORKER, TAGGED_GROUP, WORKER};
    use crate::testing::load_balancers::{LOCAL_SERVICE, NETWORK_SERVICE, SERVICE, unhealthy};
    use crate::testing::tag;

    macro_rules! ingress {
        ($policy:literal) => {
            concat!(
                "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 0a}
spec: {type: NodePort, externalTrafficPolicy: ",
                $policy,
                ", ports: [{port: 443, nodePort: 30443}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site, namespace: shop, uid: 0b}
spec: {ingressClassName: alb}
"
            )
        };
    }
    const INGRESS: &str = ingress!("Cluster");
    const LOCAL_INGRESS: &str = ingress!("Local");

    fn close(c: &mut Cluster) {
        for group in &mut c.region().security_groups {
            group.ingress.clear();
        }
    }

    #[test]
    fn fires() {
        // No rule lets the port in.
        let found = aws::messages(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
            close(c);
            c.manifests = NETWORK_SERVICE;
        });
        assert!(found[0].contains(TAGGED_GROUP) && found[0].contains("30443"), "{found:?}");
        // One target answers, and the rules are right.
        aws::fires(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[WORKER]);
            c.manifests = NETWORK_SERVICE;
        });
        // No node has a Pod.
        aws::fires(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[]);
            c.manifests = LOCAL_SERVICE;
        });
        aws::fires(&RULE, |c| {
            let balancer = c.add_classic();
            for one in balancer.health.as_mut().unwrap() {
                one.state = "OutOfService".to_owned();
                one.reason = Some("Instance".to_owned());
                one.description = Some(
                    "Instance has failed at least the UnhealthyThreshold number of health checks consecutively."
                        .to_owned(),
                );
            }
            close(c);
            c.manifests = SERVICE;
        });
    }

    #[test]
    fn the_service_of_an_ingress_tells_whether_its_nodes_fail_on_purpose() {
        let with = |c: &mut Cluster, manifests| {
            let tags = c.add_network().tags.as_mut().unwrap();
            tags.clear();
            tag(tags, "elbv2.k8s.aws/cluster", aws::ID);
            tag(tags, "ingress.k8s.aws/stack", "shop/site");
            let group = c.target_group();
            tag(group.tags.as_mut().unwrap(), "ingress.k8s.aws/resource", "shop/site-web:443");
            unhealthy(group, &[WORKER]);
            c.manifests = manifests;
        };
        aws::fires(&RULE, |c| with(c, INGRESS));
        let (found, _) = aws::changed(&RULE, |c| with(c, LOCAL_INGRESS));
        assert_eq!(found, Vec::new());
    }

    /// Endpoints of the Service on a Node of the cluster.
    fn slice(node: &str, is_ready: bool) -> String {
        format!(
            "---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
endpoints:
- {{addresses: [10.244.1.7], nodeName: {node}, conditions: {{ready: {is_ready}}}}}
"
        )
    }

    fn with_endpoints(c: &mut Cluster, sick: &[&str], of: &str, is_ready: bool) {
        c.add_network();
        unhealthy(c.target_group(), sick);
        let node = c.node(of)["metadata"]["name"].as_str().unwrap().to_owned();
        c.manifests = Box::leak(format!("{LOCAL_SERVICE}{}", slice(&node, is_ready)).into_boxed_str());
    }

    #[test]
    fn endpoints_tell_which_nodes_fail_on_purpose() {
        // Another node has the Pod, and answers.
        aws::silent(&RULE, |c| with_endpoints(c, &[SECOND_WORKER], WORKER, true));
        // The node of the Pod fails, although others answer.
        let found = aws::messages(&RULE, |c| with_endpoints(c, &[WORKER], WORKER, true));
        assert!(found[0].starts_with("1 of ") && found[0].contains("--hostname-override"), "{found:?}");
        let found = aws::messages(&RULE, |c| with_endpoints(c, &[], WORKER, false));
        assert!(found[0].contains("Local and no ready Pod; no target is healthy"), "{found:?}");
    }

    #[test]
    fn a_node_that_is_not_ready_explains_its_target() {
        aws::fires(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[WORKER]);
            c.node(WORKER)["status"]["conditions"] = serde_json::json!([{"type": "Ready", "status": "False"}]);
            c.manifests = NETWORK_SERVICE;
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.add_network();
            c.manifests = NETWORK_SERVICE;
        });
        // Nodes without a Pod fail on purpose.
        aws::silent(&RULE, |c| {
            c.add_network();
            unhealthy(c.target_group(), &[WORKER]);
            c.manifests = LOCAL_SERVICE;
        });
        // A new instance.
        aws::silent(&RULE, |c| {
            let balancer = c.add_classic();
            let one = balancer.health.as_mut().unwrap().first_mut().unwrap();
            one.state = "OutOfService".to_owned();
            one.reason = Some("Instance".to_owned());
            one.description = Some(
                "Instance has not passed the configured HealthyThreshold number of health checks consecutively."
                    .to_owned(),
            );
            c.manifests = SERVICE;
        });
    }
}
