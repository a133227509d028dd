use std::collections::BTreeSet;

use crate::aws::autoscaler::Autoscaling;
use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-template-taints",
    title: "the cluster autoscaler does not know the taints of an Auto Scaling group at zero",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "A group that the cluster autoscaler manages may be scaled to zero, and a taint of all its Nodes has no tag `k8s.io/cluster-autoscaler/node-template/taint/<KEY>`; or such a tag has a value that is not `VALUE:EFFECT`, which the autoscaler ignores. Taints that come and go with the state of a Node are skipped, and so are managed node groups of EKS from version 1.24 of the autoscaler on: it asks EKS.",
    impact: "the autoscaler starts nodes of the group for pods that do not tolerate the taint, and they stay pending",
    fix: "Add the tag with the value `VALUE:EFFECT`.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_manager.go#extractTaintsFromAsg",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    ],
    example: "all Nodes of `gpu` have the taint `nvidia.com/gpu`, and the group has no tag `k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu`",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

const TAINT: &str = "k8s.io/cluster-autoscaler/node-template/taint/";

/// Effects that the autoscaler accepts after the first colon.
const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoSchedule"];

/// Domains and keys of taints that come and go with the state of a Node.
const OF_STATE: [&str; 13] = [
    "aws-node-termination-handler/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "ebs.csi.aws.com/",
    "efs.csi.aws.com/",
    "node.cilium.io/",
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node-role.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
];

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let autoscaling = Autoscaling::new(context.view, context.kubernetes);
    for_each_group(context, region, |one| {
        let mut found = Vec::new();
        if !autoscaling.manages(one.group) || autoscaling.asks_eks(one.group) {
            return Some(found);
        }
        for tag in &one.group.tags {
            let Some(key) = tag.key.strip_prefix(TAINT) else { continue };
            let effect = tag.value.split_once(':').map(|(_, effect)| effect);
            if effect.is_some_and(|effect| EFFECTS.contains(&effect)) {
                continue;
            }
            let message = format!(
                "the autoscaler ignores the taint tag `{}` of `{}`: its value `{}` is not `VALUE:EFFECT`",
                text::printable(&tag.key),
                text::printable(&one.group.name),
                text::printable(&tag.value)
            );
            let fix = "write the value as `VALUE:EFFECT`, such as `true:NoSchedule`";
            found.push(on_group(region, one, Severity::Info, message, fix).with_respect_to(key));
        }
        for key in common_taints(one).into_iter().filter(|_| autoscaling.may_empty(one.group)) {
            let tag = format!("{TAINT}{key}");
            if tags::value(&one.group.tags, &tag).is_some() {
                continue;
            }
            let message = format!(
                "all Nodes of `{}` have the taint `{}`, and the group has no tag `{}`",
                text::printable(&one.group.name),
                text::printable(key),
                text::printable(&tag)
            );
            let fix = "add the tag with the value `VALUE:EFFECT`";
            found.push(on_group(region, one, Severity::Info, message, fix).with_respect_to(key));
        }
        Some(found)
    })
}

/// Keys of the taints that all Nodes of a group have.
fn common_taints<'a>(one: &ScalingGroup<'a>) -> BTreeSet<&'a str> {
    let mut nodes = one.members.iter().map(|member| member.node);
    let taints = |node: Option<&'a crate::nodes::KubernetesNode>| -> BTreeSet<&'a str> {
        // A Pod is scheduled in spite of PreferNoSchedule.
        let taints = node.iter().flat_map(|node| &node.taints).filter(|taint| taint.effect != "PreferNoSchedule");
        let taints = taints.map(|taint| taint.key.as_str());
        taints.filter(|key| !OF_STATE.iter().any(|start| key.starts_with(start))).collect()
    };
    let first = nodes.next().map(taints).unwrap_or_default();
    nodes.fold(first, |common, node| &common & &taints(node))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::aws::{self, Cluster, WORKER};
    use crate::testing::tag;

    const ENABLED: &str = "k8s.io/cluster-autoscaler/enabled";
    const GPU: &str = "k8s.io/cluster-autoscaler/node-template/taint/gpu";

    fn gpu_group(c: &mut Cluster) {
        c.launch_group("workers").min_size = 0;
        tag(&mut c.launch_group("workers").tags, ENABLED, "true");
        let taints = json!([{"key": "gpu", "value": "true", "effect": "NoSchedule"}]);
        for id in c.workers_of("workers") {
            c.node(&id)["spec"]["taints"] = taints.clone();
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, gpu_group);
        aws::fires(&RULE, |c| {
            gpu_group(c);
            tag(&mut c.launch_group("workers").tags, GPU, "NoSchedule");
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| {
            gpu_group(c);
            tag(&mut c.launch_group("workers").tags, GPU, "true:NoSchedule");
        });
        // One Node has no taint.
        aws::silent(&RULE, |c| {
            gpu_group(c);
            c.node(WORKER)["spec"]["taints"] = json!([]);
        });
    }
}
