use std::collections::BTreeSet;

use crate::aws::{LoadBalancerKind, TargetGroup, TargetHealth};
use crate::kubernetes::Service;
use crate::model::existing::Balancer;
use crate::model::pods::instances_with_pod;
use crate::nodes::{EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{
    BALANCER, BALANCERS, SETTLED, TAGS, described, for_each, is_new, listed, on_balancer, read_at, service_behind,
};

pub(super) const RULE: Rule = Rule {
    id: "lb-local-pods-no-target",
    title: "no Node with a ready Pod of a Service is a target of its load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Service has `externalTrafficPolicy: Local` and ready Pods, its endpoints were given, no target of a target group is healthy or new, and none of the Nodes with a ready Pod is a target that gets traffic. Each target group of an Application Load Balancer is compared with the Pods of its Service. Load balancers and Nodes of the last fifteen minutes are skipped. The message names what excludes such a Node: its labels or taints, as the controller reads them. Karpenter excludes a Node that it drains.",
    impact: "all targets fail the health check by design, and connections fail although the Pods are ready",
    fix: "Let the Pods run on Nodes that are targets, or remove what excludes their Nodes.",
    sources: &[
        "kubernetes/kubernetes pkg/proxy/healthcheck/service_health.go#ServeHTTP",
        "kubernetes-sigs/aws-load-balancer-controller pkg/backend/endpoint_utils.go",
        "kubernetes-sigs/karpenter pkg/controllers/node/termination/terminator/terminator.go#Taint",
        "https://github.com/envoyproxy/gateway/issues/5098",
    ],
    example: "no target of `a1b2c3` (Service `shop/web`) is healthy: its ready Pods run on worker-1 (it has the label `node.kubernetes.io/exclude-from-external-load-balancers`; Karpenter drains it), which is not a target, and the Service has externalTrafficPolicy Local",
    reads: &[
        BALANCERS,
        TAGS,
        Read::DescribeInstanceHealth,
        Read::DescribeTargetGroups,
        Read::DescribeTargetHealth,
        Read::DescribeInstances,
    ],
    ..Rule::cluster(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let nodes = context.view.nodes.unwrap_or_default();
    for_each(context, |one| {
        if is_new(context, one) {
            return Some(Vec::new());
        }
        // Each target group has the Pods of its Service.
        let mut lists: Vec<(Option<&TargetGroup>, &[TargetHealth], &Service)> = Vec::new();
        if one.balancer.kind == LoadBalancerKind::Classic {
            lists.push((None, one.balancer.health.as_deref()?, one.service?));
        }
        for group in one.groups.iter().filter(|group| group.target_type.as_deref() == Some("instance")) {
            let service = one.service.or_else(|| service_behind(context, group));
            if let (Some(targets), Some(service)) = (group.targets.as_deref(), service) {
                lists.push((Some(group), targets, service));
            }
        }
        let local: Vec<_> = lists.iter().filter(|(.., service)| service.is_local).collect();
        if local.is_empty() {
            return (!lists.is_empty()).then(Vec::new);
        }
        let mut is_known = false;
        let mut found = Vec::new();
        for (group, targets, service) in local {
            let Some(with_pod) = instances_with_pod(context.kubernetes, service, nodes) else { continue };
            // A Node whose instance is not known may be any target.
            let are_known = with_pod.iter().all(|id| one.region.instance(id).is_some());
            let are_settled =
                with_pod.iter().all(|id| node_of(id, nodes).is_some_and(|node| is_settled(context, node)));
            if !are_known {
                continue;
            }
            is_known = true;
            let serves = |target: &&TargetHealth| !matches!(target.state.as_str(), "draining" | "unused");
            let mut serving = targets.iter().filter(serves);
            let is_down = !targets.is_empty() && targets.iter().all(is_down);
            if are_settled && is_down && !with_pod.is_empty() && !serving.any(|one| with_pod.contains(one.id.as_str()))
            {
                found.push(violation(one, *group, targets, &with_pod, nodes));
            }
        }
        is_known.then_some(found)
    })
}

/// True for a target that certainly gets no new connection.
/// Source: Elastic Load Balancing API Reference, `TargetHealth`, `State`, and (2012-06-01) `InstanceState`.
fn is_down(target: &TargetHealth) -> bool {
    matches!(target.state.as_str(), "unhealthy" | "unhealthy.draining" | "unused" | "draining" | "OutOfService")
}

/// True if a Node has been there for a while, as far as the evidence shows its age.
fn is_settled(context: &Context<'_>, node: &KubernetesNode) -> bool {
    let now = read_at(context);
    node.created_at.zip(now).is_none_or(|(created, now)| now.duration_since(created) >= SETTLED)
}

fn node_of<'n>(id: &str, nodes: &'n [KubernetesNode]) -> Option<&'n KubernetesNode> {
    nodes.iter().find(|node| node.provider_id.ends_with(&format!("/{id}")))
}

fn violation(
    one: &Balancer<'_>,
    group: Option<&TargetGroup>,
    targets: &[TargetHealth],
    with_pod: &BTreeSet<&str>,
    nodes: &[KubernetesNode],
) -> Violation {
    let names: Vec<String> = with_pod.iter().map(|id| node_phrase(one, id, nodes)).collect();
    let of = match group {
        Some(group) => format!("`{}` of {}", text::printable(&group.name), described(one)),
        None => described(one),
    };
    let leaving = with_pod.iter().filter(|id| targets.iter().any(|target| target.id == ***id)).count();
    let are_none = match (leaving, names.len()) {
        (0, 1) => "which is not a target",
        (0, _) => "which are not targets",
        (leaving, all) if leaving == all => "from which the load balancer takes its traffic away",
        _ => "none of which is a target that gets traffic",
    };
    let message = format!(
        "no target of {of} is healthy: the ready Pods run on {}, {are_none}, and the Service has externalTrafficPolicy Local",
        listed(names.iter().map(String::as_str))
    );
    let fix = "let the Pods run on Nodes that are targets, or remove what excludes their Nodes";
    let related = with_pod.iter().map(|id| one.region.bare(ResourceKind::Instance, id));
    let violation = on_balancer(one, Severity::Warning, message, fix).related(related);
    violation.with_respect_to(group.map_or(one.balancer.name.as_str(), |group| group.name.as_str()))
}

/// Name of the Node of an instance, with what excludes it.
fn node_phrase(one: &Balancer<'_>, id: &str, nodes: &[KubernetesNode]) -> String {
    let Some(node) = node_of(id, nodes) else { return text::printable(id).into_owned() };
    let skipped = one.decision.iter().flat_map(|decision| &decision.nodes_left_out);
    let reason = skipped.filter(|skipped| skipped.node == node.name).map(|skipped| skipped.reason.clone()).next();
    // Source: kubernetes-sigs/karpenter `pkg/controllers/node/termination/terminator/terminator.go#Taint`.
    let by_karpenter = node.labels.get(EXCLUDED_FROM_LOAD_BALANCERS).is_some_and(|value| value == "karpenter");
    let reasons: Vec<String> =
        reason.into_iter().chain(by_karpenter.then(|| "Karpenter drains it".to_owned())).collect();
    let name = text::printable(&node.name);
    if reasons.is_empty() { name.into_owned() } else { format!("{name} ({})", reasons.join("; ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::aws::TargetHealth;
    use crate::testing::aws::{self, Cluster, WORKER};
    use crate::testing::load_balancers::{LOCAL_SERVICE, NETWORK_SERVICE, unhealthy};

    /// A ready Pod on a worker that Karpenter drains, and which is not a target.
    fn drained(c: &mut Cluster, service: &str) {
        c.add_network();
        unhealthy(c.target_group(), &[]);
        c.target_group().targets.as_mut().unwrap().retain(|target| target.id != WORKER);
        let node = c.node(WORKER);
        node["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] = json!("karpenter");
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        let slice = format!(
            "---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
endpoints:
- {{addresses: [10.244.1.7], nodeName: {name}, conditions: {{ready: true}}}}
"
        );
        c.manifests = Box::leak(format!("{service}{slice}").into_boxed_str());
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| drained(c, LOCAL_SERVICE));
        let said = aws::messages(&RULE, |c| drained(c, LOCAL_SERVICE));
        assert!(said[0].contains("Karpenter drains it"), "{said:?}");
    }

    #[test]
    fn a_target_that_leaves_counts_as_none() {
        let said = aws::messages(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            let targets = c.target_group().targets.as_mut().unwrap();
            let leaving = TargetHealth { id: WORKER.to_owned(), state: "draining".to_owned(), ..targets[0].clone() };
            targets.push(leaving);
        });
        assert!(said.len() == 1 && said[0].contains("takes its traffic away"), "{said:?}");
    }

    #[test]
    fn silent() {
        // A target is new.
        aws::silent(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            "initial".clone_into(&mut c.target_group().targets.as_mut().unwrap()[0].state);
        });
        // Every node takes the traffic.
        aws::silent(&RULE, |c| drained(c, NETWORK_SERVICE));
        // Another node has a Pod too, and answers.
        aws::silent(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            "healthy".clone_into(&mut c.target_group().targets.as_mut().unwrap()[0].state);
        });
    }

    #[test]
    fn without_endpoints_or_instances_nothing_is_known() {
        aws::does_not_apply(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            c.manifests = LOCAL_SERVICE;
        });
        aws::does_not_apply(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            c.node(WORKER)["spec"]["providerID"] = json!("");
        });
    }
}
