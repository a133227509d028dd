use crate::kubernetes::DocumentKind;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, machine_settings, on};

pub(super) const RULE: Rule = Rule {
    id: "rancher-machine-metadata-off",
    title: "machine settings of Rancher switch the metadata service off",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`httpEndpoint` of an `Amazonec2Config`, or of the `amazonec2Config` of a `NodeTemplate`, is `disabled`.",
    impact: "no program of the machine gets the credentials of its instance profile; on a control-plane node the cloud controller does not start",
    fix: "Set `httpEndpoint: enabled`, with `httpTokens: required`.",
    sources: &["rancher/machine drivers/amazonec2/amazonec2.go#innerCreate"],
    example: "`httpEndpoint` is `disabled`",
    migration: Some(Prerequisite::Profiles),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RancherMachine, |document| {
        let endpoint = machine_settings(document).and_then(|settings| settings.located(&["httpEndpoint"]));
        let off = endpoint.filter(|endpoint| endpoint.value == "disabled");
        let found = off.map(|endpoint| {
            let fix = "set `httpEndpoint: enabled`";
            let message = "`httpEndpoint` is `disabled`";
            on(&document.name, Severity::Warning, &endpoint.place, "httpEndpoint", message, fix)
        });
        found.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: rke-machine-config.cattle.io/v1
kind: Amazonec2Config
metadata:
  name: nc-prod-pool1
httpEndpoint: disabled
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "disabled", "enabled");
    }
}
