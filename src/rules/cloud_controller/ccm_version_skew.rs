use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_aws, on};

pub(super) const RULE: Rule = Rule {
    id: "ccm-version-skew",
    title: "the cloud controller version does not fit the Kubernetes version",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if two or more versions ahead, or older than 1.27",
    ),
    resources: &[ResourceKind::Workload],
    condition: "Its image tag has another minor version than Kubernetes, whose version comes from the highest kubelet or from the configuration: newer, or older by more than one. An error if newer by two or more, or older than 1.27 on a later Kubernetes.",
    impact: "each cloud controller version is tested with the Kubernetes version of the same number; a newer one may request what the API server does not have",
    fix: "Use an image whose first two version numbers match the API server's.",
    sources: &[
        "https://kubernetes.io/releases/version-skew-policy/",
        r#"kubernetes/cloud-provider-aws README.md, "Compatibility with Kubernetes""#,
    ],
    example: "DaemonSet kube-system/aws-cloud-controller-manager is version 1.30.1, but Kubernetes is 1.33.2",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

/// Impact of a controller that is older than its cluster.
const OLDER: &str = "each cloud controller version is tested with the Kubernetes version of the same number; an older one may request API versions that the server no longer has, and lacks what newer nodes and Services need";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let Some(kubernetes) = context.evidence.kubernetes_version() else {
        return CheckResult::not_applicable("the version of Kubernetes is not known");
    };
    for_each_aws(context, |controller| {
        let version = controller.version?;
        let (own, of_cluster) = (version.minor()?, kubernetes.minor()?);
        let severity = match own {
            own if own >= of_cluster + 2 || (own < 27 && of_cluster >= 27) => Severity::Error,
            own if own > of_cluster || own + 1 < of_cluster => Severity::Warning,
            _ => return None,
        };
        let name = controller.name();
        let message = format!("{} is version {version}, but Kubernetes is {kubernetes}", text::printable(&name));
        let image = controller.workload.containers.iter().map(|container| &container.image);
        let place = image.filter(|image| image.value.contains(&format!("v{version}"))).map(|image| &image.place).next();
        let fix = format!("use an image of version 1.{of_cluster}");
        let violation = on(controller, severity, place.unwrap_or(controller.place()), message, fix);
        Some(violation.impact((own < of_cluster).then(|| OLDER.to_owned())))
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
spec:
  template:
    spec:
      containers:
      - image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.0
---
kind: Node
metadata:
  name: control-1
status:
  nodeInfo:
    kubeletVersion: v1.33.2
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1.36.0", "v1.33.0");
    }
}
