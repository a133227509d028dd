use crate::controller::ControllerVersion;
use crate::kubernetes::DocumentKind;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "kubeadm-version-refused",
    title: "kubeadm does not support this version of its configuration",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A kubeadm configuration is in `v1beta2` or older, which kubeadm does not support from 1.27 on, or in `v1beta1` or older, last supported by 1.21; or its kind was removed. If the file names a Kubernetes version, that version decides.",
    impact: "kubeadm fails before it does anything",
    fix: "Rewrite it with `kubeadm config migrate`.",
    sources: &["kubernetes/kubernetes cmd/kubeadm/app/util/config/common.go#validateSupportedVersion"],
    example: "`kubeadm.k8s.io/v1beta2` is refused by kubeadm 1.27 and later",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::Kubeadm, |document| {
        let object = document.object();
        let Some(version) = object.located(&["apiVersion"]) else { return Vec::new() };
        let minor = object.text(&["kubernetesVersion"]).and_then(|text| text.parse::<ControllerVersion>().ok());
        let minor = minor.and_then(ControllerVersion::minor);
        let last = match version.value.rsplit('/').next().unwrap_or_default() {
            "v1alpha1" => 11,
            "v1alpha2" => 12,
            "v1alpha3" => 14,
            "v1beta1" => 21,
            "v1beta2" => 26,
            _ => return Vec::new(),
        };
        // A file is valid for a kubeadm of its time.
        if minor.is_some_and(|minor| minor <= last) {
            return Vec::new();
        }
        let message = format!("`{}` is refused by kubeadm 1.{} and later", text::printable(&version.value), last + 1);
        let fix = "rewrite it with `kubeadm config migrate`";
        vec![on(&document.name, Severity::Error, &version.place, "apiVersion", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: kubeadm.k8s.io/v1beta2
kind: JoinConfiguration
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1beta2", "v1beta4");
    }
}
