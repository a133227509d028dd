use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;
use crate::tags;

use super::{DISCOVERY, GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-template-labels",
    title: "the cluster autoscaler expects other labels than the Nodes of an Auto Scaling group have",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "A group that the cluster autoscaler discovers and that may be scaled to zero has a tag `k8s.io/cluster-autoscaler/node-template/label/<KEY>`, and all its Nodes have another value of that label, or none. Managed node groups of EKS are skipped.",
    impact: "with the group at zero, the autoscaler starts nodes for pods that select the label, and the pods stay pending",
    fix: "Correct the tag, or the labels with which the kubelets register (`--node-labels`).",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_manager.go#extractLabelsFromAsg",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    ],
    example: "the autoscaler expects the label `pool` = `gpu` of `gpu` (tag `k8s.io/cluster-autoscaler/node-template/label/pool`), and its Nodes have `pool` = `cpu`",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

const LABEL: &str = "k8s.io/cluster-autoscaler/node-template/label/";

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    for_each_group(context, region, |one| {
        let is_discovered = tags::value(&one.group.tags, &format!("{DISCOVERY}enabled")).is_some();
        let mut found = Vec::new();
        // Of a managed node group of EKS the autoscaler asks EKS for the labels.
        if !is_discovered || one.group.min_size > 0 || tags::value(&one.group.tags, "eks:nodegroup-name").is_some() {
            return Some(found);
        }
        for tag in &one.group.tags {
            let Some(key) = tag.key.strip_prefix(LABEL).filter(|key| !key.is_empty()) else { continue };
            let Some(held) = contradiction(one, key, &tag.value) else { continue };
            let message = format!(
                "the autoscaler expects the label `{}` = `{}` of `{}` (tag `{}`), and its Nodes have {held}",
                text::printable(key),
                text::printable(&tag.value),
                text::printable(&one.group.name),
                text::printable(&tag.key)
            );
            let fix = "correct the tag, or the labels with which the kubelets register";
            found.push(on_group(region, one, Severity::Info, message, fix).with_respect_to(key));
        }
        Some(found)
    })
}

/// What all Nodes of a group have instead of the expected value of a label; `None` if they differ, or if one is not known.
fn contradiction(one: &ScalingGroup<'_>, key: &str, expected: &str) -> Option<String> {
    let nodes: Vec<&KubernetesNode> = one.members.iter().map(|member| member.node).collect::<Option<_>>()?;
    let value = nodes.first()?.labels.get(key);
    let is_common = nodes.iter().all(|node| node.labels.get(key) == value);
    match value {
        _ if !is_common => None,
        Some(held) if held == expected => None,
        Some(held) => Some(format!("`{}` = `{}`", text::printable(key), text::printable(held))),
        None => Some("no such label".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RULE;
    use crate::testing::aws::{self, Cluster};
    use crate::testing::tag;

    fn group(c: &mut Cluster, expected: &str, held: &str) {
        let group = c.launch_group("workers");
        group.min_size = 0;
        tag(&mut group.tags, "k8s.io/cluster-autoscaler/enabled", "true");
        tag(&mut group.tags, "k8s.io/cluster-autoscaler/node-template/label/pool", expected);
        for id in c.workers_of("workers") {
            c.node(&id)["metadata"]["labels"]["pool"] = json!(held);
        }
    }

    #[test]
    fn fires() {
        aws::fires(&RULE, |c| group(c, "gpu", "cpu"));
        aws::fires(&RULE, |c| {
            group(c, "gpu", "gpu");
            for id in c.workers_of("workers") {
                c.node(&id)["metadata"]["labels"].as_object_mut().unwrap().remove("pool");
            }
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| group(c, "gpu", "gpu"));
        // It never is at zero: the autoscaler takes the labels of a Node.
        aws::silent(&RULE, |c| {
            group(c, "gpu", "cpu");
            c.launch_group("workers").min_size = 1;
        });
        // The Nodes differ.
        aws::silent(&RULE, |c| {
            group(c, "gpu", "cpu");
            let id = c.workers_of("workers").remove(0);
            c.node(&id)["metadata"]["labels"]["pool"] = json!("gpu");
        });
    }
}
