use crate::controller::ControllerVersion;
use crate::kubernetes::alibaba_cloud_config::{AccessKey, KEYS, Setting, cloud_config};
use crate::kubernetes::{Document, DocumentKind, Evidence, Located, Place};
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-content",
    title: "the cloud configuration is invalid",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning if `clusterID` is missing or a key needs a later version of the controller; info for an unknown key",
    ),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud-config.conf` of a ConfigMap is neither JSON nor YAML, or has a misspelt key under `Global`, a value of the wrong type (a quoted number or boolean), only one of access key ID and secret, an access key that is not Base64, or, in a live cluster, the placeholder of a manifest as the access key. A key that only later versions of the controller have is a warning, any other unknown key info. A missing `clusterID` is a warning: the controller then tags load balancers with the default id `clusterid`, as it does in every cluster without the setting.",
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
    // A template or a variable may make the whole of it, or a value that only then is JSON or YAML.
    let is_open = |map: &Document| {
        let text = map.object().text(&["data", "cloud-config.conf"]).unwrap_or_default().trim();
        let is_template = ["${", "{{"].iter().any(|mark| text.contains(mark));
        text.starts_with("${") || text.starts_with("{{") || (is_template && cloud_config(map).is_none())
    };
    let is_one = |map: &&Document| {
        map.object().at(&["data", "cloud-config.conf"]).is_some() && !is_of_aws(map, context.evidence) && !is_open(map)
    };
    let maps: Vec<_> = maps.filter(is_one).collect();
    if maps.is_empty() {
        return CheckResult::not_applicable("no ConfigMap with `cloud-config.conf` was given");
    }
    let version = context.evidence.alibaba_controllers().filter_map(|one| one.version).min();
    // AWS also has a file with this name, in another format.
    let is_beside_aws = context.evidence.aws_controllers().next().is_some();
    let found = maps.iter().filter(|_| !is_beside_aws).flat_map(|map| defects(map, version));
    CheckResult::counted(maps.len(), found.collect::<Vec<_>>())
}

/// A finding on a configuration.
struct Defect {
    severity: Severity,
    /// What it is about, in its identity.
    about: String,
    place: Place,
    message: String,
    fix: String,
    impact: Option<&'static str>,
}

impl Defect {
    fn error(about: &str, place: &Place, message: &str, fix: &str) -> Self {
        let (about, message, fix) = (about.to_owned(), message.to_owned(), fix.to_owned());
        Self { severity: Severity::Error, about, place: place.clone(), message, fix, impact: None }
    }

    fn into_violation(self, map: &Document) -> Violation {
        let Self { severity, about, place, message, fix, impact } = self;
        let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
        let violation = Violation::new(severity, resource, message, Fix::none(fix)).at(&place);
        violation.with_respect_to(about.as_str()).impact(impact.map(str::to_owned))
    }
}

/// Everything that is wrong in the configuration of a `ConfigMap`.
fn defects(map: &Document, version: Option<ControllerVersion>) -> Vec<Violation> {
    let Some(config) = cloud_config(map) else {
        let message = "`cloud-config.conf` is neither JSON nor YAML with `Global`";
        let fix = "write a JSON object with `Global`, in which the settings are";
        return vec![Defect::error("malformed", &map.object().head(), message, fix).into_violation(map)];
    };
    let of_key = access_key(config.access_key, &config.place);
    let unknown = config.unknown.iter().map(unknown_key);
    let settings = config.settings.iter().filter_map(|setting| setting_defect(setting, version));
    let without_id = config.cluster_id.is_none().then(|| Defect {
        severity: Severity::Warning,
        impact: Some(WITHOUT_ID),
        ..Defect::error(
            "clusterID",
            &config.place,
            "`cloud-config.conf` has no `clusterID`",
            "name the cluster with `clusterID` in `Global`",
        )
    });
    of_key.into_iter().chain(unknown).chain(settings).chain(without_id).map(|one| one.into_violation(map)).collect()
}

fn access_key(key: AccessKey, place: &Place) -> Option<Defect> {
    let (about, message, fix) = match key {
        AccessKey::Half => {
            ("key", "`cloud-config.conf` has half of an access key", "remove it: a RAM role of the nodes needs no key")
        }
        AccessKey::Placeholder => (
            "placeholder",
            "`cloud-config.conf` has the placeholder of a manifest as its access key",
            "remove it: a RAM role of the nodes needs no key; or fill in both parts, in Base64",
        ),
        AccessKey::Plain => (
            "encoding",
            "the access key in `cloud-config.conf` is not in Base64",
            "remove it: a RAM role of the nodes needs no key; or encode both parts, without a line break",
        ),
        AccessKey::None | AccessKey::Encoded => return None,
    };
    Some(Defect::error(about, place, message, fix))
}

fn unknown_key(key: &Located<String>) -> Defect {
    let nearest = text::most_alike(&key.value, KEYS.iter().map(|known| known.name), 0.9);
    let message = format!("unknown key `{}` in the cloud configuration", text::printable(&key.value));
    // A key that is in no table may belong to a later version.
    let severity = if nearest.is_some() { Severity::Error } else { Severity::Info };
    let fix = nearest.map_or_else(
        || "check it against the version of the controller".to_owned(),
        |nearest| format!("write `{nearest}`"),
    );
    Defect { severity, ..Defect::error(&key.value, &key.place, &message, &fix) }
}

/// A value that Go refuses, or a key that the version does not have.
fn setting_defect(setting: &Setting, version: Option<ControllerVersion>) -> Option<Defect> {
    let (name, place, about) = (text::printable(&setting.name.value), &setting.name.place, setting.key.name);
    if setting.is_of_other_type {
        let message = format!("`{name}` in the cloud configuration is not {}", setting.key.holds.noun());
        let fix = "correct the value: the controller exits with `load cloud config error`";
        return Some(Defect::error(about, place, &message, fix));
    }
    let (since, version) = setting.key.since.zip(version).filter(|(since, version)| version < since)?;
    let message =
        format!("`{name}` in the cloud configuration has no effect in version {version}: it exists since {since}");
    Some(Defect {
        severity: Severity::Warning,
        impact: Some("the controller runs as if the key were not there"),
        ..Defect::error(about, place, &message, "remove it, or upgrade the controller")
    })
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
            r#""disablePublicSLB": "$DISABLE""#,
            r#""nodeMonitorPeriod": "<period>""#,
            r#""nodeMonitorPeriod": "@PERIOD@""#,
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
