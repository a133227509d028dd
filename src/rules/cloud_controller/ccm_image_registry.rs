use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-image-registry",
    title: "the image comes from a frozen registry",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Workload],
    condition: "The cloud controller's image is in `k8s.gcr.io` or `us.gcr.io/k8s-artifacts-prod`.",
    impact: "no new images are pushed there, and the registry may be shut down any day; new nodes then cannot pull the image",
    fix: "Use `registry.k8s.io/provider-aws/cloud-controller-manager`.",
    sources: &[
        "https://kubernetes.io/blog/2023/02/06/k8s-gcr-io-freeze-announcement/",
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/values.yaml at 0.0.6",
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager pulls `us.gcr.io/k8s-artifacts-prod/provider-aws/cloud-controller-manager:v1.23.0-alpha.0`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_aws(context, |controller| {
        let images = controller.workload.containers.iter().map(|container| &container.image);
        let is_frozen = |image: &str| image.starts_with("k8s.gcr.io/") || image.contains("gcr.io/k8s-artifacts-prod/");
        let image = images.into_iter().find(|image| is_frozen(&image.value))?;
        let name = controller.name();
        let message = format!("{} pulls `{}`", text::printable(&name), text::printable(&image.value));
        let fix = "use `registry.k8s.io/provider-aws/cloud-controller-manager` in the version of the cluster";
        Some(on(controller, Severity::Warning, &image.place, message, fix))
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
      containers:
      - image: k8s.gcr.io/provider-aws/cloud-controller-manager:v1.33.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "k8s.gcr.io", "registry.k8s.io");
    }
}
