use crate::controller::ControllerVersion;
use crate::kubernetes::arguments::{Component, Distribution, is_name_only};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "rke2-cloud-provider-aws",
    title: "`cloud-provider-name: aws` changed its meaning",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if the version is not known or is before 1.27 (an error with --target-kubernetes 1.27 or later), info if it works",
    ),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "`cloud-provider-name: aws` of RKE2 depends on the version. Before 1.29.11, 1.30.7 and 1.31.3 it gives every component `--cloud-provider=aws`, which none of them supports from Kubernetes 1.27 on. Later versions only name the node after the metadata of its instance. If arguments of the components set `external`, it works and is only noted.",
    impact: "before those versions the components do not start; from them on, no node waits for the cloud controller and none gets a providerID",
    fix: "Write `cloud-provider-name: external`, and `node-name-from-cloud-provider-metadata: true` if names must come from the instance.",
    sources: &["https://github.com/rancher/rke2/issues/4183", "rancher/rke2 pkg/rke2/rke2_linux.go#initExecutor"],
    example: "`cloud-provider-name: aws` does not pass `--cloud-provider=external` to the kubelet in RKE2 1.33.1",
    ..Rule::evidence(AWS, check)
};

/// First version of Kubernetes without an in-tree AWS provider.
const FIRST_WITHOUT: ControllerVersion = ControllerVersion::new(1, 27, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        if arguments.distribution != Distribution::Rke2 || arguments.cloud_provider_name() != Some("aws") {
            return None;
        }
        let version = arguments.version;
        let is_external =
            |component: Component| arguments.component_value(component, "cloud-provider") == Some("external");
        let in_tree = version.is_some_and(|version| version < FIRST_WITHOUT);
        let asks = Component::ALL
            .into_iter()
            .any(|component| arguments.component_value(component, "cloud-provider") == Some("aws"));
        let servers = [Component::ApiServer, Component::ControllerManager];
        let is_overridden = is_external(Component::Kubelet)
            && (arguments.is_server == Some(false) || servers.into_iter().all(is_external));
        let (severity, message) = match (is_name_only(version), version) {
            // That is the in-tree provider. If arguments set it as well, `in-tree-cloud-provider` reports its end.
            (false, Some(_)) if in_tree && asks => return None,
            (false, Some(version)) if in_tree && !is_overridden => {
                let target = context.evidence.target.kubernetes.filter(|target| *target >= FIRST_WITHOUT);
                let severity = if target.is_some() { Severity::Error } else { Severity::Warning };
                let aimed = target.map_or_else(String::new, |target| format!(", and the target is {target}"));
                (severity, format!("`cloud-provider-name: aws` gives components `--cloud-provider=aws` in RKE2 {version}, which Kubernetes supports until 1.26{aimed}"))
            }
            (false, Some(version)) if !is_overridden => {
                (Severity::Error, format!("`cloud-provider-name: aws` gives components `--cloud-provider=aws`, which Kubernetes {version} does not support"))
            }
            (true, Some(version)) if !is_external(Component::Kubelet) => {
                (Severity::Error, format!("`cloud-provider-name: aws` does not pass `--cloud-provider=external` to the kubelet in RKE2 {version}"))
            }
            (_, None) if !is_external(Component::Kubelet) => {
                (Severity::Warning, "`cloud-provider-name: aws` gives the kubelet no `--cloud-provider=external` from RKE2 1.29.11, 1.30.7 and 1.31.3 on".to_owned())
            }
            _ => (Severity::Info, "`cloud-provider-name: aws` is deprecated and only names the node".to_owned()),
        };
        let fix = "write `cloud-provider-name: external` and `node-name-from-cloud-provider-metadata: true`";
        Some(on_started(arguments, severity, arguments.place("cloud-provider-name"), "aws", message, fix))
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
      cloud-provider-name: aws
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-provider-name: aws", "cloud-provider-name: external");
    }
}
