use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-chart-values-unknown",
    title: "values are set for a chart that does not exist",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`chartValues` of a Rancher cluster names a cloud controller that RKE2 does not bundle. RKE2 bundles `rancher-vsphere-cpi` and `harvester-cloud-provider`, but not the AWS cloud controller.",
    impact: "the values have no effect, and nothing reports it",
    fix: "Install the chart of the AWS cloud controller with `additionalManifest`, with its values in `valuesContent`.",
    sources: &["rancher/rke2 charts/chart_versions.yaml"],
    example: "`chartValues` has values for `aws-cloud-controller-manager`, which RKE2 does not bundle",
    ..Rule::evidence(AWS, check)
};

/// Cloud providers that RKE2 bundles.
const BUNDLED: [&str; 2] = ["rancher-vsphere-cpi", "harvester-cloud-provider"];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherCluster, |document| {
        let is_controller = |name: &str| {
            ["cloud-provider", "cloud-controller", "aws-ccm"].iter().any(|part| name.contains(part))
                && !BUNDLED.contains(&name)
        };
        let values = document.object().members(&["spec", "rkeConfig", "chartValues"]);
        let unknown = values.filter(|(key, _)| is_controller(&key.value)).map(|(key, _)| {
            let shown = text::printable(&key.value);
            let message = format!("`chartValues` has values for `{shown}`, which RKE2 does not bundle");
            let fix = "install the chart with `additionalManifest`, and put the values in its `valuesContent`";
            on(&document.name, Severity::Warning, &key.place, &key.value, message, fix)
        });
        unknown.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
spec:
  rkeConfig:
    chartValues:
      aws-cloud-controller-manager: {}
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "aws-cloud-controller-manager", "rancher-vsphere-cpi");
    }
}
