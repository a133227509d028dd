use crate::kubernetes::DocumentKind;
use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, on, on_started};

pub(super) const RULE: Rule = Rule {
    id: "component-argument-misspelt",
    title: "a component has a flag that it does not support",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "An argument about the cloud provider in `kubelet-arg`, `kube-apiserver-arg` or `kube-controller-manager-arg`, or in the extra arguments of RKE or kubeadm, is not a flag of that component: a setting of RKE2 such as `cloud-provider-name`, a space instead of a dash, or a near miss. Or a `KubeletConfiguration` has a setting that exists only as a flag, such as `cloudProvider`.",
    impact: "the component does not start: `unknown flag`",
    fix: "Use the flag's spelling in the component: `cloud-provider=external` for the kubelet.",
    sources: &[
        "https://github.com/rancher/terraform-provider-rancher2/issues/1266",
        "kubernetes/kubernetes cmd/kubelet/app/options/options.go",
    ],
    example: "kubelet has `cloud-provider-name`, which is not one of its flags",
    ..Rule::evidence(ANY_CLOUD, check)
};

/// Flags about the cloud, nodes and names of each component. Source: Kubernetes documentation, "Component tools".
const KNOWN: [(Component, &[&str]); 3] = [
    (
        Component::Kubelet,
        &[
            "cloud-config",
            "cloud-provider",
            "hostname-override",
            "node-ip",
            "node-labels",
            "node-status-max-images",
            "node-status-update-frequency",
            "provider-id",
        ],
    ),
    (
        Component::ApiServer,
        &["cloud-config", "cloud-provider", "cloud-provider-gce-l7lb-src-cidrs", "cloud-provider-gce-lb-src-cidrs"],
    ),
    (
        Component::ControllerManager,
        &[
            "cloud-config",
            "cloud-provider",
            "cloud-provider-gce-lb-src-cidrs",
            "node-cidr-mask-size",
            "node-cidr-mask-size-ipv4",
            "node-cidr-mask-size-ipv6",
            "node-eviction-rate",
            "node-monitor-grace-period",
            "node-monitor-period",
            "node-startup-grace-period",
            "node-sync-period",
        ],
    ),
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let of_flags = flags(context);
    let configurations: Vec<_> = context.evidence.documents_by_kind(DocumentKind::KubeletConfiguration).collect();
    if configurations.is_empty() {
        return of_flags;
    }
    let checked = of_flags.checked.unwrap_or_default() + configurations.len();
    let of_flags_found = of_flags.outcome.unwrap_or_default();
    let found = configurations.iter().flat_map(|document| {
        document.object().members(&[]).filter_map(|(key, _)| {
            let nearest = FLAGS_ALONE
                .into_iter()
                .find(|flag| key.value.replace('-', "").eq_ignore_ascii_case(&flag.replace('-', "")))?;
            let message =
                format!("KubeletConfiguration has `{}`, which exists only as a flag", text::printable(&key.value));
            let fix = format!("start the kubelet with `--{nearest}`");
            let found = on(&document.name, Severity::Error, &key.place, &key.value, message, fix);
            Some(found.impact(Some("the kubelet ignores the field and starts without it".to_owned())))
        })
    });
    CheckResult::counted(checked, of_flags_found.into_iter().chain(found))
}

/// Kubelet flags without a field in its configuration file.
/// Source: kubernetes/kubernetes `staging/src/k8s.io/kubelet/config/v1beta1/types.go#KubeletConfiguration`.
const FLAGS_ALONE: [&str; 3] = ["cloud-config", "cloud-provider", "hostname-override"];

fn flags(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_arguments(context, |arguments| {
        let given = KNOWN.into_iter().flat_map(|(component, known)| {
            arguments.component_arguments(component).into_iter().map(move |argument| (component, known, argument))
        });
        let mut wrong = given.filter(|(_, known, argument)| {
            let name = argument.name;
            let is_meant = [
                "cloud-",
                "cloud_",
                "cloud ",
                "hostname-",
                "hostname_",
                "hostname ",
                "provider-",
                "provider_",
                "provider ",
            ]
            .iter()
            .any(|prefix| name.starts_with(prefix));
            is_meant && !known.contains(&name)
        });
        let (component, known, argument) = wrong.next()?;
        let (name, component) = (text::printable(argument.name), component.name());
        let message = format!("{component} has `{name}`, which is not one of its flags");
        let nearest = text::most_alike(argument.name, known.iter().copied(), 0.85);
        let fix = nearest.map_or_else(|| format!("remove `{name}`"), |nearest| format!("write `{nearest}`"));
        let what = format!("{component} {}", argument.name);
        Some(on_started(arguments, Severity::Error, argument.place, &what, message, fix))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- cloud-provider-name=external
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-provider-name", "cloud-provider");
    }
}
