use crate::nodes::{self, KubernetesNode, ProviderId};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{INSTANCES, NODE, resource};

pub(super) const RULE: Rule = Rule {
    id: "node-provider-id-without-zone",
    title: "the cluster autoscaler cannot parse a Node's providerID",
    severity: RuleSeverity::always(Severity::Warning),
    resources: NODE,
    condition: "A Node's providerID is not `aws:///<zone>/<id>`, and its instance is in a group that the cluster autoscaler discovers (`k8s.io/cluster-autoscaler/enabled`) or was created by Karpenter.",
    impact: "the cluster autoscaler and Karpenter do not find the Node's instance, and neither remove nor count it",
    fix: "A Node's providerID cannot be changed: have the kubelet or the cloud controller set the full providerID on new nodes.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go#validAwsRefIdRegex",
        "aws/karpenter-provider-aws pkg/utils/utils.go#ParseInstanceID",
    ],
    example: "Node `worker-1` has the providerID `i-0a`, and the cluster autoscaler manages its instance",
    reads: &[INSTANCES],
    migration: Some(Prerequisite::Instances),
    ..Rule::nodes(check)
};

fn check(context: &Context<'_>, nodes: &[KubernetesNode]) -> CheckResult {
    nodes
        .iter()
        .filter_map(|node| {
            let Some(ProviderId::Instance(id)) = nodes::parse_provider_id(&node.provider_id) else { return None };
            if nodes::names_its_zone(&node.provider_id) {
                return None;
            }
            let instance = context.view.regions.iter().find_map(|region| region.instance(id))?;
            let has = |prefix: &str| instance.tags.iter().any(|tag| tag.key.starts_with(prefix));
            let manager = if has("karpenter.sh/nodepool") {
                "Karpenter"
            } else if has("k8s.io/cluster-autoscaler/enabled") {
                "the cluster autoscaler"
            } else {
                return None;
            };
            let message = format!(
                "Node `{}` has the providerID `{}`, and {manager} manages its instance",
                text::printable(&node.name),
                text::printable(&node.provider_id)
            );
            let fix = Fix::none(
                "set `aws:///<zone>/<instance id>` as the providerID of the next nodes, and replace this one",
            );
            let related = [ResourceRef::bare(ResourceKind::Instance, id)];
            Some(Violation::new(Severity::Warning, resource(node), message, fix).related(related))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{aws, tag};

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["providerID"] = "i-0wk0".into();
            tag(&mut c.instance(aws::WORKER).tags, "k8s.io/cluster-autoscaler/enabled", "true");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            c.node(aws::WORKER)["spec"]["providerID"] = "aws:///eu-central-1a/i-0wk0".into();
            tag(&mut c.instance(aws::WORKER).tags, "k8s.io/cluster-autoscaler/enabled", "true");
        });
    }
}
