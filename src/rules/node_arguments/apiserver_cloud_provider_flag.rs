use crate::finding::{Applicability, Severity};
use crate::kubernetes::arguments::Component;
use crate::resource::ResourceKind;
use crate::rules::{ANY_CLOUD, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects};

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "apiserver-cloud-provider-flag",
    title: "servers pass `--cloud-provider` to kube-apiserver",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error where a Node runs a version without it, or --target-kubernetes is one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Servers of RKE2 or K3s, or configurations of RKE2, K3s, Rancher, RKE or kubeadm, have `cloud-provider=…` in `kube-apiserver-arg`. kube-apiserver has had no such flag since Kubernetes 1.33.",
    impact: "the upgrade to 1.33 stops at the first server: kube-apiserver does not start (`unknown flag: --cloud-provider`)",
    fix: "Take it out of `kube-apiserver-arg` before the upgrade. With an external cloud controller kube-apiserver does not need it: the flag belongs to the kubelet.",
    applicability: Applicability::None,
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/130162",
        "kubernetes/kubernetes pkg/kubeapiserver/options/cloudprovider.go",
    ],
    example: "3 Nodes start kube-apiserver with `cloud-provider=external`, which it takes until 1.32",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ANY_CLOUD, check),
};

fn check(context: &KubernetesContext<'_>) -> Counted {
    endings(context, |component, name, value| {
        let is_it = component == Component::ApiServer && name == "cloud-provider";
        // That one ends earlier: `in-tree-cloud-provider`.
        let is_it = is_it && value != "aws";
        let argument = format!("{name}={value}");
        is_it
            .then_some(Ending { component, argument, minor: 33, log: "unknown flag: --cloud-provider" })
            .into_iter()
            .collect()
    })
}
