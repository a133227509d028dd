use crate::aws::companions::companions;
use crate::controller::ControllerVersion;
use crate::controller::companion::Companion;
use crate::kubernetes::{Document, DocumentKind};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{LISTS, reference};

pub(super) const RULE: Rule = Rule {
    id: "karpenter-api-removed",
    title: "an object of Karpenter has an API version that its Karpenter does not serve",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A Provisioner, Machine or AWSNodeTemplate is given for Karpenter 0.33 or later, or an object in `v1beta1` for 1.1 or later. The version is that of the image of Karpenter, of `--controller-version karpenter=…`, or of `--target-controller karpenter=…`.",
    impact: "the API server refuses the manifest (`no matches for kind`), and Karpenter makes no nodes for it",
    fix: "Write a NodePool and an EC2NodeClass in `karpenter.sh/v1` and `karpenter.k8s.aws/v1`, which Karpenter serves from 1.0 on.",
    sources: &[
        "aws/karpenter-provider-aws pkg/apis/crds, by its tags",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/",
    ],
    example: "Provisioner default has `karpenter.sh/v1alpha5`, which Karpenter 1.5.0 does not serve: 0.32 is the last release with it",
    lists: LISTS,
    ..Rule::evidence(AWS, check)
};

/// API versions by the first release that does not serve them, with the last minor that does.
const REMOVED: [(&[&str], ControllerVersion, &str); 2] = [
    (&["karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1alpha1"], ControllerVersion::new(0, 33, 0), "0.32"),
    (&["karpenter.sh/v1beta1", "karpenter.k8s.aws/v1beta1"], ControllerVersion::new(1, 1, 0), "1.0"),
];

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let evidence = context.evidence;
    let runs = companions(evidence);
    let karpenter = runs.iter().find(|run| run.row.companion == Companion::Karpenter);
    let Some(version) = karpenter.and_then(|run| run.target.max(run.version)) else {
        return CheckResult::not_applicable(
            "the version of Karpenter is not known: see --controller-version karpenter=…",
        );
    };
    let kinds = [DocumentKind::KarpenterAlpha, DocumentKind::Ec2NodeClass, DocumentKind::NodePool];
    let objects = kinds.into_iter().flat_map(|kind| evidence.documents_by_kind(kind)).map(Document::object);
    let mut checked = 0;
    let mut found = Vec::new();
    for object in objects {
        let Some(api) = object.text(&["apiVersion"]) else { continue };
        checked += 1;
        let removed = REMOVED.iter().find(|(versions, since, _)| versions.contains(&api) && version >= *since);
        let Some((_, _, last)) = removed else { continue };
        let text = |key: &[&str]| object.text(key).unwrap_or_default();
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        let message = format!(
            "{} {} has `{api}`, which Karpenter {version} does not serve: {last} is the last release with it",
            text::printable(kind),
            text::printable(name)
        );
        let fix = Fix::none("write a NodePool and an EC2NodeClass in `karpenter.sh/v1` and `karpenter.k8s.aws/v1`");
        let violation = Violation::new(Severity::Error, reference(kind, name), message, fix);
        found.push(violation.at(&object.head()));
    }
    if checked == 0 {
        return CheckResult::not_applicable("no object of Karpenter was given");
    }
    CheckResult::counted(checked, found)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const KARPENTER: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  namespace: kube-system
spec:
  template:
    spec:
      containers:
      - image: public.ecr.aws/karpenter/controller:1.5.0
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: default
";

    #[test]
    fn fires() {
        lint::fires(&RULE, KARPENTER);
        let template = KARPENTER.replace("karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1alpha1");
        lint::fires(&RULE, &template.replace("Provisioner", "AWSNodeTemplate"));
        lint::fires(&RULE, &KARPENTER.replace("v1alpha5", "v1beta1").replace("Provisioner", "NodePool"));
    }

    #[test]
    fn silent() {
        lint::silent(&RULE, KARPENTER, ":1.5.0", ":v0.32.10");
        let beta = KARPENTER.replace("v1alpha5", "v1beta1").replace("Provisioner", "NodePool");
        lint::silent(&RULE, &beta, ":1.5.0", ":1.0.8");
        lint::silent(&RULE, &beta, "v1beta1", "v1");
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(&RULE, &KARPENTER.replace(":1.5.0", "@sha256:0123"));
        lint::does_not_apply(&RULE, KARPENTER.split("---").next().unwrap());
    }
}
