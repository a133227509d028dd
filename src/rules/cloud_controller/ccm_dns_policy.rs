use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_audited, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-dns-policy",
    title: "the cloud controller depends on the cluster DNS",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller runs on the host network with `dnsPolicy: ClusterFirstWithHostNet`.",
    impact: "on a new cluster the DNS runs only on initialised nodes, which wait for the controller, so the controller cannot find its cloud",
    fix: "Set `dnsPolicy: Default`.",
    sources: &[
        r#"Kubernetes documentation, "DNS for Services and Pods", "Pod's DNS Policy""#,
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/templates/daemonset.yaml",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager has `dnsPolicy: ClusterFirstWithHostNet`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_audited(context, |controller| {
        let policy =
            controller.workload.dns_policy.as_ref().filter(|policy| policy.value == "ClusterFirstWithHostNet")?;
        let name = controller.name();
        let message = format!("{} has `dnsPolicy: ClusterFirstWithHostNet`", text::printable(&name));
        Some(on(controller, Severity::Warning, &policy.place, message, "set `dnsPolicy: Default`"))
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
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "ClusterFirstWithHostNet", "Default");
    }
}
