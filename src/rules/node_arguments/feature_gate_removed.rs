use crate::kubernetes::is_false;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{Ending, endings};

pub(super) const RULE: Rule = Rule {
    id: "feature-gate-removed",
    title: "a component sets a removed feature gate",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if a Node runs a version without it, or --target-kubernetes names one",
    ),
    resources: &[ResourceKind::Cluster, ResourceKind::ClusterConfig],
    condition: "Nodes of RKE2 or K3s, or configurations of RKE2, K3s, Rancher, RKE, kubeadm, kOps or the kubelet (`featureGates`), set a gate of the cloud provider migration that later versions do not know, in `feature-gates` of `kubelet-arg`, `kube-apiserver-arg` or `kube-controller-manager-arg`. `CSIMigration`, `CSIMigrationAWS` and `ControllerManagerLeaderMigration` exist until 1.26; the first two cannot be switched off since 1.25. `KubeletCredentialProviders` exists until 1.28, `InTreePluginAWSUnregister` until 1.30, and `DisableCloudProviders` and `DisableKubeletCloudCredentialProviders` until 1.32.",
    impact: "the component does not start after the upgrade: `unrecognized feature gate`",
    fix: "Remove the gate from the configuration once all Nodes run a version that does not need it, and before the upgrade to one that does not know it.",
    sources: &[
        "kubernetes/website content/en/docs/reference/command-line-tools-reference/feature-gates",
        "kubernetes/component-base featuregate/feature_gate.go#unsafeSetFromMap",
    ],
    example: "3 Nodes start kubelet with `feature-gates=CSIMigrationAWS=false`, which it takes until 1.24",
    migration: Some(Prerequisite::Storage),
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Gates, with the first minor version that does not know them, and the first that rejects `false`.
const GATES: [(&str, u32, Option<u32>); 7] = [
    ("CSIMigration", 27, Some(25)),
    ("CSIMigrationAWS", 27, Some(25)),
    ("ControllerManagerLeaderMigration", 27, None),
    ("KubeletCredentialProviders", 29, None),
    ("InTreePluginAWSUnregister", 31, None),
    ("DisableCloudProviders", 33, None),
    ("DisableKubeletCloudCredentialProviders", 33, None),
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    endings(context, |component, name, value| {
        let gates = value.split(',').filter(|_| name == "feature-gates").filter_map(|gate| gate.split_once('='));
        gates
            .filter_map(|(gate, value)| {
                let (gate, value) = (gate.trim(), value.trim());
                let (_, removed, locked) = GATES.iter().find(|(known, ..)| *known == gate)?;
                let is_off = is_false(value);
                let (minor, log) = match locked {
                    Some(locked) if is_off => (*locked, "feature is locked to true"),
                    _ => (*removed, "unrecognized feature gate"),
                };
                Some(Ending { component, argument: format!("{name}={gate}={value}"), minor, log, instead: None })
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- feature-gates=CSIMigrationAWS=false
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "CSIMigrationAWS=false", "GracefulNodeShutdown=false");
    }
}
