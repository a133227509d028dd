use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{of_each, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-chart-values-unknown",
    title: "values are given to a chart that is not there",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`chartValues` of a Rancher cluster names a cloud controller other than those that RKE2 brings along (`rancher-vsphere-cpi`, `harvester-cloud-provider`). The AWS cloud controller is none of them.",
    impact: "the values reach nothing, and nothing says so",
    fix: "Install the chart of the AWS cloud controller with `additionalManifest`, with its values in `valuesContent`.",
    sources: &["rancher/rke2 charts/chart_versions.yaml"],
    example: "`chartValues` has values for `aws-cloud-controller-manager`, which RKE2 does not bring along",
    ..Rule::evidence(AWS, check)
};

/// Cloud providers that RKE2 brings along.
const BUNDLED: [&str; 2] = ["rancher-vsphere-cpi", "harvester-cloud-provider"];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    of_each(context, DocumentKind::RancherCluster, |document| {
        let is_controller = |name: &str| {
            ["cloud-provider", "cloud-controller", "aws-ccm"].iter().any(|part| name.contains(part))
                && !BUNDLED.contains(&name)
        };
        let values = document.object().members(&["spec", "rkeConfig", "chartValues"]);
        let unknown = values.filter(|(key, _)| is_controller(&key.value)).map(|(key, _)| {
            let shown = text::printable(&key.value);
            let message = format!("`chartValues` has values for `{shown}`, which RKE2 does not bring along");
            let fix = "install the chart with `additionalManifest`, and put the values into its `valuesContent`";
            on(&document.name, Severity::Warning, &key.place, &key.value, message, fix)
        });
        unknown.collect()
    })
}
