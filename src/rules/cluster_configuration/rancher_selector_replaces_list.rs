use std::collections::BTreeMap;

use crate::kubernetes::arguments::{Machines, machines, selector_matches};
use crate::kubernetes::{DocumentKind, Object, Place};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-selector-replaces-list",
    title: "a list of arguments replaces another one",
    severity: RuleSeverity::depends(
        Severity::Warning,
        "warning; error if `cloud-provider=external` or `provider-id` is lost",
    ),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A setting with a list is in `machineGlobalConfig` and also in an entry of `machineSelectorConfig` that matches the same machines, or in two entries: the later list replaces the earlier one. An error if `cloud-provider=external` or `provider-id=` is lost.",
    impact: "the arguments of the earlier list do not reach these machines",
    fix: "Repeat in the later list the arguments of the earlier one that must stay.",
    sources: &["rancher/rancher pkg/capr/planner/config.go#addUserConfig"],
    example: "`kubelet-arg` for machines of control plane replaces the one at line 12: `cloud-provider=external` is lost",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherCluster, |document| {
        let Some(config) = document.object().at(&["spec", "rkeConfig"]) else { return Vec::new() };
        let mut found: BTreeMap<Place, Violation> = BTreeMap::new();
        for Machines { name: names, labels, .. } in machines(config) {
            let mut lists: BTreeMap<String, (Vec<String>, Place)> = BTreeMap::new();
            let global = config.at(&["machineGlobalConfig"]).into_iter();
            let entries = config.items(&["machineSelectorConfig"]).filter(|entry| selector_matches(*entry, &labels));
            for settings in global.chain(entries.filter_map(|entry| entry.at(&["config"]))) {
                for (key, value) in settings.members(&[]).filter(|(_, value)| value.node.items().is_some()) {
                    let items: Vec<String> = value.items(&[]).filter_map(Object::scalar).collect();
                    let Some((before, place)) = lists.insert(key.value.clone(), (items.clone(), key.place.clone()))
                    else {
                        continue;
                    };
                    let is_of_component = key.value.ends_with("-arg");
                    let lost: Vec<String> = before
                        .into_iter()
                        .filter(|item| !items.contains(item))
                        .filter(|item| !is_of_component || is_needed(item) || !is_meant(item, &items))
                        .collect();
                    if lost.is_empty() {
                        continue;
                    }
                    let is_bad = key.value == "kubelet-arg" && lost.iter().any(|item| is_needed(item));
                    let severity = if is_bad { Severity::Error } else { Severity::Warning };
                    let message = format!(
                        "`{}` for machines of {names} replaces the one at line {}: `{}` is lost",
                        text::printable(&key.value),
                        place.line,
                        text::list(&names_of(&lost), 3)
                    );
                    let fix = "repeat in this list the arguments of the other one that must stay";
                    let violation =
                        on(&document.name, severity, &key.place, &format!("{} {names}", key.value), message, fix);
                    found.entry(key.place).or_insert(violation);
                }
            }
        }
        found.into_values().collect()
    })
}

/// True if an argument makes the kubelet wait for the cloud controller, or names its instance.
fn is_needed(item: &str) -> bool {
    let item = item.trim_start_matches('-');
    item.starts_with("cloud-provider=external") || item.starts_with("provider-id=")
}

/// True if an argument is dropped on purpose: it has another value here, or belongs to the provider that was part of
/// Kubernetes.
fn is_meant(item: &str, items: &[String]) -> bool {
    let name = |item: &str| item.split('=').next().unwrap_or_default().trim_start_matches('-').to_owned();
    let of_old = ["cloud-config", "enable-leader-migration", "external-cloud-volume-plugin"];
    let is_external = items.iter().any(|item| item.trim_start_matches('-') == "cloud-provider=external");
    items.iter().any(|other| name(other) == name(item)) || is_external && of_old.contains(&name(item).as_str())
}

/// Lost arguments for display: without values, which may be anything, except those of the provider.
fn names_of(lost: &[String]) -> Vec<String> {
    let told = |item: &String| match item.split_once('=') {
        Some((name, _)) if !name.trim_start_matches('-').starts_with("cloud-provider") => name.to_owned(),
        _ => item.clone(),
    };
    lost.iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    machineGlobalConfig:
      kubelet-arg:
      - cloud-provider=external
    machineSelectorConfig:
    - config:
        kubelet-arg: []
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "        kubelet-arg: []", "        kube-apiserver-arg: []");
    }
}
