use crate::kubernetes::{DocumentKind, is_empty};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "kubeadm-extra-args-shape",
    title: "kubeadm cannot read extra arguments in this form",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "Extra arguments are a map in kubeadm `v1beta4`, or a list in an earlier version.",
    impact: "kubeadm fails: `cannot unmarshal`",
    fix: "Write a list of `name` and `value` in `v1beta4`, and a map in earlier versions.",
    sources: &[
        "kubernetes/kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go",
        "kubernetes/kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta3/types.go",
    ],
    example: "`nodeRegistration.kubeletExtraArgs` is a map, but v1beta4 expects a list",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::Kubeadm, |document| {
        let object = document.object();
        let version = document.api_version().rsplit('/').next().unwrap_or_default();
        let takes_list = version == "v1beta4";
        let paths: [&[&str]; 5] = [
            &["nodeRegistration", "kubeletExtraArgs"],
            &["apiServer", "extraArgs"],
            &["controllerManager", "extraArgs"],
            &["scheduler", "extraArgs"],
            &["etcd", "local", "extraArgs"],
        ];
        let found = paths.into_iter().filter_map(|path| {
            let arguments = object.at(path).filter(|arguments| !is_empty(arguments.node))?;
            let is_list = arguments.node.items().is_some();
            if is_list == takes_list || !version.starts_with("v1beta") {
                return None;
            }
            let (is, takes) = if takes_list { ("a map", "a list") } else { ("a list", "a map") };
            let path = path.join(".");
            let message = format!("`{path}` is {is}, but {version} expects {takes}");
            let fix = if takes_list { "write a list of `name` and `value`" } else { "write a map of names and values" };
            Some(on(&document.name, Severity::Error, &arguments.head(), &path, message, fix))
        });
        found.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs:
    cloud-provider: external
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v1beta4", "v1beta3");
    }
}
