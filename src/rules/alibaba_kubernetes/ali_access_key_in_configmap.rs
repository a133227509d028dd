use crate::kubernetes::DocumentKind;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use crate::kubernetes::alibaba_cloud_config::{CloudConfig, cloud_config, is_placeholder_of_key};

pub(super) const RULE: Rule = Rule {
    id: "ali-access-key-in-configmap",
    title: "a ConfigMap holds an access key",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A ConfigMap has both parts of an access key for the cloud controller: `special.keyid` and `special.keysecret`, or `accessKeyID` and `accessKeySecret` of `cloud-config.conf`. The values are not shown.",
    impact: "anyone who can read ConfigMaps in kube-system has the key, and with it the permissions of its RAM user",
    fix: "Give the nodes a RAM role and remove the key; until then, keep it in a Secret. Then rotate the key: this one is exposed.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud docs/getting-started.md",
        "kube-linter, check `configmap-with-credentials`",
    ],
    example: "ConfigMap kube-system/cloud-config has an access key",
    is_about_security: true,
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let maps: Vec<_> = context.evidence.documents_by_kind(DocumentKind::ConfigMap).collect();
    if maps.is_empty() {
        return CheckResult::not_applicable("no ConfigMap was given");
    }
    let found = maps.iter().filter_map(|map| {
        let object = map.object();
        let by_key = object.members(&["data"]).find(|(key, value)| {
            ["special.keyid", "special.keysecret"].contains(&key.value.as_str())
                && value.node.as_str().is_some_and(|value| !value.is_empty() && !is_placeholder_of_key(value))
        });
        let in_config = || cloud_config(map).filter(CloudConfig::has_key).map(|config| config.place);
        let place = by_key.map(|(key, _)| key.place).or_else(in_config)?;
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
        let message = format!("{} has an access key", text::printable(&map.name));
        let fix = Fix::none("give the nodes a RAM role, remove the key, and rotate it: this one is exposed");
        Some(Violation::new(Severity::Error, resource, message, fix).at(&place))
    });
    CheckResult::counted(maps.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
kind: ConfigMap
metadata:
  name: cloud-config
data:
  cloud-config.conf: '{"Global": {"clusterID": "prod", "accessKeyID": "TFRBSQ==", "accessKeySecret": "bm90"}}'
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        let keys =
            "kind: ConfigMap\nmetadata: {name: cloud-config}\ndata: {special.keyid: TFRBSQ, special.keysecret: bm90}\n";
        lint::fires(&RULE, keys);
        lint::silent(&RULE, keys, "TFRBSQ, special.keysecret: bm90", "xxxxxxxx, special.keysecret: xxxxxxxx");
        lint::silent(&RULE, DEFECT, ", \"accessKeyID\": \"TFRBSQ==\", \"accessKeySecret\": \"bm90\"", "");
    }
}
