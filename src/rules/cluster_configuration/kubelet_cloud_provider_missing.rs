use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started, is_name_only};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, is_declared_for, is_misspelt_external, on_started, units_for};

pub(super) const RULE: Rule = Rule {
    id: "kubelet-cloud-provider-missing",
    title: "kubelets do not wait for the cloud controller",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning for kubeadm configurations: the unit of the kubelet may set it",
    ),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "A cloud controller exists, or is declared in the same file or as the only one among the files named together, or another of these configurations has an external kubelet. But a configuration, or a Node that records its arguments, has no `cloud-provider=external` for the kubelet, or a misspelt one: neither set directly, nor by `cloud-provider-name: external` of RKE2, nor by the own controller of K3s or RKE2.",
    impact: "such a node registers without the taint of uninitialised nodes and never gets a providerID: load balancers skip it, and volumes cannot be attached. Existing nodes keep theirs, which hides the defect",
    fix: "Set `kubelet-arg: cloud-provider=external` for all nodes.",
    sources: &[
        "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode",
        "rancher/rke2 pkg/rke2/rke2_linux.go",
        "k3s-io/k3s pkg/daemons/agent/agent.go",
    ],
    example: "the kubelet is started without `cloud-provider=external`",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let controllers = context.evidence.controllers();
    let of_cloud = || controllers.iter().filter(|one| context.cloud.is_none_or(|cloud| cloud == one.cloud));
    // One external kubelet shows that all must be: K3s agents and machines that join by kubeadm are configured
    // separately.
    let is_external = |one: &NodeArguments| {
        one.node().is_none() && one.component_value(Component::Kubelet, "cloud-provider") == Some("external")
    };
    let one_is_external = context.evidence.arguments().iter().any(is_external);
    if of_cloud().next().is_none() && !one_is_external {
        return CheckResult::not_applicable(
            "neither the workload nor the chart values of an external cloud controller were given",
        );
    }
    let nodes_say = controllers.iter().any(|one| one.chart.is_none());
    for_each_arguments(context, |arguments| {
        // Configurations in a file are for the cluster of that file.
        let is_asked = match &arguments.started {
            Started::Node(_) => nodes_say,
            Started::Declared { place, .. } => {
                nodes_say && context.evidence.nodes.is_some()
                    || is_declared_for(of_cloud(), place)
                    || one_is_external && of_cloud().next().is_none()
            }
        };
        let kubelet = arguments.component_value(Component::Kubelet, "cloud-provider").filter(|value| !value.is_empty());
        let by_name = match (arguments.distribution, arguments.cloud_provider_name()) {
            (Distribution::Rke2, Some("aws")) => !is_name_only(arguments.version),
            (Distribution::Rke2, Some(_)) => true,
            // Both make their kubelets external for their own controller, which `embedded-ccm-still-on` checks.
            (Distribution::K3s | Distribution::Rke2, _) => !is_without_own(context, arguments),
            _ => false,
        };
        let unit_says = || units_for(context.evidence, &arguments.started).any(is_external);
        let is_said_elsewhere = arguments.is_part
            || arguments.distribution == Distribution::Rke
            || matches!(arguments.distribution, Distribution::Kubeadm | Distribution::Unit) && unit_says();
        // The kubelet does not start with an unknown provider.
        let misspelt = kubelet.filter(|value| is_misspelt_external(value));
        if !is_asked
            || kubelet.is_some() && misspelt.is_none()
            || by_name && misspelt.is_none()
            || !arguments.is_of_kubelet
            || is_said_elsewhere && misspelt.is_none()
        {
            return None;
        }
        let setting = arguments.distribution.setting(Component::Kubelet);
        let (message, fix) = match misspelt {
            Some(value) => (
                format!(
                    "the kubelet is started with `cloud-provider={}`, which is not a provider",
                    text::printable(value)
                ),
                format!("write `cloud-provider=external` in `{setting}`"),
            ),
            None => (
                "the kubelet is started without `cloud-provider=external`".to_owned(),
                format!("add `cloud-provider=external` to `{setting}`"),
            ),
        };
        // kubeadm's kubelets may have it from a unit that was not given.
        let may_have_it = arguments.distribution == Distribution::Kubeadm;
        let severity = if may_have_it && misspelt.is_none() { Severity::Warning } else { Severity::Error };
        let given = arguments.component_arguments(Component::Kubelet);
        let own = given.iter().rfind(|one| one.name == "cloud-provider").and_then(|one| one.place);
        let place = own.or_else(|| arguments.place("kubelet-arg"));
        Some(on_started(arguments, severity, place, "kubelet", message, fix))
    })
}

/// True if the servers of K3s or RKE2 that a node belongs to run without the controller of the distribution.
fn is_without_own(context: &KubernetesContext<'_>, arguments: &NodeArguments) -> bool {
    const SWITCH: &str = "disable-cloud-controller";
    if arguments.is_server == Some(true) {
        return arguments.is_on(SWITCH);
    }
    let servers = context
        .evidence
        .arguments()
        .iter()
        .filter(|one| one.distribution == arguments.distribution && one.is_server == Some(true));
    let mut servers = servers.peekable();
    servers.peek().is_some() && servers.all(|one| one.is_on(SWITCH))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
metadata: {}
spec:
  kubernetesVersion: v1.33.5+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      kubelet-arg:
      - cloud-provider=external
    machineSelectorConfig:
    - config:
        kubelet-arg: []
      machineLabelSelector:
        matchLabels:
          rke.cattle.io/control-plane-role: 'true'
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "kubelet-arg: []", "kubelet-arg: [cloud-provider=external]");
    }

    /// A configuration of kubeadm and the unit of its kubelet, in a cluster with a cloud controller.
    fn with_unit(unit: &str) -> String {
        let unit = unit.replace('\n', "\n        ");
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata:
  name: workers
spec:
  joinConfiguration:
    nodeRegistration:
      kubeletExtraArgs: {{v: '2'}}
  files:
    - path: /etc/systemd/system/kubelet.service
      content: |
        {unit}
---
image:
  repository: us.gcr.io/k8s-artifacts-prod/provider-aws/cloud-controller-manager
"
        )
    }

    #[test]
    fn the_unit_of_the_kubelet_counts() {
        let (findings, _) = lint::outcome(&RULE, &with_unit("KUBELET_EXTRA_ARGS=--cloud-provider=external"));
        assert!(findings.is_empty(), "{findings:?}");
        let (findings, _) = lint::outcome(&RULE, &with_unit("KUBELET_EXTRA_ARGS=--v=2"));
        assert_eq!(findings.len(), 1, "{findings:?}");
        let (findings, _) = lint::outcome(&RULE, &with_unit("KUBELET_EXTRA_ARGS=--cloud-provider=exteral --v=2"));
        assert_eq!(findings.len(), 2, "{findings:?}");
        let columns: Vec<usize> = findings.iter().flat_map(|one| &one.locations).map(|place| place.column).collect();
        assert!(columns.contains(&28), "{columns:?}");
        let (findings, _) = lint::outcome(&RULE, &with_unit("[Service]\nExecStart=/usr/bin/kubelet --v=2"));
        assert_eq!(findings.len(), 2, "{findings:?}");
        let (findings, _) = lint::outcome(&RULE, &with_unit("[Service]\nExecStart=/usr/bin/kubelet"));
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
