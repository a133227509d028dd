use crate::kubernetes::alibaba_cloud_config::{AccessKey, CloudConfig, KEYS, cloud_config};
use crate::kubernetes::{Document, DocumentKind, Evidence, Place};
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-content",
    title: "the cloud configuration is invalid",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning without `clusterID` or for a key of a later version, info for an unknown key",
    ),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud-config.conf` of a ConfigMap is neither JSON nor YAML, has a misspelt key under `Global`, a value that is not of the type of its key (a number or a truth value in quotation marks), half of an access key, one that is not in Base64, or, in a live cluster, the placeholder of a manifest. A key that only later versions of the controller have is a warning, any other unknown key info. Without `clusterID` it is a warning: load balancers are then tagged with `clusterid`, like those of every such cluster.",
    impact: "the setting has no effect, or the controller does not start; without `clusterID`, load balancers of several clusters carry the same cluster id",
    fix: "Correct the key; name the cluster with `clusterID`.",
    sources: &[
        "kubernetes/cloud-provider-alibaba-cloud pkg/config/cloud_config.go",
        "kubernetes/cloud-provider-alibaba-cloud pkg/provider/alibaba/base/token.go#LoadAK",
    ],
    example: "unknown key `vpcId` in the cloud configuration",
    ..Rule::evidence(ALIBABA, check)
};

/// Impact of a configuration without `clusterID`.
/// Source: kubernetes/cloud-provider-alibaba-cloud `pkg/provider/alibaba/base/metadata.go#ClusterID`.
const WITHOUT_ID: &str = "load balancers are tagged with `clusterid`, like those of every cluster without the setting";

/// True if a cloud configuration is one for AWS, which has sections in brackets.
fn is_of_aws(map: &Document, evidence: &Evidence) -> bool {
    // The namespace of a controller of Alibaba Cloud has a configuration for it.
    let namespace = map.object().text(&["metadata", "namespace"]).unwrap_or_default();
    if evidence.alibaba_controllers().any(|one| one.workload.namespace == namespace) {
        return false;
    }
    let text = map.object().text(&["data", "cloud-config.conf"]).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    lines.next().is_some_and(|line| line.starts_with('[') && line.ends_with(']') && !line.contains('"'))
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let maps = context.evidence.documents_by_kind(DocumentKind::ConfigMap);
    // A template or a variable may make the whole of it.
    let is_open = |map: &Document| {
        let text = map.object().text(&["data", "cloud-config.conf"]).unwrap_or_default().trim();
        text.starts_with("${") || text.starts_with("{{")
    };
    let is_one = |map: &&Document| {
        map.object().at(&["data", "cloud-config.conf"]).is_some() && !is_of_aws(map, context.evidence) && !is_open(map)
    };
    let maps: Vec<_> = maps.filter(is_one).collect();
    if maps.is_empty() {
        return CheckResult::not_applicable("no ConfigMap with `cloud-config.conf` was given");
    }
    // AWS also has a file with this name, in another format.
    let version = context.evidence.alibaba_controllers().filter_map(|one| one.version).min();
    let is_beside_aws = context.evidence.aws_controllers().next().is_some();
    let mut found = Vec::new();
    for map in maps.iter().filter(|_| !is_beside_aws) {
        let mut add =
            |(severity, impact): (Severity, Option<&str>), place: &Place, what: &str, message: String, fix: String| {
                let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
                let violation =
                    Violation::new(severity, resource, message, Fix::none(fix)).at(place).with_respect_to(what);
                found.push(violation.impact(impact.map(str::to_owned)));
            };
        let Some(CloudConfig { place, access_key, unknown, settings, cluster_id, .. }) = cloud_config(map) else {
            let place = map.object().head();
            let message = "`cloud-config.conf` is neither JSON nor YAML with `Global`".to_owned();
            let fix = "write a JSON object with `Global`, in which the settings are".to_owned();
            add((Severity::Error, None), &place, "malformed", message, fix);
            continue;
        };
        if access_key == AccessKey::Half {
            let message = "`cloud-config.conf` has half of an access key".to_owned();
            add(
                (Severity::Error, None),
                &place,
                "key",
                message,
                "remove it: a RAM role of the nodes needs no key".to_owned(),
            );
        }
        if access_key == AccessKey::Placeholder {
            let message = "`cloud-config.conf` has the placeholder of a manifest as its access key".to_owned();
            let fix = "remove it: a RAM role of the nodes needs no key; or fill in both parts, in Base64";
            add((Severity::Error, None), &place, "placeholder", message, fix.to_owned());
        }
        if access_key == AccessKey::Plain {
            let message = "the access key in `cloud-config.conf` is not in Base64".to_owned();
            let fix = "remove it: a RAM role of the nodes needs no key; or encode both parts, without a line break";
            add((Severity::Error, None), &place, "encoding", message, fix.to_owned());
        }
        for key in unknown {
            let nearest = text::most_alike(&key.value, KEYS.iter().map(|known| known.name), 0.9);
            let message = format!("unknown key `{}` in the cloud configuration", text::printable(&key.value));
            // A key that is in no table may belong to a later version.
            let severity = if nearest.is_some() { Severity::Error } else { Severity::Info };
            let fix = nearest.map_or_else(
                || "check it against the version of the controller".to_owned(),
                |nearest| format!("write `{nearest}`"),
            );
            add((severity, None), &key.place, &key.value, message, fix);
        }
        for setting in settings {
            let name = text::printable(&setting.name.value);
            if setting.is_of_other_type {
                let message = format!("`{name}` in the cloud configuration is not {}", setting.key.holds.noun());
                let fix = "correct the value: the controller exits with `load cloud config error`".to_owned();
                add((Severity::Error, None), &setting.name.place, setting.key.name, message, fix);
            } else if let Some((since, version)) =
                setting.key.since.zip(version).filter(|(since, version)| version < since)
            {
                let message = format!(
                    "`{name}` in the cloud configuration has no effect in version {version}: it exists since {since}"
                );
                let fix = "remove it, or upgrade the controller".to_owned();
                let impact = Some("the controller runs as if the key were not there");
                add((Severity::Warning, impact), &setting.name.place, setting.key.name, message, fix);
            }
        }
        if cluster_id.is_none() {
            let message = "`cloud-config.conf` has no `clusterID`".to_owned();
            add(
                (Severity::Warning, Some(WITHOUT_ID)),
                &place,
                "clusterID",
                message,
                "name the cluster with `clusterID` in `Global`".to_owned(),
            );
        }
    }
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
  namespace: kube-system
data:
  cloud-config.conf: '{"Global": {"vpcid": "vpc-bp1"}}'
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        // A key itself has the characters of Base64, but decodes to no text.
        let keys = r#""clusterID": "prod", "accessKeyID": "LTAI5tABCDEFGHIJKLMNOPQR", "accessKeySecret": "bm90","#;
        lint::fires(&RULE, &DEFECT.replace(r#""vpcid""#, &format!(r#"{keys} "vpcid""#)));
        let placeholder = DEFECT.replace(r#""vpcid""#, PLACEHOLDER);
        lint::fires(&RULE, &placeholder.replace("  name:", "  uid: 11111111-2222-3333-4444-555555555555\n  name:"));
    }

    const PLACEHOLDER: &str = r#""clusterID": "prod", "accessKeyID": "$your-AccessKeyID-base64", "accessKeySecret": "$your-AccessKeySecret-base64", "vpcid""#;

    #[test]
    fn values_are_of_the_type_of_their_key() {
        let with = |text: &str| DEFECT.replace("\"vpcid\"", &format!("\"clusterID\": \"prod\", {text}, \"vpcid\""));
        for text in [
            r#""disablePublicSLB": "true""#,
            r#""serviceMaxConcurrentReconciles": "5""#,
            r#""nodeMonitorPeriod": true"#,
            r#""vswitchid": ["vsw-1"]"#,
        ] {
            lint::fires(&RULE, &with(text));
        }
        for text in [
            r#""disablePublicSLB": true"#,
            r#""serviceMaxConcurrentReconciles": 5"#,
            r#""nodeMonitorPeriod": null"#,
            r#""region": 5"#,
        ] {
            lint::silent(&RULE, &with(text), "prod", "prod");
        }
    }

    #[test]
    fn keys_of_later_versions_have_no_effect() {
        let with = |version: &str| {
            let controller = "---\nkind: DaemonSet\nmetadata:\n  name: cloud-controller-manager\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      containers:\n      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:VERSION\n";
            let key = r#""clusterID": "prod", "resourceGroupID": "rg-1", "vpcid""#;
            DEFECT.replace("\"vpcid\"", key) + &controller.replace("VERSION", version)
        };
        lint::fires(&RULE, &with("v2.8.0"));
        lint::silent(&RULE, &with("v2.9.1"), "prod", "prod");
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "\"vpcid\"", "\"clusterID\": \"prod\", \"vpcid\"");
        lint::silent(&RULE, DEFECT, "\"vpcid\"", "\"clusterID\": 123, \"vpcid\"");
        let keys = r#""clusterID": "prod", "accessKeyID": "TFRBSQ==", "accessKeySecret": "bm90", "vpcid""#;
        lint::silent(&RULE, DEFECT, "\"vpcid\"", keys);
    }
}
