use crate::controller::ControllerVersion;
use crate::kubernetes::{DocumentKind, rke_part};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rke-in-tree-aws-removed",
    title: "RKE uses a removed cloud provider",
    severity: RuleSeverity::depends(Severity::Error, "error; warning before 1.27"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud_provider.name: aws` of RKE is set with a `kubernetes_version` of 1.27 or later. A warning for earlier versions: the provider ends with 1.26.",
    impact: "RKE refuses the configuration: `Cloud provider aws is invalid for` this version",
    fix: "Move to the external cloud controller: `cloud_provider.name: external-aws` with `useInstanceMetadataHostname: true`, from RKE 1.4.15 and 1.5.0 on.",
    sources: &["rancher/rke cluster/cluster.go#setCloudProvider"],
    example: "`cloud_provider.name: aws` ended with Kubernetes 1.26, but this is 1.27.8",
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RkeCluster, |document| {
        let cluster = rke_part(document);
        let name = cluster.located(&["cloud_provider", "name"]).or_else(|| cluster.located(&["cloudProvider", "name"]));
        let Some(name) = name.filter(|name| name.value == "aws") else { return Vec::new() };
        let version = cluster.text(&["kubernetes_version"]).or_else(|| cluster.text(&["kubernetesVersion"]));
        let version: Option<ControllerVersion> = version.and_then(|version| version.parse().ok());
        // A partial configuration does not name the version.
        let version = version.or_else(|| context.evidence.kubernetes_version());
        let (severity, message) = match version {
            Some(version) if version >= ControllerVersion::new(1, 27, 0) => (
                Severity::Error,
                format!("`cloud_provider.name: aws` ended with Kubernetes 1.26, but this is {version}"),
            ),
            _ => {
                let target = context.evidence.target.kubernetes;
                let is_on_the_way = target.is_some_and(|target| target >= ControllerVersion::new(1, 27, 0));
                let severity = if is_on_the_way { Severity::Error } else { Severity::Warning };
                (severity, "`cloud_provider.name: aws` ends with Kubernetes 1.26".to_owned())
            }
        };
        let fix =
            "move to `external-aws` with `useInstanceMetadataHostname: true`, and install the AWS cloud controller";
        vec![on(&document.name, severity, &name.place, "aws", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud_provider:
  name: aws
  use_instance_metadata_hostname: true
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, DEFECT, "name: aws", "name: external-aws");
    }
}
