use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "helm-chart-unknown",
    title: "a HelmChart names a chart that its repository does not have",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`spec.chart` of a HelmChart resembles, but does not match, the name of the chart in its repository, or the repository belongs to another chart. The known repositories are those of the AWS cloud controller, the EBS and EFS CSI drivers, the cluster autoscaler, external-dns and the AWS Load Balancer Controller; other names and repositories are skipped.",
    impact: "the install job fails (`chart \"…\" not found in … repository`), and the controller is not installed",
    fix: "Correct the name or the repository.",
    sources: &[
        "kubernetes/cloud-provider-aws charts/aws-cloud-controller-manager/Chart.yaml",
        "kubernetes-sigs/aws-ebs-csi-driver charts/aws-ebs-csi-driver/Chart.yaml",
        "kubernetes-sigs/aws-efs-csi-driver charts/aws-efs-csi-driver/Chart.yaml",
        "kubernetes/autoscaler charts/cluster-autoscaler/Chart.yaml",
        "kubernetes-sigs/external-dns charts/external-dns/Chart.yaml",
        "aws/eks-charts stable/aws-load-balancer-controller/Chart.yaml",
    ],
    example: "HelmChart kube-system/aws-cloud-controller-manager names the chart `aws-cloud-controler-manager`, which https://kubernetes.github.io/cloud-provider-aws does not have",
    ..Rule::evidence(AWS, check)
};

/// Repositories and the charts of controllers in them.
const CHARTS: [(&str, &str); 7] = [
    ("https://kubernetes.github.io/cloud-provider-aws", "aws-cloud-controller-manager"),
    ("https://kubernetes-sigs.github.io/aws-ebs-csi-driver", "aws-ebs-csi-driver"),
    ("https://kubernetes-sigs.github.io/aws-efs-csi-driver", "aws-efs-csi-driver"),
    ("https://kubernetes.github.io/autoscaler", "cluster-autoscaler"),
    ("https://kubernetes.github.io/autoscaler", "cluster-autoscaler-chart"),
    ("https://kubernetes-sigs.github.io/external-dns", "external-dns"),
    ("https://aws.github.io/eks-charts", "aws-load-balancer-controller"),
];

/// Least similarity of a misspelt name.
const MIN_SIMILARITY: f64 = 0.9;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::HelmChart, |document| {
        let object = document.object();
        let text = |key: &str| object.text(&["spec", key]).unwrap_or_default();
        let (chart, repository) = (text("chart"), text("repo").trim_end_matches('/'));
        // A path, a URL, or a repository that the job knows by name.
        let has_content = object.at(&["spec", "chartContent"]).is_some();
        if chart.is_empty() || repository.is_empty() || chart.contains('/') || has_content {
            return Vec::new();
        }
        let by_name = CHARTS.iter().find(|(_, name)| *name == chart);
        let fix = match (CHARTS.iter().find(|(url, _)| *url == repository), by_name) {
            // A mirror, or the right one.
            (None, _) => None,
            (Some((url, _)), Some((own, _))) => (url != own).then(|| format!("set `repo` to {own}")),
            (Some((_, name)), None) => {
                text::most_alike(chart, [*name], MIN_SIMILARITY).map(|name| format!("set `chart` to `{name}`"))
            }
        };
        let found = fix.map(|fix| {
            let message = format!(
                "{} names the chart `{}`, which {} does not have",
                text::printable(&document.name),
                text::printable(chart),
                text::printable(repository)
            );
            let place = object.at(&["spec", "chart"]).map_or_else(|| object.place(), crate::kubernetes::Object::place);
            on(&document.name, Severity::Warning, &place, chart, message, fix)
        });
        found.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata:
  name: ccm
  namespace: kube-system
spec:
  chart: aws-cloud-controler-manager
  repo: https://kubernetes.github.io/cloud-provider-aws
  bootstrap: true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        lint::fires(&RULE, &DEFECT.replace("aws-cloud-controler-manager", "aws-ebs-csi-driver"));
        lint::fires(&RULE, &DEFECT.replace("controler", "controller").replace("manager\n  repo", "manger\n  repo"));
    }

    #[test]
    fn silent() {
        for chart in
            ["aws-cloud-controller-manager", "something-else", "oci://example.com/charts/aws-cloud-controler-manager"]
        {
            lint::silent(&RULE, DEFECT, "aws-cloud-controler-manager", chart);
        }
        lint::silent(&RULE, DEFECT, "https://kubernetes.github.io/cloud-provider-aws", "https://charts.example.com");
    }
}
