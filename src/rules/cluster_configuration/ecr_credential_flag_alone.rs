use crate::kubernetes::arguments::Component;
use crate::rules::ANY_CLOUD;
use crate::rules::prelude::*;

use super::{for_each_arguments, on_started};

pub(super) const RULE: Rule = Rule {
    id: "ecr-credential-flag-alone",
    title: "the kubelet has only one of its two image credential flags",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "The kubelet has `image-credential-provider-config` without `image-credential-provider-bin-dir`, or vice versa.",
    impact: "the kubelet does not start",
    fix: "Set both, or neither.",
    sources: &[
        "kubernetes/kubernetes pkg/credentialprovider/plugin/plugin.go#RegisterCredentialProviderPlugins",
        r#"Kubernetes documentation, "Configure a kubelet image credential provider""#,
    ],
    example: "`image-credential-provider-config` is set without `image-credential-provider-bin-dir`",
    ..Rule::evidence(ANY_CLOUD, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    const BOTH: [&str; 2] = ["image-credential-provider-config", "image-credential-provider-bin-dir"];
    for_each_arguments(context, |arguments| {
        // RKE2 and K3s have a default for each.
        let kubelet = arguments.component_arguments(Component::Kubelet);
        let given = BOTH.map(|name| kubelet.iter().rfind(|argument| argument.name == name));
        let own = BOTH.map(|name| arguments.value(name).is_some());
        let own = if arguments.is_part { [true, true] } else { own };
        let (one, other, place) = match given {
            [Some(one), None] if !own.contains(&true) => (BOTH[0], BOTH[1], one.place),
            [None, Some(one)] if !own.contains(&true) => (BOTH[1], BOTH[0], one.place),
            _ => return None,
        };
        let message = format!("`{one}` is set without `{other}`");
        Some(on_started(arguments, Severity::Error, place, one, message, format!("add `{other}`")))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
kubelet-arg:
- image-credential-provider-config=/etc/kubernetes/ecr.yaml
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "ecr.yaml\n", "ecr.yaml\n- image-credential-provider-bin-dir=/usr/local/bin\n");
    }
}
