use crate::kubernetes::{Document, DocumentKind};
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::on;

pub(super) const RULE: Rule = Rule {
    id: "embedded-manifest-malformed",
    title: "embedded YAML in a configuration cannot be read",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`additionalManifest` of a Rancher cluster, `addons` of RKE, or a key of a ConfigMap is not YAML, or holds an invalid object. `valuesContent` of a HelmChart is a map instead of a string.",
    impact: "nothing in the text is applied, or the chart is installed without the values",
    fix: "Correct the text at the reported place. Tabs do not indent, and a block begins with `|`.",
    sources: &[
        "rancher/rancher pkg/capr/planner/config.go#addUserConfig",
        "k3s-io/helm-controller pkg/apis/helm.cattle.io/v1/types.go",
    ],
    example: "the text in Cluster fleet-default/prod cannot be read: not YAML: did not find expected key",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let charts: Vec<&Document> = evidence
        .documents
        .iter()
        .filter(|one| matches!(one.kind, DocumentKind::HelmChart | DocumentKind::HelmChartConfig))
        .collect();
    let hosts = evidence.documents.iter().filter(|one| {
        matches!(one.kind, DocumentKind::RancherCluster | DocumentKind::RkeCluster | DocumentKind::ConfigMap)
    });
    let checked = hosts.count() + charts.len();
    if checked == 0 {
        return CheckResult::not_applicable("no configuration with a manifest in it was given");
    }
    let mut found: Vec<Violation> = evidence
        .malformed
        .iter()
        .map(|one| {
            let message = format!(
                "the text in {} cannot be read: {}",
                text::printable(&one.document),
                text::printable(&one.reason)
            );
            let fix = "correct the text at this place";
            on(&one.document, Severity::Error, &one.place, "malformed", message, fix)
        })
        .collect();
    for chart in charts {
        let Some(values) = chart.object().at(&["spec", "valuesContent"]) else { continue };
        let why = match (values.node.as_str(), chart.source.inner(values.node)) {
            (None, _) => "is a map, not a string".to_owned(),
            (Some(_), Some(inner)) => match inner.documents() {
                Ok(_) => continue,
                Err(error) => format!("is not YAML: {} at line {}", text::printable(&error.reason), error.line),
            },
            (Some(_), None) => continue,
        };
        let message = format!("`valuesContent` of {} {why}", text::printable(&chart.name));
        found.push(on(
            &chart.name,
            Severity::Error,
            &values.place(),
            "valuesContent",
            message,
            "write it as a block: `valuesContent: |`",
        ));
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
spec:
  rkeConfig:
    additionalManifest: "apiVersion: v1\n\tname: tab"
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\\n\\tname", "\\nkind");
    }
}
