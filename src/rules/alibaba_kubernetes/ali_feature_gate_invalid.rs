use crate::controller::ControllerVersion;
use crate::model::cloud_provider_alibaba::{GateDefect, gate_defects};
use crate::rules::ALIBABA;
use crate::rules::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "ali-feature-gate-invalid",
    title: "the cloud controller exits at a feature gate",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error; warning for a gate that is in no version and may belong to a library",
    ),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`featureGates` of the cloud configuration has an entry without a value, one whose value is not a truth value, or a gate that the version of the controller does not have. `AllAlpha` and `AllBeta` are always known.",
    impact: "the controller exits at start (`missing bool value`, `invalid value`, `unrecognized feature gate`)",
    fix: "Correct `featureGates`, or remove the entry.",
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/feature_gates.go#BindFeatureGates"],
    example: "`featureGates` of ConfigMap kube-system/cloud-config has `FilterServiceOnNodeChange`, which version 2.8.0 does not have: it exists since 2.9.1",
    ..Rule::evidence(ALIBABA, check)
};

const TWO: ControllerVersion = ControllerVersion::new(2, 0, 0);

/// Severity and words for a defect.
fn describe(name: &str, defect: GateDefect, version: Option<ControllerVersion>) -> (Severity, String) {
    let name = text::printable(name);
    let running = version.map_or_else(|| "the version".to_owned(), |version| format!("version {version}"));
    match defect {
        GateDefect::NoValue => (Severity::Error, format!("`{name}`, which has no value")),
        GateDefect::NotBool => (Severity::Error, format!("`{name}`, whose value is not a truth value")),
        GateDefect::NotYet(first) => {
            (Severity::Error, format!("`{name}`, which {running} does not have: it exists since {first}"))
        }
        GateDefect::Unknown => (Severity::Warning, format!("`{name}`, which no version of the controller defines")),
    }
}

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let configs = context.evidence.alibaba_cloud_configs();
    // Version 1 has other gates.
    let version = context.alibaba_controller_version().filter(|version| *version >= TWO);
    if configs.is_empty() || context.alibaba_controller_version() != version {
        return CheckResult::not_applicable("no cloud configuration of version 2 of the cloud controller was given");
    }
    let mut found = Vec::new();
    for (map, config) in &configs {
        let Some(gates) = &config.feature_gates else { continue };
        if gates.contains("{{") || gates.contains("${") {
            continue;
        }
        for (name, defect) in gate_defects(gates, version) {
            let (severity, what) = describe(name, defect, version);
            let message = format!("`featureGates` of {} has {what}", text::printable(&map.name));
            let fix = Fix::none("correct `featureGates`, or remove the entry");
            let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
            let violation = Violation::new(severity, resource, message, fix);
            found.push(violation.with_respect_to(name).at(&config.place));
        }
    }
    CheckResult::counted(configs.len(), found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: cloud-config
  namespace: kube-system
data:
  cloud-config.conf: '{"Global": {"clusterID": "prod", "featureGates": "IPv6DualStack=true,FilterServiceOnNodeChange=true"}}'
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: cloud-controller-manager
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v2.8.0
        command: [/cloud-controller-manager]
"#;

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
        for wrong in ["IPv6DualStack", "IPv6DualStack=on", "IPv6Dual=true"] {
            lint::fires(&RULE, &DEFECT.replace("IPv6DualStack=true,FilterServiceOnNodeChange=true", wrong));
        }
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "v2.8.0", "v2.9.1");
        lint::silent(&RULE, DEFECT, ",FilterServiceOnNodeChange=true", ", AllAlpha=F,");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &DEFECT.replace("v2.8.0", "v1.9.3"));
    }
}
