use crate::kubernetes::DocumentKind;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use crate::kubernetes::alibaba_cloud_config::{CloudConfig, cloud_config, is_crossed_out};

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
    let is_open = |value: &str| value.starts_with(['$', '<', '{']);
    let found = maps.iter().filter_map(|map| {
        let object = map.object();
        let by_key = object.members(&["data"]).find(|(key, value)| {
            ["special.keyid", "special.keysecret"].contains(&key.value.as_str())
                && value.node.as_str().is_some_and(|value| !value.is_empty() && !is_open(value))
        });
        // A manifest in which the key was crossed out has its place for one.
        let is_crossed_out = by_key.as_ref().is_some_and(|(_, value)| value.node.as_str().is_some_and(is_crossed_out));
        let in_config = || cloud_config(map).filter(CloudConfig::has_key).map(|config| config.place);
        let place = by_key.map(|(key, _)| key.place).or_else(in_config)?;
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
        let (verb, fix) = if is_crossed_out {
            ("is written for an access key", "give the nodes a RAM role, or keep the key in a Secret")
        } else {
            ("has an access key", "give the nodes a RAM role, remove the key, and rotate it: this one is exposed")
        };
        let message = format!("{} {verb}", text::printable(&map.name));
        let fix = Fix::none(fix);
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
    fn a_manifest_with_a_key_that_was_crossed_out_is_written_for_one() {
        let keys = "kind: ConfigMap\nmetadata: {name: cloud-config}\ndata: {special.keyid: xxxxxxxx, special.keysecret: xxxxxxxx}\n";
        let (found, _) = lint::outcome(&RULE, keys);
        assert_eq!(found[0].message, "ConfigMap cloud-config is written for an access key");
    }

    #[test]
    fn silent() {
        let keys =
            "kind: ConfigMap\nmetadata: {name: cloud-config}\ndata: {special.keyid: TFRBSQ, special.keysecret: bm90}\n";
        lint::fires(&RULE, keys);
        lint::silent(&RULE, keys, "special.keyid: TFRBSQ, special.keysecret: bm90", "special.clusterid: TFRBSQ");
        lint::silent(&RULE, DEFECT, ", \"accessKeyID\": \"TFRBSQ==\", \"accessKeySecret\": \"bm90\"", "");
    }
}
