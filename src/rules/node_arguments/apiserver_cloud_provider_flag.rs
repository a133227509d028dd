use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "apiserver-cloud-provider-flag",
    title: "servers pass `--cloud-provider` or `--cloud-config` to kube-apiserver",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a Node runs a version without it, or --target-kubernetes names one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Servers of RKE2 or K3s, configurations of RKE2, K3s, Rancher, RKE or kubeadm, or static pod manifests set `cloud-provider=…` or `cloud-config=…` in `kube-apiserver-arg`. Kubernetes 1.33 removed these flags from kube-apiserver.",
    impact: "the upgrade to 1.33 stops at the first server: kube-apiserver does not start (`unknown flag: --cloud-provider`)",
    fix: "Remove them from `kube-apiserver-arg` before the upgrade. With an external cloud controller kube-apiserver needs neither: `--cloud-provider` belongs to the kubelet, `--cloud-config` to the controller.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/130162",
        "kubernetes/kubernetes pkg/kubeapiserver/options/cloudprovider.go",
    ],
    example: "3 Nodes start kube-apiserver with `cloud-provider=external`, which it takes until 1.32",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    endings(context, |component, name, value| {
        let log = match name {
            // `aws` was removed earlier: see `in-tree-cloud-provider`.
            "cloud-provider" if value != "aws" => "unknown flag: --cloud-provider",
            "cloud-config" => "unknown flag: --cloud-config",
            _ => return Vec::new(),
        };
        if component != Component::ApiServer {
            return Vec::new();
        }
        vec![Ending { component, argument: format!("{name}={value}"), minor: 33, log, instead: None }]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs:
    cloud-provider: external
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-provider: external", "anonymous-auth: \"false\"");
    }
}
