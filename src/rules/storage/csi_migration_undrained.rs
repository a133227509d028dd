use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::NodeArguments;
use crate::kubernetes::{Document, DocumentKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::NO_VOLUME;

pub(super) const RULE: Rule = Rule {
    id: "csi-migration-undrained",
    title: "an upgrade hands volumes to the driver while pods use them",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Cluster],
    condition: "Volumes of the cluster are `awsElasticBlockStore`, and the upgrade from today's kubelets to --target-kubernetes hands them to the driver: from 1.23 on, or from 1.25 on if the gate `CSIMigrationAWS` is off today. Volumes are already handed over if the gate is on, or if they have the annotation `pv.kubernetes.io/migrated-to`.",
    impact: "pods with such a volume hang during termination on a node whose kubelet changes over",
    fix: "Drain each node before its kubelet is upgraded past that version; an in-place upgrade without a drain is not enough.",
    sources: &[
        "kubernetes-sigs/aws-ebs-csi-driver docs/install.md, \"Migrating from the in-tree EBS plugin\"",
        "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/679",
        "kubernetes/website content/en/docs/reference/command-line-tools-reference/feature-gates/CSIMigrationAWS.md",
    ],
    example: "2 volumes of the in-tree plugin move to the driver with Kubernetes 1.23, and the target is 1.24",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(target) = evidence.target.kubernetes else {
        return CheckResult::not_applicable("no --target-kubernetes was given");
    };
    // Volumes that the driver already handles are marked.
    let own = |volume: &&Document| {
        let object = volume.object();
        object.at(&["spec", "awsElasticBlockStore"]).is_some()
            && object.at(&["metadata", "annotations", "pv.kubernetes.io/migrated-to"]).is_none()
    };
    if evidence.documents_by_kind(DocumentKind::PersistentVolume).next().is_none() {
        return CheckResult::not_applicable(NO_VOLUME);
    }
    let count = evidence.documents_by_kind(DocumentKind::PersistentVolume).filter(own).count();
    let kubelets = evidence.nodes.iter().flatten().filter_map(|node| node.kubelet_version.parse().ok());
    let Some(today) = kubelets.min().or_else(|| evidence.kubernetes_version()) else {
        return CheckResult::not_applicable("the version of Kubernetes is not known");
    };
    let is_off = evidence.arguments().iter().any(NodeArguments::keeps_in_tree_volumes);
    let first = ControllerVersion::new(1, if is_off { 25 } else { 23 }, 0);
    let is_over = evidence.arguments().iter().any(NodeArguments::hands_volumes_over);
    if count == 0 || is_over || today >= first || target < first {
        return CheckResult::counted(1, []);
    }
    let go = if count == 1 { "moves" } else { "move" };
    let message = format!(
        "{} of the in-tree plugin {go} to the driver with Kubernetes {}, and the target is {target}",
        text::count(count, "volume"),
        if is_off { "1.25" } else { "1.23" }
    );
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    CheckResult::counted(
        1,
        [Violation::new(
            Severity::Warning,
            resource,
            message,
            Fix::none("drain each node before its kubelet is upgraded"),
        )],
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: worker-1
status:
  nodeInfo:
    kubeletVersion: v1.22.17
---
kind: PersistentVolume
spec:
  awsElasticBlockStore: {}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1.22.17", "v1.23.17");
    }
}
