use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "kubelet-cloud-config-flag",
    title: "nodes pass `--cloud-config` to the kubelet",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a Node runs a version without it, or --target-kubernetes names one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Nodes of RKE2 or K3s, or configurations of RKE2, K3s, Rancher, RKE or kubeadm, set `cloud-config=…` in `kubelet-arg`. With an external cloud controller the kubelet reads nothing from it, and Kubernetes 1.34 removed the flag.",
    impact: "the upgrade to 1.34 stops at the first node: the kubelet does not start (`unknown flag: --cloud-config`)",
    fix: "Remove it from `kubelet-arg`; the file belongs to the cloud controller.",
    sources: &["https://github.com/kubernetes/kubernetes/pull/130161", "https://github.com/rancher/rke2/issues/8926"],
    example: "5 Nodes start kubelet with `cloud-config=/etc/kubernetes/cloud.conf`, which it takes until 1.33",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    endings(context, |component, name, value| {
        let is_it = component == Component::Kubelet && name == "cloud-config";
        let argument = format!("{name}={value}");
        is_it
            .then_some(Ending { component, argument, minor: 34, log: "unknown flag: --cloud-config", instead: None })
            .into_iter()
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- cloud-config=/etc/rancher/rke2/cloud.conf
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-config=/etc/rancher/rke2/cloud.conf", "config=/etc/kubernetes/kubelet.yaml");
    }
}
