use crate::kubernetes::DocumentKind;
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

use super::ali_cloud_config_content::cloud_config;

pub(super) const RULE: Rule = Rule {
    id: "ali-access-key-in-configmap",
    title: "an access key lies in a ConfigMap",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A ConfigMap has the pair of an access key for the cloud controller: `special.keyid` and `special.keysecret`, or `accessKeyID` and `accessKeySecret` of `cloud-config.conf`. The values are not shown.",
    impact: "whoever may read ConfigMaps of kube-system has the key, and with it what its RAM user may do",
    fix: "Give the nodes a RAM role, and take the key out; until then put it into a Secret. Then make a new key: this one has been read.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud docs/getting-started.md",
        "kube-linter, check `configmap-with-credentials`",
    ],
    example: "ConfigMap kube-system/cloud-config has an access key",
    ..Rule::evidence(ALIBABA, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let maps: Vec<_> = context.evidence.documents_of(DocumentKind::ConfigMap).collect();
    if maps.is_empty() {
        return CheckResult::not_applicable("no ConfigMap was given");
    }
    let found = maps.iter().filter_map(|map| {
        let object = map.object();
        let by_key = object.members(&["data"]).find(|(key, value)| {
            ["special.keyid", "special.keysecret"].contains(&key.value.as_str())
                && value.node.as_str().is_some_and(|value| !value.is_empty() && !value.starts_with(['$', '<', '{']))
        });
        let in_config = || cloud_config(map).filter(|config| config.has_key).map(|config| config.place);
        let place = by_key.map(|(key, _)| key.place).or_else(in_config)?;
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
        let message = format!("{} has an access key", text::printable(&map.name));
        let fix = Fix::none("give the nodes a RAM role, take the key out, and make a new one: this one has been read");
        Some(Violation::new(Severity::Error, resource, message, fix).at(&place))
    });
    CheckResult::counted(maps.len(), found)
}
