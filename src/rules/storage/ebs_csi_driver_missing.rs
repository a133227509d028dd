use crate::controller::ControllerVersion;
use crate::kubernetes::{EBS_DRIVER, WorkloadKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_class, has_driver, on};

pub(super) const RULE: Rule = Rule {
    id: "ebs-csi-driver-missing",
    title: "no driver creates the volumes of a storage class",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::StorageClass],
    condition: "The cluster has a storage class for EBS, Kubernetes is 1.23 or later, and no workload, CSIDriver or CSINode shows the driver `ebs.csi.aws.com`. DaemonSets and Deployments of all namespaces must be given.",
    impact: r#"claims wait forever (`waiting for a volume to be created, either by external provisioner "ebs.csi.aws.com" or manually`), and existing volumes are not attached to new pods"#,
    fix: "Install the EBS CSI driver, and give its role the permissions (`tagaudit baseline show ebs-csi`).",
    sources: &[
        "kubernetes/kubernetes staging/src/k8s.io/csi-translation-lib/plugins/aws_ebs.go",
        "kubernetes-sigs/aws-ebs-csi-driver docs/install.md",
    ],
    example: "StorageClass gp2 needs the driver `ebs.csi.aws.com`, which does not run",
    migration: Some(Prerequisite::Storage),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(minor) = evidence.kubernetes_version().and_then(ControllerVersion::minor) else {
        return CheckResult::not_applicable("the version of Kubernetes is not known");
    };
    if !evidence.has_all_workloads(&[WorkloadKind::DaemonSet, WorkloadKind::Deployment]) {
        return CheckResult::not_applicable("DaemonSets and Deployments of all namespaces were not given");
    }
    let runs = has_driver(evidence);
    for_each_class(context, |class, _| {
        let is_live = class.object().text(&["metadata", "uid"]).is_some();
        if runs || minor < 23 || !is_live {
            return Vec::new();
        }
        let message = format!("{} needs the driver `{EBS_DRIVER}`, which does not run", text::printable(&class.name));
        vec![on(class, Severity::Error, &class.object().head(), "driver", message, "install the EBS CSI driver")]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Node
metadata:
  name: ip-10-0-1-10.eu-west-1.compute.internal
status:
  nodeInfo:
    kubeletVersion: v1.33.2
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
  name: coredns
  namespace: kube-system
  uid: 5f0c0005
spec:
  template:
    spec: {}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  uid: 5f0c0006
provisioner: kubernetes.io/aws-ebs
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "kubernetes.io/aws-ebs",
            "kubernetes.io/aws-ebs\n---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata:\n  name: ebs.csi.aws.com",
        );
    }
}
