use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::Component;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "kcm-external-volume-plugin",
    title: "kube-controller-manager loads volumes of a removed provider",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error from Kubernetes 1.27 to 1.31, or if --target-kubernetes is 1.27 or later; warning before",
    ),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "kube-controller-manager has `external-cloud-volume-plugin=aws` together with `cloud-provider=external`: volumes of the provider that was part of Kubernetes until 1.26. From 1.32 on the flag is not read.",
    impact: "from 1.27 to 1.31 it does not start: `cloud provider could not be initialized: unknown cloud provider \"aws\"`",
    fix: "Install the EBS CSI driver, and remove the flag before the upgrade to 1.27.",
    sources: &[
        "kubernetes/kubernetes cmd/kube-controller-manager/app/cloudproviders.go#createCloudProvider",
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
        "https://github.com/kubernetes/kubernetes/pull/128197",
    ],
    example: "kube-controller-manager has `external-cloud-volume-plugin=aws`, which it supports until 1.26",
    ..Rule::evidence(AWS, check)
};

const FLAG: &str = "external-cloud-volume-plugin";

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let first = ControllerVersion::new(1, 27, 0);
    let target = context.evidence.target.kubernetes.filter(|target| *target >= first);
    for_each_arguments(context, |arguments| {
        let given = arguments.component_arguments(Component::ControllerManager);
        let last = |name| given.iter().rfind(|argument| argument.name == name);
        last("cloud-provider").filter(|provider| provider.value == "external")?;
        let plugin = last(FLAG).filter(|plugin| plugin.value == "aws")?;
        let is_past = arguments.version.is_some_and(|version| version >= first);
        let (severity, takes, aim) = match target {
            _ if is_past && arguments.version >= Some(ControllerVersion::new(1, 32, 0)) => return None,
            _ if is_past => (Severity::Error, "supported", String::new()),
            // Control planes upgrade one minor version at a time: every later version is reached through 1.27.
            Some(target) => (Severity::Error, "supports", format!(", and the target is {target}")),
            None => (Severity::Warning, "supports", String::new()),
        };
        let message = format!("kube-controller-manager has `{FLAG}=aws`, which it {takes} until 1.26{aim}");
        let fix = "install the EBS CSI driver, and remove the flag";
        Some(on_started(arguments, severity, plugin.place, FLAG, message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineGlobalConfig:
      kube-controller-manager-arg:
      - cloud-provider=external
      - external-cloud-volume-plugin=aws
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "- external-cloud-volume-plugin=aws", "- v=2");
    }
}
