use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::NodeArguments;
use crate::kubernetes::{Document, DocumentKind, EBS_DRIVER, WorkloadKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NO_VOLUME, has_driver};

pub(super) const RULE: Rule = Rule {
    id: "pv-in-tree",
    title: "volumes use the removed in-tree plugin, and no driver replaces it",
    severity: RuleSeverity::depends(Severity::Error, "error from Kubernetes 1.27 on; warning before"),
    resources: &[ResourceKind::Cluster],
    condition: "Volumes of the cluster are `awsElasticBlockStore`, Kubernetes is 1.23 or later, and the driver `ebs.csi.aws.com` is missing. `CSIDriver` objects, or DaemonSets and Deployments of all namespaces, must be given. Up to 1.24, nothing is reported if the gate `CSIMigrationAWS` is off. From 1.23 on Kubernetes hands such volumes to the driver, and 1.27 has no in-tree plugin.",
    impact: "volumes are not attached to pods that start, and cannot be resized or deleted",
    fix: "Install the EBS CSI driver: the volumes stay as they are.",
    sources: &[
        "kubernetes/kubernetes staging/src/k8s.io/csi-translation-lib/plugins/aws_ebs.go",
        "kubernetes/website content/en/docs/reference/command-line-tools-reference/feature-gates/CSIMigrationAWS.md",
    ],
    example: "2 volumes are of the in-tree plugin, but the driver `ebs.csi.aws.com` is missing: pv-1, pv-2",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let is_live = |volume: &&Document| volume.object().text(&["metadata", "uid"]).is_some();
    let volumes: Vec<&Document> = evidence.documents_by_kind(DocumentKind::PersistentVolume).filter(is_live).collect();
    if volumes.is_empty() {
        return CheckResult::not_applicable(NO_VOLUME);
    }
    let Some(minor) = evidence.kubernetes_version().and_then(ControllerVersion::minor) else {
        return CheckResult::not_applicable("the version of Kubernetes is not known");
    };
    let has_drivers = evidence.document_lists.contains(&DocumentKind::CsiDriver);
    if !has_drivers && !evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("neither CSIDrivers nor all DaemonSets and Deployments were given");
    }
    // Up to 1.24 the gate can be off: then the in-tree plugin handles the volumes.
    let keeps_own = minor < 25 && evidence.arguments().iter().any(NodeArguments::keeps_in_tree_volumes);
    let own = volumes.iter().filter(|volume| volume.object().at(&["spec", "awsElasticBlockStore"]).is_some());
    let names: Vec<&str> = own.filter_map(|volume| volume.object().text(&["metadata", "name"])).collect();
    if has_driver(evidence) || keeps_own || minor < 23 || names.is_empty() {
        return CheckResult::counted(volumes.len(), []);
    }
    let severity = if minor >= 27 { Severity::Error } else { Severity::Warning };
    let are = if names.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {are} of the in-tree plugin, but the driver `{EBS_DRIVER}` is missing: {}",
        text::count(names.len(), "volume"),
        text::printable(&text::list(&names, 3))
    );
    let resource = ResourceRef::bare(ResourceKind::Cluster, context.cluster_id);
    let fix = Fix::none("install the EBS CSI driver");
    CheckResult::counted(volumes.len(), [Violation::new(severity, resource, message, fix)])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: control-1
status:
  nodeInfo:
    kubeletVersion: v1.31.4
---
kind: DaemonSet
metadata:
  name: kube-proxy
spec:
  template:
    spec: {}
---
kind: Deployment
metadata:
  namespace: kube-system
  name: coredns
  uid: w-dns
spec:
  template:
    spec: {}
---
kind: PersistentVolume
metadata:
  name: pv-1
  uid: v1
spec:
  awsElasticBlockStore: {}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "awsElasticBlockStore: {}", "csi:\n    driver: ebs.csi.aws.com");
    }
}
