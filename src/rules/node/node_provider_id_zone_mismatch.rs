use crate::nodes::{self, KubernetesNode};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, provider_id_instance, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-provider-id-zone-mismatch",
    title: "a providerID names a zone other than its instance's",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NODE,
    condition: "A Node's providerID is `aws:///<zone>/<id>`, but its instance is in another zone. The cloud controller reads only the id.",
    impact: "the cluster autoscaler does not find the Node in its group, and treats the instance as one that never registered",
    fix: "Delete the Node and register its machine again without a fixed `provider-id`: a providerID cannot be changed.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/auto_scaling_groups.go#buildInstanceRefFromAWS",
        "kubernetes/cloud-provider-aws pkg/providers/v1/instances.go#MapToAWSInstanceID",
    ],
    example: "Node `worker-1` names us-east-1a in its providerID, but its instance `i-0a` is in us-east-1b",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Instances),
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    nodes
        .iter()
        .filter(|node| nodes::names_its_zone(&node.provider_id))
        .filter_map(|node| {
            let (_, instance) = provider_id_instance(context, node)?;
            let said = node.provider_id.strip_prefix("aws:///")?.split('/').next()?;
            let zone = instance.availability_zone.as_deref().filter(|zone| *zone != said)?;
            let message = format!(
                "Node `{}` names {} in its providerID, but its instance `{}` is in {zone}",
                text::printable(&node.name),
                text::printable(said),
                text::printable(&instance.id)
            );
            let fix = Fix::none("delete the Node and register its machine again: a providerID cannot be changed");
            let instance = ResourceRef::bare(ResourceKind::Instance, &instance.id);
            Some(Violation::new(Severity::Warning, resource(node), message, fix).related([instance]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::aws;

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| c.node(aws::WORKER)["spec"]["providerID"] = "aws:///eu-central-1b/i-0wk0".into());
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |_| ());
    }
}
