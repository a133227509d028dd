use std::collections::BTreeSet;

use crate::kubernetes::UNINITIALIZED;
use crate::nodes::{KubernetesNode, ProviderId, parse_provider_id};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{BALANCERS, TAGS};

pub(super) const RULE: Rule = Rule {
    id: "lb-node-skipped",
    title: "a node can be no target of the cluster's load balancers",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Node],
    condition: "A controller registers instances for a Service, and a ready Node without the label that excludes it has no providerID, or its instance is in another VPC than the load balancer. Nodes that wait for the cloud controller are reported by other rules.",
    impact: "the controllers skip a Node without a providerID silently, and Elastic Load Balancing refuses an instance of another VPC, with all others of the same call",
    fix: "Set the providerID with `--provider-id` of the kubelet, or let the cloud controller initialise the Node; keep nodes in the VPC of the load balancer, or exclude them by label.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant",
        "Elastic Load Balancing API Reference, RegisterTargets",
    ],
    example: "the Node `worker-2` has no providerID, and no load balancer gets it",
    reads: &[BALANCERS, TAGS, Read::DescribeInstances, Read::DescribeTargetGroups],
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    if !context.existing.was_read {
        return CheckResult::not_applicable("the load balancers were not read");
    }
    let with_instances: Vec<_> = context.existing.balancers.iter().filter(|one| one.instances().is_some()).collect();
    if with_instances.is_empty() {
        return CheckResult::not_applicable("no controller registers instances with a load balancer");
    }
    let vpcs: BTreeSet<&str> = with_instances.iter().filter_map(|one| one.balancer.vpc_id.as_deref()).collect();
    let may_be_target = |node: &&KubernetesNode| {
        node.is_ready == Some(true)
            && !node.is_being_deleted
            && !node.is_excluded_from_load_balancers()
            && !node.taints.iter().any(|taint| taint.key == UNINITIALIZED)
    };
    let candidates: Vec<&KubernetesNode> = nodes.iter().filter(may_be_target).collect();
    let found = candidates.iter().filter_map(|node| {
        let name = text::printable(&node.name);
        let mut related = Vec::new();
        let (message, fix) = if node.provider_id.is_empty() {
            (
                format!("the Node `{name}` has no providerID, and no load balancer gets it"),
                "let the cloud controller initialise the Node, or exclude it from load balancers by label",
            )
        } else {
            let Some(ProviderId::Instance(id)) = parse_provider_id(&node.provider_id) else { return None };
            let region = context.view.regions.iter().find(|region| region.instance(id).is_some())?;
            let vpc = region.instance(id)?.vpc_id.as_deref()?;
            if vpcs.is_empty() || vpcs.contains(vpc) {
                return None;
            }
            related.push(region.bare(ResourceKind::Instance, id));
            let of_balancers = vpcs.iter().copied().collect::<Vec<_>>().join(", ");
            (
                format!(
                    "the Node `{name}` ({id}) is in {vpc}, and the load balancers of the cluster are in {of_balancers}"
                ),
                "exclude the Node from load balancers by label, or replace it by one in their VPC",
            )
        };
        let fix = Fix::none(fix);
        let resource = ResourceRef::bare(ResourceKind::Node, &node.name);
        Some(Violation::new(Severity::Warning, resource, message, fix).related(related))
    });
    CheckResult::counted(candidates.len(), found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::aws::{self, Cluster, WORKER};

    fn ready(c: &mut Cluster) {
        c.add_network();
        for node in &mut c.nodes {
            node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            ready(c);
            c.node(WORKER)["spec"]["providerID"] = "".into();
        });
        aws::fires(&RULE, |c| {
            ready(c);
            c.instance(WORKER).vpc_id = Some("vpc-0other".to_owned());
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, ready);
        // It is excluded, or waits for the controller.
        aws::silent(&RULE, |c| {
            ready(c);
            let node = c.node(WORKER);
            node["spec"]["taints"] =
                json!([{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]);
            node["spec"]["providerID"] = "".into();
        });
    }
}
