use crate::kubernetes::Service;
use crate::model::Answer;
use crate::model::cloud_provider_alibaba::{has_pods_as_backends, is_virtual};
use crate::rules::ALIBABA;
use crate::rules::alibaba::SERVICES_NOT_GIVEN;
use crate::rules::alibaba_service::kept;
use crate::rules::network_plugin::without_interfaces;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-svc-pods-without-interfaces",
    title: "Pods cannot be the backends of a Service, because they have no network interface",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Service],
    condition: "A Service that the cloud controller keeps has Pods as backends (`service.beta.kubernetes.io/backend-type: eni`), and flannel or Calico gives the Pods of the cluster their addresses. The controller looks for a network interface with the address of each Pod; only Terway, virtual Nodes and the host network give Pods such an address. Skipped are Services of a namespace with a workload on the host network, and clusters in which Terway runs too or a Node is virtual. `SERVICE_FORCE_BACKEND_ENI` is not judged: its value is not stored.",
    impact: "the controller leaves the Pods out with the event `SkipSyncBackends`, and a load balancer without other backends fails every connection",
    fix: "Remove the annotation, so that Nodes are the backends, or use Terway.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/clbv1/vgroups.go#updateVServerGroupENIBackendID",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/service/nlbv2/server_groups.go#updateServerGroupENIBackendID",
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/helper/service_utils.go#IsENIBackendType",
    ],
    example: "Service shop/web has Pods as backends, but flannel gives them addresses without a network interface",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let Some(services) = &evidence.services else { return CheckResult::not_applicable(SERVICES_NOT_GIVEN) };
    let has_pods = |service: &&Service| has_pods_as_backends(evidence, service) == Answer::Is(true);
    // The address of such a Pod is that of its Node.
    let is_on_host = |service: &&Service| {
        let mut here = evidence.workloads.iter().filter(|one| one.namespace == service.namespace);
        here.any(|one| one.is_on_host_network)
    };
    let services: Vec<&Service> = services
        .iter()
        .filter(|service| kept(context, service).is_some())
        .filter(has_pods)
        .filter(|service| !is_on_host(service))
        .collect();
    if services.is_empty() {
        return CheckResult::not_applicable(
            "no Service has Pods as the backends of a load balancer of this controller",
        );
    }
    let mut nodes = evidence.nodes.iter().flatten();
    if nodes.any(is_virtual) {
        return CheckResult::not_applicable("a Node is virtual: its Pods have network interfaces");
    }
    let Some(plugin) = without_interfaces(evidence) else {
        return CheckResult::not_applicable("no DaemonSet of flannel or Calico was given, or Terway runs too");
    };
    let found = services.iter().map(|service| {
        let name = service.full_name();
        let message = format!(
            "Service {} has Pods as backends, but {plugin} gives them addresses without a network interface",
            text::printable(&name)
        );
        let fix = Fix::none("remove `backend-type: eni`, so that Nodes are the backends, or use Terway");
        let resource = ResourceRef::bare(ResourceKind::Service, &name);
        Violation::new(Severity::Error, resource, message, fix).at(&service.place)
    });
    CheckResult::counted(services.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/backend-type: eni
spec:
  type: LoadBalancer
---
kind: DaemonSet
metadata:
  name: plugin
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - name: plugin
        image: docker.io/rancher/mirrored-flannel-flannel:v0.26.1
";

    const TERWAY: &str = "---
kind: DaemonSet
metadata:
  name: terway-eniip
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - name: terway
        image: registry.cn-hangzhou.aliyuncs.com/acs/terway:v1.5.0
";

    const ON_HOST: &str = "---
kind: DaemonSet
metadata:
  name: web
spec:
  template:
    spec:
      hostNetwork: true
      containers:
      - name: web
        image: nginx
";

    const VIRTUAL: &str = "---
kind: Node
metadata:
  name: virtual-kubelet-cn-hangzhou-h
  labels:
    type: virtual-kubelet
";

    #[test]
    fn fires() {
        for image in ["mirrored-flannel-flannel:v0.26.1", "hardened-calico:v3.29.0"] {
            lint::fires(&RULE, &DEFECT.replace("mirrored-flannel-flannel:v0.26.1", image));
        }
        let installs = "      initContainers:\n      - name: install-cni\n        image: docker.io/calico/cni:v3.29.0\n      containers:\n";
        let calico = DEFECT.replace("rancher/mirrored-flannel-flannel:v0.26.1", "calico/node:v3.29.0");
        lint::fires(&RULE, &calico.replace("      containers:\n", installs));
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("backend-type: eni", "backend-type: ecs"));
        lint::does_not_apply(&RULE, &DEFECT.replace("mirrored-flannel-flannel", "mirrored-cilium-cilium"));
        // A policy engine alone: the plugin of another project connects the Pods.
        lint::does_not_apply(&RULE, &DEFECT.replace("rancher/mirrored-flannel-flannel:v0.26.1", "calico/node:v3.29.0"));
        for other in [TERWAY, VIRTUAL, ON_HOST] {
            lint::does_not_apply(&RULE, &format!("{DEFECT}{other}"));
        }
    }
}
