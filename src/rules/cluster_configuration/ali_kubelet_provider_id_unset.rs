use crate::kubernetes::arguments::{Component, Distribution, NodeArguments, Started};
use crate::rules::ALIBABA;
use crate::rules::alibaba_node::finds_by_tag;
use crate::rules::prelude::*;

use super::{for_each_arguments, is_declared_for, on_started, units_for};

pub(super) const RULE: Rule = Rule {
    id: "ali-kubelet-provider-id-unset",
    title: "kubelets register without a providerID",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A configuration has `cloud-provider=external` for the kubelet and no `provider-id`, nor has a `KubeletConfiguration` or a unit of the kubelet (`KUBELET_EXTRA_ARGS`), and a cloud controller of Alibaba Cloud whose version is known is declared in the same file, as the only one among the files named together, or runs in the cluster. Only v2.4 to v2.10 of it find an instance by its address and tag. Parts of configurations are not checked: another part may set it. Nodes that all have a providerID show that they got one.",
    impact: "no Node is initialised: each keeps the taint `node.cloudprovider.kubernetes.io/uninitialized`, unless its machine sets the argument separately",
    fix: "Start each kubelet with `provider-id=REGION.INSTANCE`, from the metadata service of its instance: `region-id` and `instance-id`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/node_controller.go#syncNode",
        "kubernetes/cloud-provider-alibaba-cloud a90a4e2f1 (v2.11.2): the lookup by address is no longer called",
    ],
    example: "the kubelet is started without `provider-id`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let mut controllers = evidence.alibaba_controllers();
    if controllers.clone().next().is_none() {
        return CheckResult::not_applicable("no workload of a cloud controller of Alibaba Cloud was given");
    }
    if context.alibaba_controller_version().is_none_or(finds_by_tag) {
        return CheckResult::not_applicable(
            "the version of the controller is not known, or it finds instances by their addresses and tags",
        );
    }
    let mut nodes = evidence.nodes.iter().flatten().peekable();
    if nodes.peek().is_some() && nodes.all(|node| !node.provider_id.is_empty()) {
        return CheckResult::not_applicable("all Nodes have a providerID");
    }
    // `providerID` of a `KubeletConfiguration`, and an argument in the unit of the kubelet, are the same setting.
    let has_id = |one: &NodeArguments| one.component_value(Component::Kubelet, "provider-id").is_some();
    if evidence.arguments().iter().any(|one| one.distribution == Distribution::Kubelet && has_id(one)) {
        return CheckResult::not_applicable("a KubeletConfiguration has a providerID");
    }
    let runs = controllers.any(|one| one.chart.is_none()) && evidence.nodes.is_some();
    for_each_arguments(context, |arguments| {
        let Started::Declared { place, .. } = &arguments.started else { return None };
        let is_asked = runs || is_declared_for(evidence.alibaba_controllers(), place);
        let kubelet = |name| arguments.component_value(Component::Kubelet, name).filter(|value| !value.is_empty());
        let is_external = kubelet("cloud-provider") == Some("external");
        if !is_asked
            || !is_external
            || kubelet("provider-id").is_some()
            || arguments.is_part
            || units_for(evidence, &arguments.started).any(has_id)
            || arguments.distribution == Distribution::Rke
        {
            return None;
        }
        let setting = arguments.distribution.setting(Component::Kubelet);
        let message = "the kubelet is started without `provider-id`";
        let fix = format!("add `provider-id=REGION.INSTANCE` to `{setting}` of each machine");
        Some(on_started(arguments, Severity::Warning, arguments.place("kubelet-arg"), "provider-id", message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- cloud-provider=external
---
kind: DaemonSet
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.14.0
        command:
        - --cluster-cidr=172.16.0.0/16
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        // A kubelet of kubeadm may have it from its configuration too.
        let kubeadm = DEFECT.replace(
            "kubelet-arg:\n- cloud-provider=external",
            "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  kubeletExtraArgs:
  - name: cloud-provider
    value: external",
        );
        lint::fires(&RULE, &kubeadm);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "external", "external\n- provider-id=${REGION}.${INSTANCE}");
        lint::silent(&RULE, DEFECT, "cloud-provider=external", "node-ip=10.0.0.1");
        for other in [
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nproviderID: ${REGION}.${INSTANCE}\n",
            "kind: Node\nmetadata:\n  name: a\nspec:\n  providerID: cn-hangzhou.i-bp1\n",
        ] {
            let (findings, _) = lint::outcome(&RULE, &format!("{DEFECT}---\n{other}"));
            assert!(findings.is_empty(), "{other}");
        }
    }

    /// The unit of a kubelet, as an object of Cluster API writes it.
    fn with_unit(arguments: &str, kubeadm: &str) -> String {
        let unit = format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata:
  name: workers
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs: {{{kubeadm}}}
      files:
      - path: /etc/sysconfig/kubelet
        content: |
          KUBELET_EXTRA_ARGS={arguments}
"
        );
        DEFECT.replace("kubelet-arg:\n- cloud-provider=external\n", &unit)
    }

    #[test]
    fn arguments_of_the_unit_count() {
        lint::fires(&RULE, &with_unit("--v=2", "cloud-provider: external"));
        // The unit of one object is not that of the machines of another.
        let (one, other) = ("--provider-id=${REGION}.${INSTANCE}", "cloud-provider: external");
        let both = format!("{}---\n{}", with_unit(one, other), with_unit("--v=2", other).replace("workers", "others"));
        lint::fires(&RULE, &both);
        for (unit, kubeadm) in [
            ("--cloud-provider=external --provider-id=${REGION}.${INSTANCE}", ""),
            ("--provider-id=${REGION}.${INSTANCE}", "cloud-provider: external"),
            ("--cloud-provider=external", "provider-id: '{{ ds.meta_data.region }}.{{ ds.meta_data.instance_id }}'"),
        ] {
            let (findings, _) = lint::outcome(&RULE, &with_unit(unit, kubeadm));
            assert!(findings.is_empty(), "{unit} {kubeadm}: {findings:?}");
        }
    }

    #[test]
    fn does_not_apply_to_versions_that_look_instances_up() {
        for version in ["v2.9.1", "latest"] {
            let (findings, outcome) = lint::outcome(&RULE, &DEFECT.replace("v2.14.0", version));
            assert!(findings.is_empty() && outcome == crate::rules::Outcome::NotApplicable, "{version}: {outcome:?}");
        }
    }
}
