use crate::kubernetes::arguments::{Component, Started};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, is_misspelt_external, on_started};

pub(super) const RULE: Rule = Rule {
    id: "cloud-provider-unknown",
    title: "a component has a cloud provider that Kubernetes does not know",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "A Node or a configuration starts a kubelet, kube-apiserver or kube-controller-manager with a `cloud-provider` that is neither `external` nor one that was part of Kubernetes: aws, azure, cloudstack, gce, openstack, ovirt, photon, vsphere. A misspelt `external` of a kubelet is reported by `kubelet-cloud-provider-missing`.",
    impact: "the component does not start: `unknown cloud provider`",
    fix: "Set `cloud-provider=external` for kubelet and kube-controller-manager, and none for kube-apiserver.",
    sources: &[
        "kubernetes/kubernetes v1.18.0 pkg/cloudprovider/providers/providers.go",
        "kubernetes/cloud-provider plugins.go#InitCloudProvider",
    ],
    example: "kube-controller-manager is started with `cloud-provider=alicloud`, which no version of Kubernetes knows",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Providers that were part of Kubernetes, and the value for all others.
const KNOWN: [&str; 10] =
    ["aws", "azure", "cloudstack", "external", "fake", "gce", "openstack", "ovirt", "photon", "vsphere"];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        let given = Component::ALL.into_iter().flat_map(|component| {
            arguments.component_arguments(component).into_iter().map(move |argument| (component, argument))
        });
        let unknown = given.filter(|(component, argument)| {
            let value = argument.value;
            let is_filled_in = value.is_empty() || value.contains(['$', '{']);
            let is_reported = *component == Component::Kubelet && is_misspelt_external(value);
            argument.name == "cloud-provider" && !is_filled_in && !is_reported && !KNOWN.contains(&value)
        });
        let unknown: Vec<_> = unknown.collect();
        let (first, argument) = unknown.first()?;
        let value = text::printable(argument.value);
        let names: Vec<&str> = unknown.iter().map(|(component, _)| component.name()).collect();
        let is = if names.len() == 1 { "is" } else { "are" };
        let message = format!(
            "{} {is} started with `cloud-provider={value}`, which no version of Kubernetes knows",
            text::list(&names, 3)
        );
        let fix = match first {
            Component::ApiServer => "remove it",
            Component::Kubelet | Component::ControllerManager => {
                "write `cloud-provider=external`, and nothing for kube-apiserver"
            }
        };
        let place = match &arguments.started {
            Started::Declared { .. } => argument.place,
            Started::Node(_) => None,
        };
        Some(on_started(arguments, Severity::Error, place, first.name(), message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kube-controller-manager-arg:
- cloud-provider=alicloud
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("controller-manager", "apiserver"));
    }

    #[test]
    fn silent() {
        for known in ["external", "aws", "${PROVIDER}", ""] {
            lint::silent(&RULE, DEFECT, "alicloud", known);
        }
        lint::silent(
            &RULE,
            DEFECT,
            "kube-controller-manager-arg:\n- cloud-provider=alicloud",
            "kubelet-arg: [cloud-provider=externel]",
        );
    }
}
