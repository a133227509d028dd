use crate::rules::AWS;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "helm-chart-not-bootstrap",
    title: "the chart of the cloud controller waits for that controller",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A HelmChart of the AWS cloud controller lacks `bootstrap: true`.",
    impact: "on a new cluster its install job is not scheduled: the nodes have the taint that only the cloud controller removes",
    fix: "Set `bootstrap: true` in its `spec`.",
    sources: &[
        "https://github.com/k3s-io/k3s/issues/1807",
        "k3s-io/helm-controller pkg/controllers/chart/chart.go#job",
    ],
    example: "HelmChart kube-system/aws-cloud-controller-manager lacks `bootstrap: true`",
    migration: Some(Prerequisite::Controller),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let charts = context.evidence.controllers().iter().filter_map(|controller| controller.chart.as_ref());
    let charts: Vec<_> = charts.filter_map(|chart| Some((chart, chart.is_bootstrap?))).collect();
    if charts.is_empty() {
        return CheckResult::not_applicable("no HelmChart of the cloud controller was given");
    }
    let found = charts.iter().filter(|(_, is_bootstrap)| !is_bootstrap).map(|(chart, _)| {
        let message = format!("{} lacks `bootstrap: true`", text::printable(&chart.name));
        on(&chart.name, Severity::Warning, &chart.place, "bootstrap", message, "set `bootstrap: true` in its `spec`")
    });
    CheckResult::counted(charts.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kind: HelmChart
apiVersion: helm.cattle.io/v1
spec:
  chart: aws-cloud-controller-manager
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "spec:\n", "spec:\n  bootstrap: true\n");
    }
}
