use crate::kubernetes::DocumentKind;
use crate::kubernetes::images::{covers, pattern_for, private_ecr_host};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NOTHING_PULLED, on, pulled_with_the_kubelets_credentials};

pub(super) const RULE: Rule = Rule {
    id: "ecr-config-does-not-match",
    title: "the kubelet has no image credentials for a registry in use",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A workload without `imagePullSecrets` pulls from a private ECR registry that no pattern in `matchImages` of the `CredentialProviderConfig` covers: each `*` matches a part of a host name between two dots, so `*.dkr.ecr.*.amazonaws.com` covers neither China nor FIPS. With several configurations, one of them must cover it. A ServiceAccount with secrets counts if it was given; none are read from a live cluster.",
    impact: "the image is pulled without credentials and refused (`no basic auth credentials`)",
    fix: "Add a pattern for the registry.",
    sources: &[
        "kubernetes/kubernetes pkg/credentialprovider/keyring.go#URLsMatch",
        "kubernetes/cloud-provider-aws cmd/ecr-credential-provider/main.go",
    ],
    example: "no pattern covers 111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn, from which Deployment shop/web pulls",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let configurations = context.evidence.documents_by_kind(DocumentKind::CredentialProviderConfig);
    let lists = configurations.flat_map(|document| {
        let providers = document.object().items(&["providers"]);
        providers.filter_map(move |provider| Some((document, provider.at(&["matchImages"])?)))
    });
    let lists: Vec<_> = lists.collect();
    let Some((document, list)) = lists.first() else {
        return CheckResult::not_applicable("no configuration of image credentials was given");
    };
    let patterns: Vec<&str> =
        lists.iter().flat_map(|(_, list)| list.items(&[])).filter_map(|one| one.text(&[])).collect();
    let mut hosts: Vec<&str> = Vec::new();
    let pulled = pulled_with_the_kubelets_credentials(context);
    if pulled.is_empty() {
        return CheckResult::not_applicable(NOTHING_PULLED);
    }
    let found = pulled.iter().filter_map(|(workload, image)| {
        let host = private_ecr_host(&image.value)?;
        if hosts.contains(&host) || patterns.iter().any(|pattern| covers(pattern, &image.value)) {
            return None;
        }
        hosts.push(host);
        let message = format!(
            "no pattern covers {}, from which {} pulls",
            text::printable(host),
            text::printable(&workload.full_name())
        );
        let fix = format!("add `{}` to `matchImages`", pattern_for(host));
        Some(on(&document.name, Severity::Warning, &list.place(), host, message, fix))
    });
    CheckResult::counted(pulled.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: CredentialProviderConfig
apiVersion: kubelet.config.k8s.io/v1
providers:
- name: ecr-credential-provider
  matchImages: ["*.dkr.ecr.*.amazonaws.com"]
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
---
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - image: 111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/web:1
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\"]", "\", \"*.dkr.ecr.*.amazonaws.com.cn\"]");
    }
}
