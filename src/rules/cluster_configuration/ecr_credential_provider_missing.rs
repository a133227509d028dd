use crate::controller::ControllerVersion;
use crate::kubernetes::DocumentKind;
use crate::kubernetes::arguments::{Component, Distribution, NodeArguments};
use crate::kubernetes::images::private_ecr_host;
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{NOTHING_PULLED, on_started, pulled_with_the_kubelets_credentials};

pub(super) const RULE: Rule = Rule {
    id: "ecr-credential-provider-missing",
    title: "the kubelet has no credentials for ECR",
    severity: RuleSeverity::always(Severity::Warning),
    resources: &[ResourceKind::ClusterConfig, ResourceKind::Node],
    condition: "A workload without `imagePullSecrets` pulls from a private ECR registry, and a kubelet has no `image-credential-provider-config` although its version is 1.27 or later, it is an earlier external one, or --target-kubernetes is 1.27 or later. Up to 1.26 the kubelet fetched such credentials itself. No `CredentialProviderConfig` was given either. A ServiceAccount with secrets counts if it was given; none are read from a live cluster, and other files on the machines are not known: RKE2 and K3s use `/var/lib/rancher/credentialprovider/config.yaml` by default.",
    impact: "images not yet on the machine cannot be pulled (`no basic auth credentials`)",
    fix: "Install `ecr-credential-provider` on the machines, and set `image-credential-provider-config` and `image-credential-provider-bin-dir` for the kubelet.",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/116329",
        "kubernetes/cloud-provider-aws docs/credential_provider.md",
        "k3s-io/k3s pkg/cli/cmds/agent.go",
    ],
    example: "the kubelet has no image credentials, but Deployment shop/web pulls from 111122223333.dkr.ecr.us-east-1.amazonaws.com",
    ..Rule::evidence(AWS, check)
};

/// First version whose kubelet does not fetch credentials itself.
const FIRST: ControllerVersion = ControllerVersion::new(1, 27, 0);

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let pulled = pulled_with_the_kubelets_credentials(context);
    let Some((workload, image)) = pulled.first() else {
        return CheckResult::not_applicable(NOTHING_PULLED);
    };
    if context.evidence.documents_by_kind(DocumentKind::CredentialProviderConfig).next().is_some() {
        return CheckResult::counted(1, []);
    }
    let says = |arguments: &&NodeArguments| arguments.is_of_kubelet && !arguments.is_part;
    let all: Vec<&NodeArguments> = context.evidence.arguments().iter().filter(says).collect();
    if all.is_empty() {
        return CheckResult::not_applicable("no Node records its kubelet arguments, and no configuration was given");
    }
    let target = context.evidence.target.kubernetes.filter(|target| *target >= FIRST);
    let without = all.iter().filter_map(|arguments| Some((arguments, lacks(arguments, target)?)));
    let without: Vec<_> = without.collect();
    let Some((first, aim)) = without.first() else { return CheckResult::counted(all.len(), []) };
    let kubelets = match without.iter().filter(|(arguments, _)| arguments.node().is_some()).count() {
        0 | 1 => "the kubelet has".to_owned(),
        nodes => format!("the kubelets of {nodes} Nodes have"),
    };
    let message = format!(
        "{kubelets} no image credentials{aim}, but {} pulls from {}",
        text::printable(&workload.full_name()),
        text::printable(private_ecr_host(&image.value).unwrap_or_default())
    );
    let setting = first.distribution.setting(Component::Kubelet);
    let fix = match first.distribution {
        Distribution::Rke2 | Distribution::K3s => {
            "install `ecr-credential-provider` with its configuration in /var/lib/rancher/credentialprovider on every machine".to_owned()
        }
        Distribution::Rke
        | Distribution::Kubeadm
        | Distribution::Kubelet
        | Distribution::Unit
        | Distribution::StaticPod
        | Distribution::Kops => format!(
            "install `ecr-credential-provider` on every machine, and configure it in `{setting}` with `image-credential-provider-config` and `image-credential-provider-bin-dir`"
        ),
    };
    CheckResult::counted(all.len(), [on_started(first, Severity::Warning, None, "credentials", message, fix)])
}

/// Part of the message on a kubelet without ECR credentials: the target version, or empty if it has none today. `None`
/// if it has credentials.
fn lacks(arguments: &NodeArguments, target: Option<ControllerVersion>) -> Option<String> {
    const GIVEN: &str = "image-credential-provider-config";
    let of_kubelet = |name: &str| arguments.component_value(Component::Kubelet, name);
    if arguments.value(GIVEN).is_some() || of_kubelet(GIVEN).is_some() {
        return None;
    }
    let is_external = of_kubelet("cloud-provider") == Some("external")
        || matches!((arguments.distribution, arguments.cloud_provider_name()), (Distribution::Rke2, Some(name)) if name != "aws");
    if is_external || arguments.version.is_some_and(|version| version >= FIRST) {
        return Some(String::new());
    }
    // The behaviour of an unknown version cannot be determined.
    arguments.version?;
    target.map(|target| format!(" at the target version {target}"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
metadata: {}
spec:
  rkeConfig:
    machineGlobalConfig:
      kubelet-arg:
      - cloud-provider=external
---
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - image: 111122223333.dkr.ecr.us-east-1.amazonaws.com/web:1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "cloud-provider=external",
            "image-credential-provider-config=/etc/kubernetes/ecr.yaml",
        );
    }
}
