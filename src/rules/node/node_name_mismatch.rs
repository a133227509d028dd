use crate::nodes::{self, KubernetesNode};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, resource, unmatched};

pub(super) const RULE: Rule = Rule {
    id: "node-name-mismatch",
    title: "a Node cannot be matched to its instance",
    severity: RuleSeverity::always(Severity::Error),
    resources: NODE,
    condition: "A Node has no providerID, its name is not the `i-…` id of a live instance, and either no live instance with the cluster tag has that private DNS name, or several have it.",
    impact: "the controller reports `failed to get provider ID … instance not found` (or `multiple instances found for name`), and the Node keeps its `uninitialized` taint",
    fix: "Name the Node after the private DNS name or the id of its instance, and tag the instance. If no live instance has its address either, delete the Node. Names such as `i-….corp.example` need controller v1.27.2 or later.",
    sources: &[
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#findInstanceByNodeName",
        "kubernetes/cloud-provider-aws pkg/providers/v1/aws.go#nodeNameToInstanceID",
        "https://github.com/kubernetes/cloud-provider-aws/issues/1471",
    ],
    example: "Node `worker-1` has no providerID, and no tagged instance has that private DNS name",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Names),
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, _: &[KubernetesNode]) -> CheckResult {
    unmatched(context)
        .into_iter()
        .map(|(node, fits)| {
            let name = text::printable(&node.name);
            let mut message = match (fits, nodes::instance_id_in_name(&node.name)) {
                (0, Some(_)) => format!(
                    "Node `{name}` has no providerID, and its name is the id of an instance that does not exist"
                ),
                (0, None) => {
                    format!("Node `{name}` has no providerID, and no tagged instance has that private DNS name")
                }
                _ => format!("Node `{name}` has no providerID, and {fits} instances have its name as their private DNS name"),
            };
            // The usual cause, if it is visible: the same first label under another domain.
            let short = node.name.split('.').next().unwrap_or_default();
            let near = context.view.members().find(|member| {
                member.instance.private_dns_name.as_deref().and_then(|dns| dns.split('.').next()) == Some(short)
                    && !short.is_empty()
            });
            if let Some(dns) = near.filter(|_| fits == 0).and_then(|member| member.instance.private_dns_name.as_deref())
                && dns != node.name
            {
                message.push_str(&format!("; one has `{}`", text::printable(dns)));
            }
            // No controller deletes the Node of a terminated instance if nothing identifies the instance.
            let is_at = |address: &String| {
                let instances = context.view.regions.iter().flat_map(|region| &region.region.instances);
                instances.into_iter().any(|instance| {
                    instance.state.is_live() && instance.private_ip_address.as_deref() == Some(address.as_str())
                })
            };
            let addresses = &node.internal_addresses;
            let is_gone = fits == 0 && near.is_none() && !addresses.is_empty() && !addresses.iter().any(is_at);
            let fix = if is_gone {
                message.push_str(&format!("; no live instance has its address {}", text::list(addresses, 2)));
                Fix::none(if node.is_embedded_etcd_member() {
                    "the machine no longer exists and the controller never deletes such a Node: with an etcd snapshot at hand, check that the member will not return, then run `kubectl delete node`"
                } else {
                    "the machine no longer exists and the controller never deletes such a Node: run `kubectl delete node`"
                })
            } else {
                Fix::none(
                    "set the Node name to the private DNS name (kubelet --hostname-override), or to the instance id",
                )
            };
            Violation::new(Severity::Error, resource(node), message, fix)
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
            let node = c.node(aws::WORKER);
            node["metadata"]["name"] = "worker-1".into();
            node["spec"] = json!({});
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            let node = c.node(aws::WORKER);
            node["metadata"]["name"] = "ip-10-0-1-11.eu-central-1.compute.internal".into();
            node["spec"] = json!({});
        });
    }
}
