use crate::kubernetes::CloudController;
use crate::kubernetes::arguments::{Distribution, Started};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_arguments, is_declared_for, on_started};

pub(super) const RULE: Rule = Rule {
    id: "servicelb-beside-cloud-controller",
    title: "two controllers write the addresses of Services",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "A K3s server does not have `servicelb` in `disable`, or an RKE2 server has `enable-servicelb: true`, and an AWS cloud controller runs its service controller, or is declared with it: in the same file, or as the only one among the files named together.",
    impact: "both give every Service of type `LoadBalancer` an address, and each removes that of the other",
    fix: "Add `servicelb` to `disable` of K3s; for RKE2, remove `enable-servicelb`.",
    sources: &["https://github.com/k3s-io/k3s/issues/6554", "k3s-io/k3s pkg/cloudprovider/servicelb.go"],
    example: "K3s runs ServiceLB alongside the AWS cloud controller",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let of_aws = context.evidence.aws_controllers();
    let with_services: Vec<_> = of_aws.filter(|one| one.runs(&CloudController::SERVICE)).collect();
    if with_services.is_empty() {
        return CheckResult::not_applicable("no AWS cloud controller with its service controller was given");
    }
    let nodes_say = with_services.iter().any(|one| one.chart.is_none());
    for_each_arguments(context, |arguments| {
        let is_asked = match &arguments.started {
            Started::Node(_) => nodes_say,
            Started::Declared { place, .. } => is_declared_for(with_services.iter().copied(), place),
        };
        if !is_asked || arguments.is_server != Some(true) {
            return None;
        }
        let disabled = arguments.all("disable");
        let is_disabled = disabled.iter().any(|(value, _)| value.split(',').any(|one| one.trim() == "servicelb"));
        let (name, is_on, option, fix) = match arguments.distribution {
            Distribution::K3s => ("K3s", !is_disabled, "disable", "add `servicelb` to `disable` on all servers"),
            Distribution::Rke2 => {
                ("RKE2", arguments.is_on("enable-servicelb"), "enable-servicelb", "remove `enable-servicelb`")
            }
            Distribution::Rke
            | Distribution::Kubeadm
            | Distribution::Kubelet
            | Distribution::Unit
            | Distribution::StaticPod
            | Distribution::Kops => return None,
        };
        let message = format!("{name} runs ServiceLB alongside the AWS cloud controller");
        is_on.then(|| on_started(arguments, Severity::Error, arguments.place(option), "servicelb", message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
flannel-backend: vxlan
---
image:
  repository: us.gcr.io/k8s-artifacts-prod/provider-aws/cloud-controller-manager
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "flannel-backend: vxlan", "flannel-backend: vxlan\ndisable: [servicelb]");
    }
}
