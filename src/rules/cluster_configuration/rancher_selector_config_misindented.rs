use crate::kubernetes::{DocumentKind, is_empty};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-selector-config-misindented",
    title: "machine settings are next to `config`, not under it",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "An item of `spec.rkeConfig.machineSelectorConfig` has other keys than `machineLabelSelector` and `config`, or its `config` is empty. The API server drops such keys: an applied cluster has only the empty `config`. Rancher's guide for AWS has this indentation.",
    impact: "none of the settings reaches a machine, and nothing reports it",
    fix: "Indent the settings by two more spaces, so that they are under `config`.",
    sources: &[
        "rancher/rancher pkg/capr/planner/config.go#addUserConfig",
        r#"Rancher documentation, "Setting up the Amazon Cloud Provider""#,
    ],
    example: "kube-apiserver-arg, kubelet-arg belong under `config`, not next to it",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherCluster, |document| {
        let entries = document.object().items(&["spec", "rkeConfig", "machineSelectorConfig"]);
        let found = entries.enumerate().filter_map(|(index, entry)| {
            let beside: Vec<_> = entry
                .members(&[])
                .filter(|(key, _)| key.value != "machineLabelSelector" && key.value != "config")
                .map(|(key, _)| key)
                .collect();
            // Rancher's form writes one empty entry for all machines.
            let is_blank = entry.node.get("config").is_some_and(|config| config.members().is_some())
                && entry.node.get("machineLabelSelector").is_none();
            let is_empty = !is_blank && entry.node.get("config").is_none_or(is_empty);
            let what = index.to_string();
            match beside.first() {
                Some(first) => {
                    let names: Vec<&str> = beside.iter().map(|key| key.value.as_str()).collect();
                    let verb = if names.len() == 1 { "belongs" } else { "belong" };
                    let message = format!("{} {verb} under `config`, not next to it", text::list(&names, 5));
                    let fix = "indent them by two more spaces, so that they are under `config`";
                    Some(on(&document.name, Severity::Error, &first.place, &what, message, fix))
                }
                None if is_empty => {
                    let message = "`config` is empty: settings next to it were dropped";
                    let fix = "put the settings of these machines under `config`, or remove the entry";
                    Some(on(&document.name, Severity::Error, &entry.head(), &what, message, fix))
                }
                None => None,
            }
        });
        found.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineSelectorConfig:
    - kubelet-arg: [cloud-provider=external]
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "- kubelet-arg: [cloud-provider=external]",
            "- config:\n        kubelet-arg: [cloud-provider=external]",
        );
    }
}
