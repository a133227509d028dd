use std::collections::BTreeSet;

use crate::aws::InstanceState;
use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-without-instance",
    title: "a Node's instance is missing or terminated",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; info while the instance is shutting down, as at every scale-in",
    ),
    resources: NODE,
    condition: "The instance that a Node names does not exist, is shutting down or is terminated.",
    impact: "the node controller deletes the Node once the cloud controller works; until then, pods stay assigned to nothing",
    fix: "Nothing if the controller runs; otherwise delete the Node.",
    sources: &["kubernetes/cloud-provider-aws pkg/providers/v1/instances_v2.go#InstanceExists"],
    example: "Node `worker-1` names instance `i-0a`, which is terminated",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Instances),
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    let read: BTreeSet<&str> = context.view.regions.iter().map(|region| region.region.name.as_str()).collect();
    nodes
        .iter()
        .filter_map(|node| {
            let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
            // An instance in a region that was not read is unknown, not missing.
            let path = node.provider_id.strip_prefix("aws://").and_then(|rest| rest.split_once('/'));
            let zone = path.map_or("", |(_, path)| path).split('/').next().unwrap_or_default();
            let in_read_region =
                zone.starts_with("i-") || zone.is_empty() || read.iter().any(|region| zone.starts_with(region));
            let found = context.view.regions.iter().find_map(|region| region.instance(id));
            let (state, severity) = match found {
                Some(instance) if instance.state.is_live() => return None,
                // The controller keeps the Node until the instance is terminated.
                Some(instance) if instance.state == InstanceState::ShuttingDown => ("shutting down", Severity::Info),
                Some(_) => ("terminated", Severity::Warning),
                None if in_read_region => ("missing", Severity::Warning),
                None => return None,
            };
            let message = format!(
                "Node `{}` names instance `{}`, which is {state}",
                text::printable(&node.name),
                text::printable(id)
            );
            let fix = Fix::none(if node.is_embedded_etcd_member() {
                "nothing if the controller runs: it deletes the Node; otherwise, with an etcd snapshot at hand, check that the member will not return, then run `kubectl delete node`"
            } else {
                "nothing if the controller runs: it deletes the Node; otherwise run `kubectl delete node`"
            });
            Some(
                Violation::new(severity, resource(node), message, fix)
                    .related([ResourceRef::bare(ResourceKind::Instance, id)]),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::aws::InstanceState;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.instance(aws::WORKER).state = InstanceState::Terminated);
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| c.instance(aws::WORKER).state = InstanceState::Stopped);
    }
}
