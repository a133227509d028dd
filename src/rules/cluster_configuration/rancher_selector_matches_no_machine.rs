use crate::kubernetes::DocumentKind;
use crate::kubernetes::arguments::{machines, selector_matches};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-selector-matches-no-machine",
    title: "settings are for machines that do not exist",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "The selector of a `machineSelectorConfig` entry matches no machine: only the labels `rke.cattle.io/etcd-role`, `…/control-plane-role` and `…/worker-role` are set to `true` there, as a string. Machines have other labels as well, but an entry that names a role by another label, or as a boolean, matches none.",
    impact: "the settings reach no machine, and nothing reports it",
    fix: "Select by `rke.cattle.io/control-plane-role`, and write `'true'` in quotation marks.",
    sources: &["rancher/rancher pkg/capr/planner/config.go#addUserConfig"],
    example: "the selector by node-role.kubernetes.io/control-plane matches no machine",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherCluster, |document| {
        let Some(config) = document.object().at(&["spec", "rkeConfig"]) else { return Vec::new() };
        let sets = machines(config);
        let entries = config.items(&["machineSelectorConfig"]).enumerate();
        let found = entries.filter_map(|(index, entry)| {
            let by_labels = entry.members(&["machineLabelSelector", "matchLabels"]).map(|(key, _)| key);
            let by_expressions = entry
                .items(&["machineLabelSelector", "matchExpressions"])
                .filter_map(|expression| expression.located(&["key"]));
            let keys: Vec<_> = by_labels.chain(by_expressions).collect();
            // Custom labels of machines are not known here.
            let is_of_roles = |key: &str| key.contains("node-role.kubernetes.io/") || key.starts_with("rke.cattle.io/") && key.ends_with("-role");
            let named = keys.iter().find(|key| is_of_roles(&key.value))?;
            if sets.iter().any(|machines| selector_matches(entry, &machines.labels)) {
                return None;
            }
            let message = format!("the selector by {} matches no machine", text::printable(&named.value));
            let fix = "select by `rke.cattle.io/control-plane-role`, `…/etcd-role` or `…/worker-role`, each with the string `'true'`, for existing pools";
            Some(on(&document.name, Severity::Warning, &named.place, &index.to_string(), message, fix))
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
    - machineLabelSelector:
        matchLabels:
          node-role.kubernetes.io/worker: 'true'
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "node-role.kubernetes.io/worker:", "rke.cattle.io/worker-role:");
    }
}
