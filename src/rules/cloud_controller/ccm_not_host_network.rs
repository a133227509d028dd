use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-not-host-network",
    title: "the cloud controller is not on the host network",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "A DaemonSet of the cloud controller does not set `hostNetwork: true` (`hostNetworking` in the chart). A Deployment may serve another cluster.",
    impact: "its requests to the instance metadata take one more hop, which a hop limit of 1 blocks; if the network plugin waits for initialised nodes, the pod never gets an address",
    fix: "Set `hostNetwork: true`, or `hostNetworking: true` in the values of the chart.",
    sources: &[
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/templates/daemonset.yaml",
        "kubernetes/kops upup/models/cloudup/resources/addons/aws-cloud-controller.addons.k8s.io",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager is on the pod network",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        if controller.workload.is_on_host_network || !controller.is_on_nodes() {
            return None;
        }
        let (setting, place) = match &controller.chart {
            Some(chart) => ("hostNetworking: true` in the values", &chart.place),
            None => ("hostNetwork: true`", &controller.workload.pod_place),
        };
        let name = controller.name();
        let message = format!("{} is on the pod network", text::printable(&name));
        Some(on(controller, Severity::Warning, place, message, format!("set `{setting}")))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      hostNetwork: false
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "hostNetwork: false", "hostNetwork: true");
    }
}
