use crate::controller::ControllerVersion;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::for_each_controller;

pub(super) const RULE: Rule = Rule {
    id: "ali-ingress-crd-version",
    title: "the ALB Ingress controller registers its CRD with an API that was removed",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::Workload],
    condition: "`--controllers` of a cloud controller of Alibaba Cloud names `ingress`, and the cluster runs Kubernetes 1.22 or later, or `--target-kubernetes` is one. All versions up to 2.14.0 register `albconfigs` through `apiextensions.k8s.io/v1beta1`.",
    impact: "the cloud controller ends at start, with all its controllers (`the server could not find the requested resource`)",
    fix: "Remove `ingress` from `--controllers`, and deploy the ALB Ingress controller separately.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/util/crd/crd.go#EnsurePresent",
        "https://github.com/kubernetes/cloud-provider-alibaba-cloud/issues/279",
        "https://kubernetes.io/docs/reference/using-api/deprecation-guide/#customresourcedefinition-v122",
    ],
    example: "DaemonSet kube-system/cloud-controller-manager runs `ingress`, which cannot register its CRD in Kubernetes 1.33",
    ..Rule::evidence(ALIBABA, check)
};

/// The first version without `apiextensions.k8s.io/v1beta1`.
const REMOVED: ControllerVersion = ControllerVersion::new(1, 22, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let target = context.evidence.target.kubernetes;
    let Some(version) = context.evidence.kubernetes_version().max(target) else {
        return CheckResult::not_applicable("the version of Kubernetes is not known");
    };
    for_each_controller(context, |controller| {
        let flag = controller.flag("controllers")?;
        if version < REMOVED || !controller.listed("controllers").iter().any(|name| name == "ingress") {
            return None;
        }
        let message = format!(
            "{} runs `ingress`, which cannot register its CRD in Kubernetes {version}",
            text::printable(&controller.name()),
        );
        let fix = "remove `ingress` from `--controllers`";
        Some(crate::rules::cloud_controller::on(controller, Severity::Error, &flag.place, message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: DaemonSet
metadata:
  name: cloud-controller-manager
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.9.1
        command:
        - --controllers=node,service,ingress
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node,service,ingress", "node,service");
    }
}
