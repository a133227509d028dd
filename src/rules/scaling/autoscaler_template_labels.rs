use std::collections::BTreeSet;

use crate::aws::autoscaler::{Autoscaling, ExpectedLabel, LABEL_TAG};
use crate::aws::scaling_groups::ScalingGroup;
use crate::aws::view::RegionView;
use crate::kubernetes::{Evidence, Workload, WorkloadKind};
use crate::nodes::KubernetesNode;
use crate::rules::aws::Context;
use crate::rules::prelude::*;

use super::{GROUP, for_each_group, on_group};

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-template-labels",
    title: "the cluster autoscaler expects other labels than the Nodes of an Auto Scaling group have",
    severity: RuleSeverity::always(Severity::Info),
    resources: GROUP,
    condition: "A group that the cluster autoscaler manages has a tag `k8s.io/cluster-autoscaler/node-template/label/<KEY>`, and all its Nodes lack that label, or have another value of it and the group may be scaled to zero. Or it may be scaled to zero, and all its Nodes have a label without such a tag that a workload selects, or one without a prefix (which only users set) that sets them apart from other Nodes. Labels that the autoscaler derives from the instance type and the zone are skipped, and so are managed node groups of EKS from version 1.24 of the autoscaler on: it asks EKS.",
    impact: "with the group at zero, the autoscaler starts nodes for the wrong pods, or none for those that select the label: the pods stay pending",
    fix: "Correct or add the tag on the group, or correct the labels with which the kubelets register (`--node-labels`).",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_manager.go#extractLabelsFromAsg",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
        "Kubernetes documentation, Labels and Selectors",
    ],
    example: "the autoscaler expects the label `pool` = `gpu` of `gpu` (tag `k8s.io/cluster-autoscaler/node-template/label/pool`), and its Nodes have `pool` = `cpu`",
    reads: &[Read::DescribeAutoScalingGroups, Read::DescribeInstances, Read::DescribeLaunchTemplateVersions],
    subjects: Subjects::ScalingGroups,
    ..Rule::region(check)
};

fn check(context: &Context<'_>, region: &RegionView<'_>) -> CheckResult {
    let autoscaling = Autoscaling::new(context.view, context.kubernetes);
    for_each_group(context, region, |one| {
        if !autoscaling.manages(one.group) || autoscaling.asks_eks(one.group) {
            return Some(Vec::new());
        }
        let may_empty = autoscaling.may_empty(one.group);
        let Some(nodes) = nodes(one) else { return Some(Vec::new()) };
        let stated = one.group.tags.iter().filter_map(|tag| tag.key.strip_prefix(LABEL_TAG));
        let of_nodes = nodes.first().into_iter().flat_map(|node| node.labels.keys().map(String::as_str));
        let keys: BTreeSet<&str> = stated.chain(of_nodes).filter(|key| !key.is_empty()).collect();
        let found = keys.into_iter().filter_map(|key| {
            let held = match common_label(&nodes, key)? {
                CommonLabel::Value(value) => Some(value),
                CommonLabel::Absent => None,
            };
            let group = text::printable(&one.group.name);
            let label = text::printable(key);
            let tag = format!("{LABEL_TAG}{label}");
            let (message, fix) = match (autoscaling.expected_label(one.group, key), held) {
                // A group that is never empty shows its Nodes; a label that they lack was to come from the tag.
                (ExpectedLabel::Value(expected), held) if held != Some(expected) && (may_empty || held.is_none()) => {
                    let held = held.map_or("no such label".to_owned(), |held| {
                        format!("`{label}` = `{}`", text::printable(held))
                    });
                    let message = format!(
                        "the autoscaler expects the label `{label}` = `{}` of `{group}` (tag `{tag}`), and its Nodes have {held}",
                        text::printable(expected),
                    );
                    (message, "correct the tag, or the labels with which the kubelets register: the tag does not label Nodes")
                }
                (ExpectedLabel::Absent, Some(held)) if may_empty => {
                    let user = user(context.kubernetes, key, held);
                    if user.is_none() && !sets_apart(context.kubernetes, key, held) {
                        return None;
                    }
                    let selected = user.map_or(String::new(), |user| {
                        format!(", which {} selects", text::printable(&user.full_name()))
                    });
                    let message = format!(
                        "all Nodes of `{group}` have the label `{label}` = `{}`{selected}, and the group has no tag `{tag}`",
                        text::printable(held)
                    );
                    (message, "add the tag with the value of the label to the group")
                }
                _ => return None,
            };
            Some(on_group(region, one, Severity::Info, message, fix).with_respect_to(key))
        });
        Some(found.collect())
    })
}

/// The Nodes of a group; `None` if one is not known.
fn nodes<'a>(one: &ScalingGroup<'a>) -> Option<Vec<&'a KubernetesNode>> {
    one.members.iter().map(|member| member.node).collect()
}

/// A label of several Nodes.
enum CommonLabel<'n> {
    Value(&'n str),
    /// None of them has it.
    Absent,
}

/// The label that all Nodes have, or lack, alike; `None` if they differ, or without Nodes.
fn common_label<'n>(nodes: &[&'n KubernetesNode], key: &str) -> Option<CommonLabel<'n>> {
    let value = nodes.first()?.labels.get(key);
    let is_common = nodes.iter().all(|node| node.labels.get(key) == value);
    is_common.then(|| value.map_or(CommonLabel::Absent, |value| CommonLabel::Value(value)))
}

/// The first workload that selects Nodes by a label.
fn user<'e>(evidence: &'e Evidence, key: &str, value: &str) -> Option<&'e Workload> {
    // The autoscaler starts no node for the Pods of a DaemonSet.
    let counts = |one: &&Workload| one.kind != WorkloadKind::DaemonSet && one.replicas > 0;
    evidence.workloads.iter().filter(counts).find(|one| one.asks_for_label(key, value))
}

/// True for a label that only users set, and that not all Nodes have.
fn sets_apart(evidence: &Evidence, key: &str, value: &str) -> bool {
    let mut nodes = evidence.nodes.iter().flatten();
    !key.contains('/') && nodes.any(|node| node.labels.get(key).map(String::as_str) != Some(value))
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

    /// The Nodes of a group that is empty at times have a label, and the group no tag.
    fn label(c: &mut Cluster, key: &str) {
        let group = c.launch_group("workers");
        group.min_size = 0;
        tag(&mut group.tags, "k8s.io/cluster-autoscaler/enabled", "true");
        for id in c.workers_of("workers") {
            c.node(&id)["metadata"]["labels"][key] = json!("gpu");
        }
    }

    const SELECTS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: ml}
spec:
  template:
    spec:
      nodeSelector: {example.com/pool: gpu}
      containers: [{name: a, image: train}]
";

    #[test]
    fn a_label_without_a_tag() {
        aws::fires(&RULE, |c| label(c, "pool"));
        let messages = aws::messages(&RULE, |c| {
            label(c, "example.com/pool");
            c.manifests = SELECTS;
        });
        assert_eq!(
            messages,
            [
                "all Nodes of `workers` have the label `example.com/pool` = `gpu`, which Deployment ml/train selects, and the group has no tag `k8s.io/cluster-autoscaler/node-template/label/example.com/pool`"
            ]
        );
        // A component set it, and nothing is known to select it.
        aws::silent(&RULE, |c| label(c, "example.com/pool"));
        // The autoscaler knows it.
        aws::silent(&RULE, |c| label(c, "topology.kubernetes.io/zone"));
        // All Nodes have it.
        aws::silent(&RULE, |c| {
            label(c, "pool");
            for node in &mut c.nodes {
                node["metadata"]["labels"]["pool"] = json!("gpu");
            }
        });
        // From 1.24 on the autoscaler asks EKS.
        aws::silent(&RULE, |c| {
            label(c, "pool");
            tag(&mut c.launch_group("workers").tags, "eks:nodegroup-name", "workers");
        });
    }

    const AUTOSCALER: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: cluster-autoscaler
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/autoscaler
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  template:
    spec:
      serviceAccountName: cluster-autoscaler
      containers:
      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.23.0
        command: [./cluster-autoscaler, --cloud-provider=aws, '--nodes=0:6:workers']
";

    #[test]
    fn the_arguments_of_the_autoscaler_decide() {
        // It does not ask EKS yet, and its argument lets the group go to zero.
        aws::fires(&RULE, |c| {
            label(c, "pool");
            let group = c.launch_group("workers");
            group.min_size = 1;
            group.tags.clear();
            tag(&mut group.tags, "eks:nodegroup-name", "workers");
            c.manifests = AUTOSCALER;
        });
        // It manages another group.
        aws::silent(&RULE, |c| {
            label(c, "pool");
            c.manifests = Box::leak(AUTOSCALER.replace("6:workers", "6:others").into_boxed_str());
        });
    }

    #[test]
    fn a_tag_does_not_label_nodes() {
        aws::fires(&RULE, |c| {
            group(c, "gpu", "gpu");
            c.launch_group("workers").min_size = 1;
            for id in c.workers_of("workers") {
                c.node(&id)["metadata"]["labels"].as_object_mut().unwrap().remove("pool");
            }
        });
    }

    #[test]
    fn silent() {
        aws::silent(&RULE, |c| group(c, "gpu", "gpu"));
        // It never is at zero: the autoscaler takes the labels of a Node, which has one.
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
