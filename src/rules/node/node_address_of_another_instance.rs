use std::collections::BTreeMap;

use crate::aws::Instance;
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, provider_id_instance, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-address-of-another-instance",
    title: "a Node has another instance's address",
    severity: RuleSeverity::always(Severity::Error),
    resources: NODE,
    condition: "A Node's internal address is the private address of a live instance in the same VPC, but its providerID names another instance.",
    impact: "load balancers send the Node's traffic to the other instance, and when that instance stops, the Node counts as stopped or deleted",
    fix: "Delete the Node and register its machine again: a providerID cannot be changed. A copied image, or a fixed `provider-id` in user data, is the usual cause.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID",
        "kubernetes/kubernetes pkg/apis/core/validation/validation.go#ValidateNodeUpdate",
    ],
    example: "Node `worker-1` names instance `i-0a`, but 10.0.1.12 is the address of `i-0b`",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Instances),
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let mut by_address: BTreeMap<(&str, &str), &Instance> = BTreeMap::new();
    for region in &context.view.regions {
        for instance in region.region.instances.iter().filter(|instance| instance.state.is_live()) {
            let place = instance.vpc_id.as_deref().zip(instance.private_ip_address.as_deref());
            by_address.extend(place.map(|place| (place, instance)));
        }
    }
    nodes
        .iter()
        .filter_map(|node| {
            let (_, named) = provider_id_instance(context, node)?;
            let vpc = named.vpc_id.as_deref()?;
            let own = named.private_ip_address.as_deref()?;
            // A Node may have several addresses; one that matches is enough.
            if node.internal_addresses.iter().any(|address| address == own) {
                return None;
            }
            let (address, other) = node.internal_addresses.iter().find_map(|address| {
                let found = by_address.get(&(vpc, address.as_str()))?;
                Some((address, *found))
            })?;
            let message = format!(
                "Node `{}` names instance `{}`, but {} is the address of `{}`",
                text::printable(&node.name),
                text::printable(&named.id),
                text::printable(address),
                text::printable(&other.id)
            );
            let fix = Fix::none("delete the Node and register its machine again: a providerID cannot be changed");
            let related = [&named.id, &other.id].map(|id| ResourceRef::bare(ResourceKind::Instance, id));
            Some(Violation::new(Severity::Error, resource(node), message, fix).related(related))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.node(aws::WORKER)["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.1.13"}]);
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.node(aws::WORKER)["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.1.11"}]);
        });
    }
}
