use crate::kubernetes::arguments::Distribution;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "rke2-cloud-options-conflict",
    title: "RKE2 does not start with these options",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "`cloud-provider-config` is set without `cloud-provider-name`, or `node-external-ip` is set together with one of them.",
    impact: "RKE2 does not start: `--cloud-provider-config requires --cloud-provider-name`, or `can't set node-external-ip while using cloud provider`",
    fix: "Name the provider, or remove the other option. Rancher omits `node-external-ip` if a provider is named.",
    sources: &["rancher/rke2 pkg/rke2/rke2_linux.go#initExecutor"],
    example: "`node-external-ip` is set together with `cloud-provider-name`",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        if arguments.distribution != Distribution::Rke2 {
            return None;
        }
        let has = |name: &str| arguments.value(name).is_some();
        let has_name = arguments.cloud_provider_name().is_some();
        let (option, message, fix) = if has("cloud-provider-config") && !has_name {
            let message = "`cloud-provider-config` is set without `cloud-provider-name`";
            ("cloud-provider-config", message, "name the provider: `cloud-provider-name: external`")
        } else if has("node-external-ip") && has_name {
            let message = "`node-external-ip` is set together with `cloud-provider-name`";
            ("node-external-ip", message, "remove `node-external-ip`: the cloud controller sets the addresses")
        } else {
            return None;
        };
        Some(on_started(arguments, Severity::Error, arguments.place(option), option, message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud-provider-config: /etc/rancher/rke2/cloud.conf
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud.conf\n", "cloud.conf\ncloud-provider-name: external\n");
    }
}
