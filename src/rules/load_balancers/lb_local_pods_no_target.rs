use std::collections::BTreeSet;

use crate::aws::{LoadBalancerKind, TargetHealth};
use crate::model::existing::Balancer;
use crate::model::pods::instances_with_pod;
use crate::nodes::{EXCLUDED_FROM_LOAD_BALANCERS, KubernetesNode};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCER, BALANCERS, TAGS, described, for_each, listed, on_balancer, service_behind};

pub(super) const RULE: Rule = Rule {
    id: "lb-local-pods-no-target",
    title: "no Node with a ready Pod of a Service is a target of its load balancer",
    severity: RuleSeverity::always(Severity::Warning),
    resources: BALANCER,
    condition: "A Service has `externalTrafficPolicy: Local` and ready Pods, its endpoints were given, no target of its load balancer is healthy, and none of the Nodes with a ready Pod is a target. The message names what excludes such a Node: its labels or taints, as the controller reads them. Karpenter excludes a Node that it drains.",
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
        let is_classic = one.balancer.kind == LoadBalancerKind::Classic;
        let lists: Vec<(Option<&str>, &[TargetHealth])> = if is_classic {
            vec![(None, one.balancer.health.as_deref()?)]
        } else {
            let of_instances = one.groups.iter().filter(|group| group.target_type.as_deref() == Some("instance"));
            of_instances.filter_map(|group| Some((Some(group.name.as_str()), group.targets.as_deref()?))).collect()
        };
        let service = one.service.or_else(|| one.groups.iter().find_map(|group| service_behind(context, group)))?;
        if lists.is_empty() || !service.is_local {
            return Some(Vec::new());
        }
        let with_pod = instances_with_pod(context.kubernetes, service, nodes)?;
        let is_target = |targets: &[TargetHealth]| targets.iter().any(|target| with_pod.contains(target.id.as_str()));
        let found = lists.into_iter().filter(|(_, targets)| {
            !targets.is_empty()
                && !with_pod.is_empty()
                && !targets.iter().any(TargetHealth::is_healthy)
                && !is_target(targets)
        });
        let found = found.map(|(group, _)| violation(one, group, &with_pod, nodes));
        Some(found.collect())
    })
}

fn violation(
    one: &Balancer<'_>,
    group: Option<&str>,
    with_pod: &BTreeSet<&str>,
    nodes: &[KubernetesNode],
) -> Violation {
    let names: Vec<String> = with_pod.iter().map(|id| node_phrase(one, id, nodes)).collect();
    let of = match group {
        Some(group) => format!("`{}` of {}", text::printable(group), described(one)),
        None => described(one),
    };
    let are_none = if names.len() == 1 { "is not a target" } else { "are not targets" };
    let message = format!(
        "no target of {of} is healthy: the ready Pods run on {}, which {are_none}, and the Service has externalTrafficPolicy Local",
        listed(names.iter().map(String::as_str))
    );
    let fix = "let the Pods run on Nodes that are targets, or remove what excludes their Nodes";
    let related = with_pod.iter().map(|id| one.region.bare(ResourceKind::Instance, id));
    let violation = on_balancer(one, Severity::Warning, message, fix).related(related);
    violation.with_respect_to(group.unwrap_or(one.balancer.name.as_str()))
}

/// Name of the Node of an instance, with what excludes it.
fn node_phrase(one: &Balancer<'_>, id: &str, nodes: &[KubernetesNode]) -> String {
    let Some(node) = nodes.iter().find(|node| node.provider_id.ends_with(&format!("/{id}"))) else {
        return text::printable(id).into_owned();
    };
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
    use crate::testing::aws::{self, Cluster, WORKER};
    use crate::testing::load_balancers::{LOCAL_SERVICE, NETWORK_SERVICE, unhealthy};

    /// A ready Pod on a worker that Karpenter drains, and so is no target.
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
    fn silent() {
        // Every node takes the traffic.
        aws::silent(&RULE, |c| drained(c, NETWORK_SERVICE));
        // Another node has a Pod too, and answers.
        aws::silent(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            "healthy".clone_into(&mut c.target_group().targets.as_mut().unwrap()[0].state);
        });
    }

    #[test]
    fn without_endpoints_nothing_is_known() {
        aws::does_not_apply(&RULE, |c| {
            drained(c, LOCAL_SERVICE);
            c.manifests = LOCAL_SERVICE;
        });
    }
}
