use crate::rules::AWS;
use crate::rules::prelude::*;
use crate::service_annotations::{OF_CLOUD_CONTROLLER, is_in};

use super::{for_each_service, on, value};

pub(super) const RULE: Rule = Rule {
    id: "svc-annotation-too-new",
    title: "an annotation is newer than the cloud controller",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::Service],
    condition: "The cluster's cloud controller is too old to read the annotation. Its version is that of its image, or of --controller-version.",
    impact: "the annotation has no effect until the controller is upgraded, and the intended setting is missing",
    fix: "Upgrade the cloud controller, or remove the annotation.",
    sources: &["kubernetes/cloud-provider-aws, by its tags"],
    example: "Service shop/web has aws-load-balancer-private-ipv4-addresses, which cloud controller 1.33.0 does not read",
    migration: Some(Prerequisite::Services),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(version) = context.aws_controller_version() else {
        return CheckResult::not_applicable(
            "the version of the cloud controller is not known: see --controller-version",
        );
    };
    for_each_service(context, |service, owner| {
        if !owner.is_cloud_controller() {
            return Vec::new();
        }
        let known =
            OF_CLOUD_CONTROLLER.iter().filter(|known| value(service, known.suffix).is_some() && !is_in(known, version));
        known
            .map(|known| {
                let name = service.full_name();
                let message = format!(
                    "Service {} has {}, which cloud controller {version} does not read",
                    text::printable(&name),
                    known.suffix
                );
                let fix = "upgrade the cloud controller, or remove the annotation";
                on(service, Some(known.suffix), Severity::Warning, message, fix)
            })
            .collect()
    })
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
    service.beta.kubernetes.io/aws-load-balancer-type: nlb
    service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses: 10.0.0.1
spec:
  type: LoadBalancer
---
kind: DaemonSet
metadata:
  name: aws-cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.33.0
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1.33.0", "v1.36.0");
    }
}
