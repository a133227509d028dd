use std::collections::BTreeMap;

use crate::aws::autoscaler::{Autoscaling, LABEL_TAG, groups};
use crate::aws::companions::{CompanionRun, companions};
use crate::controller::companion::Companion;
use crate::kubernetes::{DocumentKind, Evidence, Workload, WorkloadKind};
use crate::rules::aws::Context;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "autoscaler-pod-unplaced",
    title: "a pending Pod asks for labels that no Auto Scaling group promises to the cluster autoscaler",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The scheduler found no Node for a Pod (`PodScheduled` is `False`) for five minutes, no Node has the labels that its `nodeSelector` and required node affinity ask for, and no group that the cluster autoscaler manages has tags `k8s.io/cluster-autoscaler/node-template/label/<KEY>` by which its nodes would have them. Labels of the instance type and the zone, and those of managed node groups of EKS, are not known: such a group may take any Pod. Skipped: clusters in which Karpenter starts nodes, and Pods that ask for labels of Karpenter, EKS Auto Mode or Fargate.",
    impact: "the autoscaler starts no node for the Pod: it does not know that a group at zero would have the labels, and the Pod stays pending",
    fix: "Tag the group whose nodes register with the labels, or correct the selector of the Pod.",
    sources: &[
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/aws_manager.go#buildNodeFromTemplate",
        "kubernetes/autoscaler cluster-autoscaler/cloudprovider/aws/README.md",
    ],
    example: "Pod ml/train-0 stays pending: no Node has the labels that it asks for (`pool` = `gpu`), and no Auto Scaling group of the autoscaler promises them by tags `k8s.io/cluster-autoscaler/node-template/label/<KEY>`",
    reads: &[Read::DescribeAutoScalingGroups],
    ..Rule::joined(check)
};

fn check(context: &Context<'_>) -> CheckResult {
    let evidence = context.kubernetes;
    let Some(groups) = groups(context.view) else {
        return CheckResult::not_applicable("the Auto Scaling groups were not read");
    };
    let Some(nodes) = &evidence.nodes else {
        return CheckResult::not_applicable("the Nodes are not known");
    };
    let autoscaling = Autoscaling::new(context.view, evidence);
    let managed = autoscaling.managed(&groups);
    if !autoscaling.is_known() || managed.is_empty() {
        return CheckResult::not_applicable("no cluster autoscaler that manages a group was given");
    }
    if has_karpenter(evidence) {
        return CheckResult::not_applicable("Karpenter starts nodes too");
    }
    let pending = evidence.workloads.iter().filter(|one| one.kind == WorkloadKind::Pod).filter(|pod| {
        let is_refused = pod.status.as_ref().is_some_and(|status| status.unschedulable.is_some());
        is_refused
            && !evidence.is_recent(pod)
            && (!pod.node_selector.is_empty() || pod.required_affinity.is_some())
            && !asks_for_others(pod)
    });
    let mut checked = 0;
    // Of many Pods with the same selector one is enough.
    let mut unplaced: BTreeMap<String, Vec<&Workload>> = BTreeMap::new();
    for pod in pending {
        checked += 1;
        if !nodes.iter().any(|node| pod.selects(node)) && !managed.iter().any(|group| autoscaling.may_take(group, pod))
        {
            unplaced.entry(asked(pod)).or_default().push(pod);
        }
    }
    if checked == 0 {
        return CheckResult::not_applicable(
            "no Pod was given that asks for labels and for which no node was found for five minutes",
        );
    }
    let found = unplaced.iter().filter_map(|(labels, pods)| {
        let (first, others) = pods.split_first()?;
        let name = first.full_name();
        let more = match others.len() {
            0 => String::new(),
            count => format!(" (and {} like it)", text::count(count, "Pod")),
        };
        let message = format!(
            "{}{more} stays pending: no Node has the labels that it asks for ({labels}), and no Auto Scaling group of the autoscaler promises them by tags `{LABEL_TAG}<KEY>`",
            text::printable(&name)
        );
        let fix = "tag the group whose nodes register with the labels, or correct the selector";
        let resource = ResourceRef::bare(ResourceKind::Workload, &name);
        Some(Violation::new(Severity::Warning, resource, message, Fix::none(fix)).at(&first.place))
    });
    CheckResult::counted(checked, found)
}

/// True if Karpenter, or EKS Auto Mode, starts nodes as well.
fn has_karpenter(evidence: &Evidence) -> bool {
    let is_karpenter = |run: &CompanionRun<'_>| run.row.companion == Companion::Karpenter;
    companions(evidence).iter().any(is_karpenter)
        || [DocumentKind::NodePool, DocumentKind::KarpenterAlpha]
            .into_iter()
            .any(|kind| evidence.documents_by_kind(kind).next().is_some())
}

/// Labels of managed node groups of EKS: the other labels of EKS are those of Auto Mode and Fargate.
/// Source: Amazon EKS User Guide, "Managed node groups" and "Create a node pool for EKS Auto Mode".
const OF_NODE_GROUPS: [&str; 3] =
    ["eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType", "eks.amazonaws.com/sourceLaunchTemplate"];

/// True if a Pod asks for labels of nodes that EKS or Karpenter start.
fn asks_for_others(pod: &Workload) -> bool {
    let terms = pod.required_affinity.iter().flatten().flat_map(|term| &term.expressions);
    let mut keys = pod.node_selector.iter().map(|(key, _)| key.value.as_str()).chain(terms.map(|one| one.key.as_str()));
    keys.any(|key| {
        key.starts_with("karpenter.sh/")
            || key.starts_with("eks.amazonaws.com/") && !OF_NODE_GROUPS.iter().any(|of_group| key.starts_with(of_group))
    })
}

/// The labels that a Pod asks for, for a message.
fn asked(pod: &Workload) -> String {
    let selected = pod
        .node_selector
        .iter()
        .map(|(key, value)| format!("`{}` = `{}`", text::printable(&key.value), text::printable(value)));
    let terms = pod.required_affinity.iter().flatten().flat_map(|term| &term.expressions);
    let affine = terms.map(|one| {
        let values: Vec<String> = one.values.iter().map(|value| text::printable(value).into_owned()).collect();
        format!("`{} {} {}`", text::printable(&one.key), text::printable(&one.operator), values.join(","))
    });
    text::list(&selected.chain(affine).collect::<Vec<_>>(), 6)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::controllers::controller_with_role;
    use crate::testing::{aws, tag};

    const WORLD: &str = concat!(
        controller_with_role!(
            "cluster-autoscaler",
            "autoscaler",
            "      - image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
        command:
        - ./cluster-autoscaler
        - --cloud-provider=aws
        - --nodes=0:6:gpu
"
        ),
        "---
apiVersion: v1
kind: Pod
metadata: {name: train-0, namespace: ml, uid: a-1}
spec:
  nodeSelector: {pool: gpu}
  containers: [{name: a, image: train}]
status:
  phase: Pending
  conditions:
  - {type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes are available}
---
apiVersion: v1
kind: Pod
metadata: {name: train-1, namespace: ml, uid: a-2}
spec:
  nodeSelector: {pool: gpu}
  containers: [{name: a, image: train}]
status:
  conditions:
  - {type: PodScheduled, status: 'False', reason: Unschedulable}
"
    );

    #[test]
    fn fires() {
        let messages = aws::messages(&RULE, |c| {
            c.manifests = WORLD;
            c.add_scaling_group("gpu", &[]);
        });
        assert_eq!(
            messages,
            [
                "Pod ml/train-0 (and 1 Pod like it) stays pending: no Node has the labels that it asks for (`pool` = `gpu`), and no Auto Scaling group of the autoscaler promises them by tags `k8s.io/cluster-autoscaler/node-template/label/<KEY>`"
            ]
        );
    }

    #[test]
    fn silent() {
        // The group promises the label.
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            c.add_scaling_group("gpu", &[("k8s.io/cluster-autoscaler/node-template/label/pool", "gpu")]);
        });
        // The autoscaler asks EKS.
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            c.add_scaling_group("gpu", &[("eks:nodegroup-name", "gpu")]);
        });
        // Of a managed node group, which is not there.
        aws::fires(&RULE, |c| {
            let asked = WORLD.replace("{pool: gpu}", "{eks.amazonaws.com/capacityType: SPOT}");
            c.manifests = Box::leak(asked.into_boxed_str());
            c.add_scaling_group("gpu", &[]);
        });
        // A Node has the label: something else keeps the Pod from it.
        aws::silent(&RULE, |c| {
            c.manifests = WORLD;
            let group = c.add_scaling_group("gpu", &[]);
            tag(&mut group.tags, "a", "b");
            c.node(aws::WORKER)["metadata"]["labels"]["pool"] = "gpu".into();
        });
        // The instance type decides.
        aws::silent(&RULE, |c| {
            c.manifests = Box::leak(WORLD.replace("{pool: gpu}", "{kubernetes.io/arch: arm64}").into_boxed_str());
            c.add_scaling_group("gpu", &[]);
        });
        // Karpenter and EKS start nodes as well, and the scheduler does not try a Pod with gates.
        for (old, new) in [
            ("{pool: gpu}", "{pool: gpu, karpenter.sh/nodepool: gpu}"),
            ("{pool: gpu}", "{pool: gpu, eks.amazonaws.com/compute-type: auto}"),
            ("reason: Unschedulable", "reason: SchedulingGated"),
        ] {
            aws::does_not_apply(&RULE, |c| {
                c.manifests = Box::leak(WORLD.replace(old, new).into_boxed_str());
                c.add_scaling_group("gpu", &[]);
            });
        }
        aws::does_not_apply(&RULE, |c| {
            let pool = "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n";
            c.manifests = Box::leak(format!("{WORLD}{pool}").into_boxed_str());
            c.add_scaling_group("gpu", &[]);
        });
        // An affinity that a node without the label fulfils.
        aws::silent(&RULE, |c| {
            let affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: NotIn, values: [cpu]}, {key: kubernetes.io/arch, operator: In, values: [arm64]}]}]}}}";
            c.manifests = Box::leak(WORLD.replace("nodeSelector: {pool: gpu}", affinity).into_boxed_str());
            c.add_scaling_group("gpu", &[]);
        });
    }
}
