use crate::kubernetes::{DocumentKind, Place};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "ecr-config-invalid",
    title: "the kubelet cannot read its image credentials",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A `CredentialProviderConfig` is not in the group `kubelet.config.k8s.io`, or has no providers. Or a provider lacks `matchImages`, `defaultCacheDuration`, or an `apiVersion` of `credentialprovider.kubelet.k8s.io`, has a path as its name, or is listed twice.",
    impact: "the kubelet does not start, or pulls no image from a private registry",
    fix: "Correct the reported place.",
    sources: &[
        "kubernetes/kubernetes pkg/credentialprovider/plugin/config.go#validateCredentialProviderConfig",
        r#"Kubernetes documentation, "Configure a kubelet image credential provider""#,
    ],
    example: "the provider `ecr-credential-provider` lacks `defaultCacheDuration`",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::CredentialProviderConfig, |document| {
        let object = document.object();
        let mut found = Vec::new();
        let mut add = |place: &Place, what: &str, message: String, fix: &str| {
            found.push(on(&document.name, Severity::Error, place, what, message, fix));
        };
        const VERSIONS: &str =
            "write `apiVersion: kubelet.config.k8s.io/v1` (from 1.26), `v1beta1` (from 1.24) or `v1alpha1` (from 1.20)";
        match object.located(&["apiVersion"]) {
            None => add(&object.head(), "apiVersion", "the configuration has no `apiVersion`".to_owned(), VERSIONS),
            Some(version)
                if !["v1", "v1beta1", "v1alpha1"]
                    .iter()
                    .any(|one| version.value == format!("kubelet.config.k8s.io/{one}")) =>
            {
                let message = format!("`{}` is not a version of this configuration", text::printable(&version.value));
                add(&version.place, "apiVersion", message, VERSIONS);
            }
            Some(_) => {}
        }
        if object.text(&["kind"]) != Some("CredentialProviderConfig") {
            let message = "the configuration has no `kind: CredentialProviderConfig`".to_owned();
            add(&object.head(), "kind", message, "write `kind: CredentialProviderConfig`");
        }
        if object.items(&["providers"]).next().is_none() {
            add(
                &object.head(),
                "providers",
                "the configuration lists no provider".to_owned(),
                "list one in `providers`",
            );
        }
        let mut names: Vec<String> = Vec::new();
        for provider in object.items(&["providers"]) {
            let name = provider.text(&["name"]).unwrap_or_default();
            let shown = text::printable(name);
            let place = provider.head();
            if name.is_empty() || name.contains(['/', ' ', '\\']) || name == "." || name == ".." {
                let message = format!("`{shown}` is not a valid provider name");
                add(&place, "name", message, "write the file name of the program, without a path");
            }
            if names.iter().any(|known| known == name) {
                add(
                    &place,
                    "twice",
                    format!("the provider `{shown}` is listed twice"),
                    "list it once, with all its `matchImages`",
                );
            }
            names.push(name.to_owned());
            if provider.items(&["matchImages"]).next().is_none() {
                let message = format!("the provider `{shown}` lacks `matchImages`");
                add(&place, "matchImages", message, "add `matchImages`, such as `*.dkr.ecr.*.amazonaws.com`");
            }
            if provider.text(&["defaultCacheDuration"]).is_none() {
                let message = format!("the provider `{shown}` lacks `defaultCacheDuration`");
                add(&place, "defaultCacheDuration", message, "add `defaultCacheDuration: 12h`");
            }
            let version = provider.text(&["apiVersion"]).unwrap_or_default();
            if !["v1", "v1beta1", "v1alpha1"]
                .iter()
                .any(|one| version == format!("credentialprovider.kubelet.k8s.io/{one}"))
            {
                let message = format!("the provider `{shown}` has the invalid version `{}`", text::printable(version));
                add(&place, "provider version", message, "write `apiVersion: credentialprovider.kubelet.k8s.io/v1`");
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
kind: CredentialProviderConfig
apiVersion: kubelet.config.k8s.io/v1
providers:
- name: ecr-credential-provider
  matchImages: []
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "[]", "[\"*.dkr.ecr.*.amazonaws.com\"]");
    }
}
