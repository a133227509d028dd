use crate::kubernetes::CloudController;
use crate::rules::ALIBABA;
use crate::rules::network_plugin::encapsulation;
use crate::rules::prelude::*;

use super::for_each_controller;

pub(super) const RULE: Rule = Rule {
    id: "ali-routes-with-overlay",
    title: "the controller writes routes for Pods that a network plugin connects itself",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A cloud controller of Alibaba Cloud writes routes, and the network plugin of the cluster encapsulates the traffic of Pods: flannel with a backend that encapsulates, Cilium in tunnel mode, Calico with IP-in-IP or VXLAN in its default pool (`CALICO_IPV4POOL_IPIP` or `CALICO_IPV4POOL_VXLAN` is `Always`; IPPools are not read), or the plugin that a configuration of RKE2 or K3s selects.",
    impact: "each Node gets the condition `NetworkUnavailable` until its route exists, and takes an entry of the route table of the VPC. Nodes without `podCIDR`, or beyond the quota of entries, keep the taint",
    fix: "Start the controller with `--configure-cloud-routes=false`, or let routes alone connect the Pods (flannel with the backend `alloc`).",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/controller/node/manager.go#setNetworkUnavailable",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/121",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/329",
        "flannel-io/flannel Documentation/backends.md",
        "Calico documentation, Configuring calico/node",
        "cilium/cilium Documentation/network/concepts/routing.rst",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager writes routes, and flannel connects the Pods by `vxlan`",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let plugin = encapsulation(context.evidence);
    for_each_controller(context, |controller| {
        let plugin = plugin.as_deref().filter(|_| writes_routes(controller))?;
        let message = format!("{} writes routes, and {plugin}", text::printable(&controller.name()));
        let place = controller.flag("configure-cloud-routes").map_or(controller.place(), |flag| &flag.place);
        let fix = "start it with `--configure-cloud-routes=false`";
        Some(crate::rules::cloud_controller::on(controller, Severity::Warning, place, message, fix))
    })
}

fn writes_routes(controller: &CloudController) -> bool {
    controller.knows_flags && controller.is_on("configure-cloud-routes", true) && controller.runs(&["route"])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint::{self, alibaba_controller};

    const CONTROLLER: &str = alibaba_controller!(
        "v2.14.0",
        "
        command:
        - --cluster-cidr=172.16.0.0/16
---
"
    );

    const FLANNEL: &str = r#"
kind: ConfigMap
apiVersion: v1
metadata:
  name: kube-flannel-cfg
  namespace: kube-flannel
data:
  net-conf.json: '{"Network": "172.16.0.0/16", "Backend": {"Type": "vxlan"}}'
---
kind: DaemonSet
metadata:
  name: kube-flannel-ds
  namespace: kube-flannel
spec:
  template:
    spec:
      containers:
      - name: kube-flannel
        image: ghcr.io/flannel-io/flannel:v0.26.1
"#;

    const CILIUM: &str = "
kind: ConfigMap
apiVersion: v1
metadata:
  name: cilium-config
  namespace: kube-system
data:
  routing-mode: tunnel
---
kind: DaemonSet
metadata:
  name: cilium
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - name: cilium-agent
        image: quay.io/cilium/cilium:v1.16.1@sha256:0b4a3ab41a4760d86b7fc945b8783747ba27f29dac30dd434d94f2c9e3679f39
";

    const CALICO: &str = "
kind: DaemonSet
metadata:
  name: calico-node
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - name: calico-node
        image: quay.io/calico/node:v3.29.1
        env:
        - {name: CALICO_IPV4POOL_IPIP, value: Always}
        - {name: CALICO_IPV4POOL_VXLAN, value: Never}
";

    fn with(other: &str) -> String {
        format!("{CONTROLLER}{other}")
    }

    #[test]
    fn fires() {
        for other in [
            FLANNEL,
            CILIUM,
            CALICO,
            "cni: [multus, canal]\nkubelet-arg: [node-ip=10.0.0.1]\n",
            "flannel-backend: vxlan\n",
        ] {
            let (findings, _) = lint::outcome(&RULE, &with(other));
            assert_eq!(findings.len(), 1, "{other}");
        }
    }

    #[test]
    fn silent() {
        let off = ("--cluster-cidr=172.16.0.0/16", "--configure-cloud-routes=false");
        lint::silent(&RULE, &with(FLANNEL), off.0, off.1);
        lint::silent(&RULE, &with(FLANNEL), "vxlan", "alloc");
        lint::silent(&RULE, &with(FLANNEL), "vxlan", "host-gw");
        lint::silent(&RULE, &with(FLANNEL), "\"vxlan\"", "\"vxlan\", \"DirectRouting\": true");
        lint::silent(&RULE, &with(CILIUM), "routing-mode: tunnel", "routing-mode: native");
        lint::silent(&RULE, &with(CALICO), "value: Always", "value: Never");
        lint::silent(&RULE, &with(CALICO), "value: Always", "value: CrossSubnet");
        for other in ["CALICO_NETWORKING_BACKEND, value: none", "NO_DEFAULT_POOLS, value: \"true\""] {
            lint::silent(&RULE, &with(CALICO), "CALICO_IPV4POOL_VXLAN, value: Never", other);
        }
        lint::silent(&RULE, &with(CALICO), "calico/node", "calico/kube-controllers");
        lint::silent(&RULE, &with("cni: [canal]\nkubelet-arg: [node-ip=10.0.0.1]\n"), "canal", "none");
    }
}
