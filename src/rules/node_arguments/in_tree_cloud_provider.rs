use crate::kubernetes::arguments::Component;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "in-tree-cloud-provider",
    title: "components use the in-tree AWS provider of Kubernetes",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a Node runs a version without it, or --target-kubernetes names one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Nodes of RKE2 or K3s, or configurations of RKE2, K3s, Rancher, RKE or kubeadm, set `cloud-provider=aws` in `kubelet-arg`, `kube-apiserver-arg` or `kube-controller-manager-arg`. That provider was part of Kubernetes until 1.26.",
    impact: "from 1.27 on the component does not start: `unknown cloud provider`",
    fix: "Move to the external cloud controller before the upgrade: `cloud-provider=external` for kubelet and kube-controller-manager, none for kube-apiserver.",
    sources: &["https://github.com/kubernetes/kubernetes/pull/115838", "https://github.com/rancher/rke2/issues/4183"],
    example: "3 Nodes start kubelet with `cloud-provider=aws`, which it takes until 1.26",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    endings(context, |component, name, value| {
        let log = match component {
            Component::Kubelet => r#"unknown cloud provider "aws""#,
            Component::ApiServer => "unknown --cloud-provider",
            Component::ControllerManager => "cloud provider could not be initialized",
        };
        let is_it = (name, value) == ("cloud-provider", "aws");
        let argument = format!("{name}={value}");
        // Without the argument the component runs without any provider: nodes that join get no id.
        let instead = match component {
            Component::Kubelet | Component::ControllerManager => {
                Some("`cloud-provider=external`, once the external controller is installed,")
            }
            Component::ApiServer => None,
        };
        is_it.then_some(Ending { component, argument, minor: 27, log, instead }).into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
controllerManager:
  extraArgs:
  - name: cloud-provider
    value: aws
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "value: aws", "value: external");
    }
}
