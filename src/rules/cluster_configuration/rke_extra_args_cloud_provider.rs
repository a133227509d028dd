use crate::kubernetes::{DocumentKind, rke_part};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rke-extra-args-cloud-provider",
    title: "RKE sets the cloud provider twice",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`extra_args` of a service in `cluster.yml` has `cloud-provider` with another value than `cloud_provider.name` sets.",
    impact: "the extra argument wins for that component only, and the components disagree",
    fix: "Set it once, with `cloud_provider.name`.",
    sources: &["rancher/rke cluster/plan.go"],
    example: "`services.kubelet.extra_args` has `cloud-provider=external` in addition to `cloud_provider.name: external-aws`",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RkeCluster, |document| {
        let cluster = rke_part(document);
        let Some(name) = cluster.text(&["cloud_provider", "name"]).filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for service in ["kubelet", "kube-api", "kube-controller"] {
            for (key, value) in cluster.members(&["services", service, "extra_args"]) {
                if key.value != "cloud-provider" {
                    continue;
                }
                let value = value.scalar().unwrap_or_default();
                // `external-aws` gives the components `external`.
                if name.starts_with(&value) && !value.is_empty() {
                    continue;
                }
                let message = format!(
                    "`services.{service}.extra_args` has `cloud-provider={}` in addition to `cloud_provider.name: {}`",
                    text::printable(&value),
                    text::printable(name)
                );
                let fix = "remove it from `extra_args`";
                found.push(on(&document.name, Severity::Warning, &key.place, service, message, fix));
            }
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud_provider:
  name: external-aws
services:
  kubelet:
    extra_args:
      cloud-provider: aws
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "cloud-provider: aws", "cloud-provider: external");
    }
}
